"""Scaled dot product attention, and attention with several heads around it."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ... import ops
from ...creation import zeros, zeros_like
from ...dispatch import dispatch
from ...dtype import bool_, float32
from ...kernels import attention
from ...operands import broadcast_shapes
from ...ops.checks import check_tensor
from ...ops.linalg import linear
from ...tensor import Tensor
from .dropout import dropout

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


# ---------------------------------------------------------------------------------------------------- one head
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale * query @ key.mT + mask) @ value, of (..., m, k), (..., n, k) and (..., n, p) to (..., m, p).

    A row that the mask hides all of gives zeros.

    Args:
        query, key, value: floating tensors of one dtype, whose batches are broadcast.
        attn_mask: True where a query may see a key; or floats that are added, of the dtype of the query.
        dropout_p: the probability with which a weight is dropped, also in evaluation.
        is_causal: query i sees the keys up to i.
        scale: 1 / sqrt(k) by default.
        enable_gqa: each head of key and value, at dimension -3, serves several of the query's.

    Raises:
        RuntimeError: shapes or dtypes that do not fit, a `dropout_p` that is no probability.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> ng.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)[0]
        tensor([1., 0.])
    """
    _check_operands(query, key, value, attn_mask)
    if scale is not None and (isinstance(scale, bool) or not isinstance(scale, (int, float))):
        raise TypeError(f"scaled_dot_product_attention(): argument 'scale' must be float, not {type(scale).__name__}")
    width = query.shape[-1]
    factor = float(scale) if scale is not None else 1 / math.sqrt(width) if width else 1.0
    if enable_gqa:
        key, value = _repeated_heads(query, key), _repeated_heads(query, value)
    shapes = [tuple(x.shape[:-2]) for x in (query, key, value)]
    if not shapes[0] == shapes[1] == shapes[2]:
        batch = broadcast_shapes(broadcast_shapes(shapes[0], shapes[1]), shapes[2])
        query, key, value = (x.expand(*batch, *x.shape[-2:]) for x in (query, key, value))
    if key.shape[-1] != width or value.shape[-2] != key.shape[-2]:
        raise _do_not_fit(query, key, value)
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            attn_mask = zeros(attn_mask.shape, dtype=query.dtype, device=query.device).masked_fill(
                attn_mask.logical_not(), -math.inf
            )
        _check_mask_shape(attn_mask, (*query.shape[:-1], key.shape[-2]))
    if dropout_p:
        return _with_dropout(query, key, value, attn_mask, dropout_p, is_causal, factor)
    if attn_mask is None:
        return dispatch(attention.scaled_dot_product_attention, (query, key, value), (bool(is_causal), factor))[0]
    if attn_mask.dtype is not query.dtype:
        attn_mask = attn_mask.to(query.dtype)
    return dispatch(attention.masked_attention, (query, key, value, attn_mask), (bool(is_causal), factor))[0]


def _with_dropout(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float, is_causal: bool, scale: float
) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    none_of_all = value.new_zeros((*value.shape[:-1], 0))
    operands = (query, key, none_of_all) if mask is None else (query, key, none_of_all, mask.to(query.dtype))
    op = attention.scaled_dot_product_attention if mask is None else attention.masked_attention
    _, weights = dispatch(op, operands, (bool(is_causal), scale))
    return dropout(weights, p) @ value


def _check_operands(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    name = "scaled_dot_product_attention"
    for position, (argument, x) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        check_tensor(name, x, argument, position)
    if attn_mask is not None:
        check_tensor(name, attn_mask, "attn_mask", 4)
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype.c_name} "
            f"key.dtype: {key.dtype.c_name} and value.dtype: {value.dtype.c_name} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()} "
            f"key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if not query.is_floating_point():
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.scalar_name}")
    if attn_mask is None or attn_mask.dtype in (bool_, query.dtype, float32):
        return
    raise RuntimeError(
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
        f"{attn_mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} instead."
    )


def _check_mask_shape(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError for a mask that does not broadcast to the weights."""
    if broadcast_shapes(shape, tuple(mask.shape)) != shape:
        raise RuntimeError(
            f"scaled_dot_product_attention: attn_mask of shape {list(mask.shape)} does not broadcast to the weights, "
            f"{list(shape)}"
        )


def _do_not_fit(query: Tensor, key: Tensor, value: Tensor) -> RuntimeError:
    """PyTorch's error of the product that fails."""
    count = math.prod(query.shape[:-2])
    if key.shape[-1] != query.shape[-1]:
        inner, got = query.shape[-1], key.shape[-1]
    else:
        inner, got = key.shape[-2], value.shape[-2]
    return RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {inner}] but got: [{count}, {got}]."
    )


def _repeated_heads(query: Tensor, x: Tensor) -> Tensor:
    """As many heads as the query has, each of `x` several times in a row."""
    heads, own = query.size(-3), x.size(-3)
    if not own or heads % own:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return x if own == heads else x.repeat_interleave(heads // own, -3)


# ---------------------------------------------------------------------------------------------------- several heads
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads between projections: the output and, with `need_weights`, the weights.

    Args:
        query: (m, batch, embed_dim), or without batch.
        key, value: (n, batch, their own size), or without batch.
        in_proj_weight: (3 * embed_dim, embed_dim), for query, key and value; or with `use_separate_proj_weight` three.
        bias_k, bias_v: (1, 1, embed_dim), one more key and its value.
        add_zero_attn: one more key and value, of zeros.
        key_padding_mask: (batch, n), True or -inf for keys that are not there.
        attn_mask: (m, n) or (batch * num_heads, m, n), True or -inf for what a query may not see.
        static_k, static_v: (batch * num_heads, n, embed_dim / num_heads) in place of projections.
        average_attn_weights: whether weights are the mean of those of the heads.
        is_causal: a hint that `attn_mask` is causal.

    Raises AssertionError and RuntimeError for shapes that do not fit.

    Source: A. Vaswani et al., "Attention is all you need" (2017).
    """
    is_batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    steps, batch, embed_dim = query.shape
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = is_causal and key_padding_mask is None
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        q, k, v = _separate_projections(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _packed_projections(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _checked_mask(attn_mask, (steps, key.shape[0]), batch * num_heads)
    more = _more_keys(bias_k, bias_v, static_k, static_v)
    if more is not None:
        k, v = (ops.cat([x, extra.repeat(1, batch, 1)]) for x, extra in zip((k, v), more, strict=True))
        attn_mask, key_padding_mask = _one_wider(attn_mask), _one_wider(key_padding_mask)
    count, width = batch * num_heads, embed_dim // num_heads
    q = _split_heads(q, count, width)
    k = _heads_or_static(k, static_k, "static_k", count, width)
    v = _heads_or_static(v, static_v, "static_v", count, width)
    if add_zero_attn:
        k, v = (ops.cat([x, x.new_zeros((x.shape[0], 1, x.shape[2]))], 1) for x in (k, v))
        attn_mask, key_padding_mask = _one_wider(attn_mask), _one_wider(key_padding_mask)
    if key_padding_mask is not None:
        attn_mask = _with_padding(attn_mask, key_padding_mask, k.size(1), batch, num_heads)
    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        attended, weights = _attended_with_weights(q, k, v, attn_mask, p)
        rows = attended.transpose(0, 1).reshape(steps * batch, embed_dim)
    else:
        q, k, v = (x.view(batch, num_heads, *x.shape[1:]) for x in (q, k, v))
        if attn_mask is not None:
            is_shared = attn_mask.size(0) == 1
            attn_mask = attn_mask.unsqueeze(0) if is_shared else attn_mask.view(batch, num_heads, -1, k.size(2))
        attended = scaled_dot_product_attention(q, k, v, attn_mask, p, is_causal)
        rows = attended.permute(2, 0, 1, 3).reshape(batch * steps, embed_dim)
    output = linear(rows, out_proj_weight, out_proj_bias)
    output = output.view(steps, batch, output.size(1))
    if weights is not None:
        weights = weights.view(batch, num_heads, *weights.shape[1:])
        weights = weights.mean(dim=1) if average_attn_weights else weights
    if is_batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _attended_with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float) -> tuple[Tensor, Tensor]:
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    keys = k.transpose(-2, -1)
    scores = ops.bmm(scaled, keys) if mask is None else ops.baddbmm(mask, scaled, keys)
    weights = ops.softmax(scores, -1)
    if p > 0:
        weights = dropout(weights, p)
    return ops.bmm(weights, v), weights


def _split_heads(x: Tensor, count: int, width: int) -> Tensor:
    """(steps, batch, embed_dim) to (batch * heads, steps, head_dim)."""
    return x.view(x.shape[0], count, width).transpose(0, 1)


def _heads_or_static(x: Tensor, static: Tensor | None, name: str, count: int, width: int) -> Tensor:
    if static is None:
        return _split_heads(x, count, width)
    for d, expected in ((0, count), (2, width)):
        if static.size(d) != expected:
            raise AssertionError(f"expecting {name}.size({d}) of {expected}, but got {static.size(d)}")
    return static


def _more_keys(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> tuple[Tensor, Tensor] | None:
    """The key and the value that are added to all; None for none."""
    if (bias_k is None) != (bias_v is None):
        missing, given = ("bias_v", "bias_k") if bias_v is None else ("bias_k", "bias_v")
        raise AssertionError(f"{given} is set but {missing} is None")
    if bias_k is None:
        return None
    for static, name in ((static_k, "key"), (static_v, "value")):
        if static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    return bias_k, bias_v


def _packed_projections(query: Tensor, key: Tensor, value: Tensor, w: Tensor, b: Tensor | None) -> list[Tensor]:
    """Projections by the three parts of one weight, in as few products as there are different tensors."""
    width = query.size(-1)
    if query is key and key is value:
        return _parts(linear(query, w, b), 3, width)
    if key is value:
        w_q, w_kv = w.split([width, 2 * width])
        b_q, b_kv = (None, None) if b is None else b.split([width, 2 * width])
        return [linear(query, w_q, b_q), *_parts(linear(key, w_kv, b_kv), 2, width)]
    weights, biases = w.chunk(3), (None,) * 3 if b is None else b.chunk(3)
    return [linear(x, *both) for x, *both in zip((query, key, value), weights, biases, strict=True)]


def _parts(projected: Tensor, count: int, width: int) -> list[Tensor]:
    """The parts of a projection, each contiguous."""
    whole = projected.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [whole[k] for k in range(count)]


def _separate_projections(
    query: Tensor, key: Tensor, value: Tensor, w_q: Any, w_k: Any, w_v: Any, bias: Tensor | None
) -> list[Tensor]:
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    for letter, w in zip("qkv", (w_q, w_k, w_v), strict=True):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    width = query.size(-1)
    names, operands, weights = ("query", "key", "value"), (query, key, value), (w_q, w_k, w_v)
    for name, x, w in zip(names, operands, weights, strict=True):
        if tuple(w.shape) != (width, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(width, x.size(-1))}, but got {w.shape}")
    for name, b in zip(names, biases, strict=True):
        if b is not None and tuple(b.shape) != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {b.shape}")
    return [linear(x, w, b) for x, w, b in zip(operands, weights, biases, strict=True)]


# ---------------------------------------------------------------------------------------------------- masks and checks
def canonical_mask(
    mask: Tensor | None, name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask as floats that are added: -inf where a bool one is True.

    Raises AssertionError for integers; warns of two masks of different dtypes.
    """
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if mask.dtype is not bool_ and not is_float:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    return mask if is_float else zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def none_or_dtype(input: Any) -> Any:
    """The dtype of a tensor; None for None."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _one_wider(mask: Tensor | None) -> Tensor | None:
    """The mask with one more key, which all queries may see."""
    return None if mask is None else ops.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


def _with_padding(mask: Tensor | None, padding: Tensor, count: int, batch: int, num_heads: int) -> Tensor:
    """The mask of (batch * num_heads, m, n) with that of the keys added."""
    for d, expected in enumerate((batch, count)):
        if padding.shape[d] != expected:
            raise AssertionError(f"Expected key_padded_mask.shape[{d}] to be {expected}, but got {padding.shape[d]}")
    wide = padding.view(batch, 1, 1, count).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, count)
    return wide if mask is None else mask + wide


def _checked_mask(mask: Tensor, shape: tuple[int, int], count: int) -> Tensor:
    """The mask with three dimensions. Raises RuntimeError for another shape."""
    expected = shape if mask.dim() == 2 else (count, *shape)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the operands have a batch. Raises AssertionError for ranks that do not belong together."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    start = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"{start} `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != rank - 1:
        raise AssertionError(
            f"{start} `key_padding_mask` to be `None` or {rank - 1}-D but found {padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead")
    if rank == 2 and mask is not None and mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return rank == 3


def _check_sizes(query: Tensor, key: Tensor, value: Tensor, expected: int, num_heads: int, separate: bool) -> None:
    width = query.shape[-1]
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
