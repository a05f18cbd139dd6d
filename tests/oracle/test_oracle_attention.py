"""Attention against PyTorch's: values, gradients twice, weights, texts and warnings."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of ops needs it")

import op_db  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

LIBRARIES = (numgrad, torch)


def values(library: ModuleType, *shape: int, seed: int = 0) -> Any:
    """The same items in both libraries."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(shape, generator=generator, dtype=torch.float64)
    return made if library is torch else numgrad.from_numpy(made.numpy())


def leaf(library: ModuleType, *shape: int, seed: int = 0) -> Any:
    return values(library, *shape, seed=seed).requires_grad_()


def compare(run: Any, twice: bool = True) -> None:
    """What `run(library)` gives, results and leaves, agrees with gradients and second gradients."""
    (got, mine), (expected, theirs) = (run(library) for library in LIBRARIES)
    op_db.compare(got, expected, "forward")
    op_db.check_gradients(got, expected, mine, theirs, twice)


def by_formula(library: ModuleType) -> Any:
    """PyTorch's attention by its formula, whose second gradients it has; numgrad has one way."""
    if library is torch:
        return sdpa_kernel(SDPBackend.MATH)
    return library.enable_grad()


# ---------------------------------------------------------------------------------------------------- one head
SHAPES = {
    "heads": [(2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 2)],
    "matrices": [(3, 2), (4, 2), (4, 3)],
    "one batch for all": [(2, 3, 2), (1, 4, 2), (4, 3)],
    "no queries": [(2, 0, 2), (2, 4, 2), (2, 4, 3)],
    "no keys": [(2, 3, 2), (2, 0, 2), (2, 0, 3)],
}


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}], ids=str)
@pytest.mark.parametrize("shapes", SHAPES)
def test_attention(shapes: str, options: dict[str, Any]) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        leaves = [leaf(library, *shape, seed=k) for k, shape in enumerate(SHAPES[shapes])]
        with by_formula(library):
            return library.nn.functional.scaled_dot_product_attention(*leaves, **options), leaves

    compare(run)


@pytest.mark.parametrize("shape", [(3, 4), (2, 1, 1, 4), (2, 2, 3, 1)], ids=str)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(kind: str, shape: tuple[int, ...]) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        leaves = [leaf(library, *shape, seed=k) for k, shape in enumerate(SHAPES["heads"])]
        mask = values(library, *shape, seed=7)
        mask = mask > -0.5 if kind == "bool" else mask.requires_grad_()
        with by_formula(library):
            found = library.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=mask)
        return found, leaves if kind == "bool" else [*leaves, mask]

    compare(run)


def test_rows_that_see_nothing_are_zeros_without_gradients() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        leaves = [leaf(library, *shape, seed=k) for k, shape in enumerate(SHAPES["heads"])]
        mask = library.tensor([[True, True, False, False], [False] * 4, [True] * 4])
        return library.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=mask), leaves

    compare(run, twice=False)


def test_heads_of_the_query_share_keys() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        leaves = [leaf(library, *shape, seed=k) for k, shape in enumerate([(2, 4, 3, 2), (2, 2, 3, 2), (2, 1, 3, 2)])]
        with by_formula(library):
            return library.nn.functional.scaled_dot_product_attention(*leaves, enable_gqa=True), leaves

    compare(run)


def test_everything_dropped_is_zeros() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        leaves = [leaf(library, *shape, seed=k) for k, shape in enumerate(SHAPES["heads"])]
        return library.nn.functional.scaled_dot_product_attention(*leaves, dropout_p=1.0), leaves

    compare(run, twice=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_other_dtypes(dtype: str) -> None:
    def run(library: ModuleType) -> Any:
        given = [values(library, *shape, seed=k).to(getattr(library, dtype)) for k, shape in enumerate(SHAPES["heads"])]
        return library.nn.functional.scaled_dot_product_attention(*given, is_causal=True)

    op_db.compare(*(run(library) for library in LIBRARIES), "forward", 3)


# ---------------------------------------------------------------------------------------------------- several heads
MODULES = {
    "plain": {},
    "no bias": {"bias": False},
    "other sizes": {"kdim": 3, "vdim": 5},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
    "batch first": {"batch_first": True},
    "all dropped": {"dropout": 1.0},
}
CALLS = {
    "weights": {},
    "weights of heads": {"average_attn_weights": False},
    "no weights": {"need_weights": False},
}


def attention_case(library: ModuleType, options: str, call: dict[str, Any], masks: str) -> tuple[Any, list[Any]]:
    given = MODULES[options]
    module = library.nn.MultiheadAttention(4, 2, **given).to(library.float64)
    with library.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(values(library, *parameter.shape, seed=number) / 2)
    shapes = [(3, 2, 4), (5, 2, given.get("kdim", 4)), (5, 2, given.get("vdim", 4))]
    leaves = [leaf(library, *shape, seed=7 + k) for k, shape in enumerate(shapes)]
    x = [t.transpose(0, 1) if given.get("batch_first") else t for t in leaves]
    call = dict(call)
    if "padding" in masks:
        call["key_padding_mask"] = library.tensor([[False] * 5, [False, False, True, True, False]])
    if "causal" in masks:
        call["attn_mask"] = library.ones(3, 5, dtype=library.bool).triu(2)
    if "float" in masks:
        call["attn_mask"] = values(library, 4, 3, 5, seed=3)
    with by_formula(library):
        return module(*x, **call), [*leaves, *module.parameters()]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("options", MODULES)
def test_module(options: str, call: str) -> None:
    compare(lambda library: attention_case(library, options, CALLS[call], ""), twice=options == "plain")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("options", ["plain", "more keys"])
@pytest.mark.parametrize("masks", ["padding", "causal", "padding causal", "float"])
def test_module_with_masks(masks: str, options: str, call: str) -> None:
    compare(lambda library: attention_case(library, options, CALLS[call], masks), twice=False)


def test_self_attention_and_no_batch() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        module = library.nn.MultiheadAttention(4, 2).to(library.float64)
        with library.no_grad():
            for number, parameter in enumerate(module.parameters()):
                parameter.copy_(values(library, *parameter.shape, seed=number) / 2)
        x, memory = leaf(library, 3, 2, 4), leaf(library, 5, 4)
        alone = module(memory, memory, memory, attn_mask=values(library, 2, 5, 5))
        mask = library.zeros(3, 3, dtype=library.float64)
        with by_formula(library):
            hinted = module(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)
        shared = module(x[:, 0], memory, memory, key_padding_mask=library.tensor([True, False, False, False, True]))
        return (module(x, x, x), alone, hinted, shared), [x, memory, *module.parameters()]

    compare(run, twice=False)


def test_static_keys() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        x, keys, other = leaf(library, 3, 2, 4), leaf(library, 4, 5, 2), leaf(library, 4, 5, 2, seed=1)
        weights = [leaf(library, *shape, seed=k) for k, shape in enumerate([(12, 4), (12,), (4, 4), (4,)])]
        found = library.nn.functional.multi_head_attention_forward(
            x, x, x, 4, 2, *weights[:2], None, None, False, 0.0, *weights[2:], static_k=keys, static_v=other
        )
        return found, [x, keys, other, *weights]

    compare(run, twice=False)


PRELUDE = """
S = F.scaled_dot_product_attention
R = torch.ones
A = nn.MultiheadAttention
m = A(4, 2)
x = R(3, 2, 4)
"""

SNIPPETS = snippets("""
S(R(8), R(8), R(8))
S(R(2, 3, 4, 8), R(2, 3, 5, 7), R(2, 3, 5, 6))
S(R(2, 3, 4, 8), R(2, 3, 5, 8), R(2, 3, 6, 6))
S(R(2, 4, 4, 8), R(2, 3, 5, 8), R(2, 3, 5, 6), enable_gqa=True)
S(R(2, 4, 4, 8), R(2, 2, 5, 8), R(2, 2, 5, 6))
S(R(2, 3, 4, 8), R(2, 3, 5, 8).double(), R(2, 3, 5, 6))
S(R(2, 3, 4, 8), R(2, 3, 5, 8), R(2, 3, 5, 6), attn_mask=R(4, 5, dtype=torch.int64))
S(R(2, 3, 4, 8), R(2, 3, 5, 8), R(2, 3, 5, 6), attn_mask=R(4, 5).double())
S(R(2, 3, 4, 8), R(2, 3, 5, 8), R(2, 3, 5, 6), attn_mask=R(4, 4))
S(R(2, 4, 4, 8), R(2, 4, 4, 8), R(2, 4, 4, 8), dropout_p=1.5)
S(R(1, 1, 2, 2).long(), R(1, 1, 2, 2).long(), R(1, 1, 2, 2).long())
S(R(2, 2), R(2, 2), 3)
S(R(2, 2), R(2, 2), R(2, 2), 3)
S(R(2, 2), R(2, 2), R(2, 2), scale="x")
with nn.attention.sdpa_kernel([nn.attention.SDPBackend.MATH], set_priority=True): out = S(R(2, 2), R(2, 2), R(2, 2))
with nn.attention.sdpa_kernel("x"): out = 1
out = list(nn.attention.SDPBackend.__members__.items())
out = S(R(2, 3, 4, 8), R(2, 3, 4, 8), R(2, 3, 4, 8, requires_grad=True)).grad_fn.name()
out = S(R(2, 4, 3, 8).transpose(1, 2), R(2, 3, 4, 8), R(2, 3, 4, 8)).stride()
out = m, A(4, 2, bias=False), list(A(4, 2, kdim=3, add_bias_kv=True).state_dict()), m.bias_k, m.q_proj_weight, m.head_dim
out = m.in_proj_bias.sum(), m.out_proj.bias.sum(), m.in_proj_weight.shape
m = A(16, 2); b = (6 / 64) ** 0.5; out = bool(m.in_proj_weight.abs().max() <= b), bool(m.in_proj_weight.abs().max() > 0.8 * b)
A(0, 2)
A(4, 3)
A(4, 0)
m(R(4), x, x)
m(R(1, 1, 1, 4), x, x)
m(x, R(3, 4), x)
m(R(3, 4), x, x)
m(x, x, R(4, 2, 4))
m(x, R(5, 3, 4), R(5, 3, 4))
m(R(3, 2, 5), x, x)
m(x, x, x, attn_mask=R(2, 3))
m(x, x, x, attn_mask=R(2, 3, 3))
m(x, x, x, attn_mask=R(3))
m(R(3, 4), R(3, 4), R(3, 4), attn_mask=R(3, 3, 3))
m(x, x, x, key_padding_mask=R(3))
m(x, x, x, key_padding_mask=R(2, 4))
m(x, x, x, key_padding_mask=R(3, 3))
m(R(3, 4), R(3, 4), R(3, 4), key_padding_mask=R(1, 3))
m(x, x, x, attn_mask=R(3, 3, dtype=torch.int64))
m(x, x, x, is_causal=True)
out = m(x, x, x, attn_mask=R(3, 3), key_padding_mask=R(2, 3, dtype=torch.bool).logical_not())[1]
A(4, 2, kdim=3)(x, x, x)
A(4, 2, kdim=3, vdim=3)(x, R(3, 2, 3), R(4, 2, 3))
F.multi_head_attention_forward(x, x, x, 4, 2, None, None, None, None, False, 0.0, R(4, 4), None)
F.multi_head_attention_forward(x, x, x, 4, 3, R(12, 4), None, None, None, False, 0.0, R(4, 4), None)
F.multi_head_attention_forward(x, x, x, 4, 2, R(12, 4), None, R(1, 1, 4), None, False, 0.0, R(4, 4), None)
F.multi_head_attention_forward(x, x, x, 4, 2, R(12, 4), None, None, None, False, 0.0, R(4, 4), None, static_k=R(3, 3, 2))
F.multi_head_attention_forward(x, x, x, 4, 2, R(12, 4), None, None, None, False, 0.0, R(4, 4), None, static_v=R(4, 3, 3))
F.multi_head_attention_forward(x, x, x, 4, 2, None, None, None, None, False, 0.0, R(4, 4), None, use_separate_proj_weight=True)
""")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    line = PRELUDE.strip().replace("\n", "⏎") + "⏎" + snippet
    assert shown(numgrad, line) == shown(torch, line)


def test_the_arguments() -> None:
    for name in ("multi_head_attention_forward",):
        mine, theirs = (inspect.signature(getattr(library.nn.functional, name)).parameters for library in LIBRARIES)
        assert [(p.name, p.default) for p in mine.values()] == [(p.name, p.default) for p in theirs.values()]
