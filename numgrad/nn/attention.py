"""Attention with several heads, as a module; and PyTorch's choice among ways to compute attention."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from ..creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .linear import Linear
from .module import Module
from .parameter import Parameter

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of `MultiheadAttention`, under the name that PyTorch shows."""


class MultiheadAttention(Module):
    """Attention of several heads, each in its own part of the embedding (Vaswani et al., 2017).

    Projections start uniform by Glorot's bound, biases at 0.

    Raises ValueError for sizes that are not positive, AssertionError for a size that the heads do not divide.

    Args:
        embed_dim: the size of queries and outputs.
        num_heads: how many heads.
        dropout: the probability with which a weight is dropped in training.
        bias: whether the projections have biases.
        add_bias_kv: whether a learned key and value are added to each sequence.
        add_zero_attn: whether a key and value of zeros are added.
        kdim, vdim: the sizes of keys and values, `embed_dim` by default.
        batch_first: whether tensors are (batch, steps, size) rather than (steps, batch, size).

    >>> MultiheadAttention(8, 2)
    MultiheadAttention(
      (out_proj): NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)
    )
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != self.embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = parameter(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k = parameter(1, 1, embed_dim)
            self.bias_v = parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        weights = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias if self.in_proj_bias is not None else None):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, (m, batch, embed_dim), and the weights, (batch, m, n) or with `need_weights=False` None.

        Args:
            query: (m, batch, embed_dim), or (batch, m, embed_dim) with `batch_first`, or (m, embed_dim).
            key, value: (n, batch, kdim) and (n, batch, vdim), or likewise.
            key_padding_mask: (batch, n), True or -inf for keys that are not there.
            need_weights: whether the weights are wanted; without them it is faster.
            attn_mask: (m, n) or (batch * num_heads, m, n), True or -inf for what a query may not see.
            average_attn_weights: False for the weights of each head, (batch, num_heads, m, n).
            is_causal: a hint that `attn_mask` is causal.
        """
        key_padding_mask = F.attention.canonical_mask(
            key_padding_mask, "key_padding_mask", F.attention.none_or_dtype(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = F.attention.canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_turned = self.batch_first and query.dim() == 3
        if is_turned:
            query, key, value = _transposed(query, key, value)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if is_turned else output), weights


def _transposed(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With the first two dimensions exchanged; what was one tensor still is, so that it is projected at once."""
    turned = {id(x): x.transpose(1, 0) for x in (query, key, value)}
    return turned[id(query)], turned[id(key)], turned[id(value)]


# ---------------------------------------------------------------------------------------------------- ways to compute
class SDPBackend(IntEnum):
    """The ways in which PyTorch computes attention. Here there is one."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Choose among the ways to compute attention, as in PyTorch; the only one there is serves for all.

    Raises AssertionError for what is neither a backend nor a list.
    """
    if not isinstance(backends, (SDPBackend, list)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield
