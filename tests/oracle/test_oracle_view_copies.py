"""Copies of views, scatters into views, windows, gradient, histogram and other small functions beside PyTorch."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")

import numgrad as ng  # noqa: E402

SNIPPETS = """
m.select_scatter(a, m.full((3,), 9.0), 0, 1)
m.slice_scatter(a, m.zeros(2, 1), 1, 0, 1)
m.slice_scatter(a, m.zeros(2, 2), 1, 0, None, 2)
m.diagonal_scatter(a, m.zeros(2), 1)
m.as_strided_scatter(a.detach(), m.zeros(2), (2,), (3,))
m.select_scatter(a, m.zeros(2), 0, 1)
m.permute_copy(a, (1, 0))
m.view_copy(a, (3, 2))
m.view_copy(a.detach(), m.int32)
m.split_copy(a, 1)[1]
m.unbind_copy(a)[0]
m.narrow_copy(a, 1, 1, 2)
m.squeeze_copy(a[:, :1], 1)
m.expand_copy(a, (2, 2, 3))
m.unfold_copy(a, 1, 2, 1)
m.slice_copy(a, 1, 0, 3, 2)
m.unsafe_split_with_sizes(a, (1, 1))[0]
[x.grad_fn.name() for x in (m.alias_copy(a), m.as_strided_copy(a, (2,), (1,)), m.diagonal_copy(a), m.expand_copy(a, (2, 2, 3)))]
[x.grad_fn.name() for x in (m.narrow_copy(a, 0, 0, 1), m.permute_copy(a, (1, 0)), m.select_copy(a, 0, 0), m.slice_copy(a))]
[x.grad_fn.name() for x in (m.squeeze_copy(a), m.squeeze_copy(a, 0), m.squeeze_copy(a, (0, 1)), m.t_copy(a), m.view_copy(a, (6,)))]
[x.grad_fn.name() for x in (m.transpose_copy(a, 0, 1), m.unfold_copy(a, 0, 1, 1), m.unsqueeze_copy(a, 0))]
[x.grad_fn.name() for f in (m.split_copy, m.unsafe_split, m.unsafe_chunk) for x in f(a, 1)]
[x.grad_fn.name() for f in (m.split_with_sizes_copy, m.unsafe_split_with_sizes) for x in f(a, (1, 1))]
[x.grad_fn.name() for x in m.unbind_copy(a)], [x._base for x in m.unbind_copy(a)]
[x.stride() for x in (m.permute_copy(a, (1, 0)), m.t_copy(a), m.alias_copy(a.t()), m.unsqueeze_copy(a.t(), 0))]
m.unbind_copy(a.detach(), out=(m.zeros(3),))
m.gradient(a)[1]
m.gradient(a, spacing=2.0, dim=1)[0]
m.gradient(a, spacing=(m.tensor([0.0, 1.0]), m.tensor([0.0, 2.0, 3.0])))[1]
m.gradient(a, dim=1, edge_order=2)[0]
m.gradient(a, spacing=(m.tensor([0.0, 2.0, 3.0]),), dim=1, edge_order=2)[0]
m.gradient(a, dim=0, edge_order=2)
m.renorm(a, 2, 0, 1.0)
m.renorm(a, 1, 1, 2.0)
m.renorm(a, 0, 0, 1.0)
m.renorm(a[0], 2, 0, 1.0)
m.histogram(a.detach(), 3)
m.histogram(a.detach(), m.tensor([0.0, 2.0, 6.0]))
m.histogram(a.detach(), 3, range=(0, 3), density=True)
m.histogram(a.detach(), 3, weight=a.detach())
m.histogram(a.detach().long(), 3)
m.histogram(a.detach(), 0)
m.unravel_index(m.tensor([[3, 5], [1, 2]]), (2, 3))
m.unravel_index(m.tensor([1.0]), (2, 3))
m.nonzero_static(a.detach(), size=8)
m.nonzero_static(a.detach(), size=2, fill_value=9)
m.nonzero_static(a.detach(), size=-1)
m.range(1, 4, 0.5)
m.range(1, 0)
m.scalar_tensor(3)
m.scalar_tensor([1])
m.empty_strided((2, 3), (1, 2)).stride()
m.empty_strided((2, 3), (1,))
m.empty_permuted((2, 3), (1, 0)).stride()
m.empty_permuted((2, 3), (0, 0))
m.get_device(a)
m.fill(a, 2.0)
m.fill(a, m.tensor([3.0]))
m.typename(a), m.typename(3)
m.is_storage(a), m.is_storage(a.untyped_storage())
m.index_reduce(a, 0, m.tensor([0, 0]), a.detach() + 1, "amax")
m.index_reduce(a, 0, m.tensor([0, 0]), a, "mean", include_self=False)
m.index_reduce(a, 0, m.tensor([0, 0]), a.detach(), "x")
m.index_reduce(a, 0, m.tensor([0, 5]), a.detach(), "prod")
m.index_reduce(a, 0, m.tensor([0]), a.detach(), "prod")
m.zeros(4, 2).fill_diagonal_(1, wrap=True)
m.zeros(7, 2).fill_diagonal_(1, wrap=True)
m.zeros(3, 3, 3).fill_diagonal_(1)
m.zeros(3).fill_diagonal_(1)
m.zeros(2, 3, 3).fill_diagonal_(1)
a.new([1, 2])
a.new(2, 3).shape
m.ones(2).apply_(lambda x: x + 1)
m.ones(2).map_(m.ones(2), lambda x, y: x + y)
a.apply_(lambda x: x)
a.is_cpu, a.is_meta, a.is_sparse, a.is_pinned(), a.is_shared(), str(a.layout), a.dense_dim(), a.get_device()
a.storage().size(), a.storage()[1], a.storage().tolist(), a.untyped_storage()[0]
a.resize(3, 2)
a.as_subclass(m.nn.Parameter).__class__.__name__
m.zeros(2, layout=m.strided, pin_memory=False)
m.zeros_like(a.t(), memory_format=m.contiguous_format).stride()
m.zeros(1, 2, 2, 2).new_empty_strided((2,), (1,)).stride()
m.get_default_device()
m.are_deterministic_algorithms_enabled(), m.get_float32_matmul_precision()
m.set_deterministic_debug_mode("x")
m.norm_except_dim(a, 2, 0)
m.norm_except_dim(a, 2, -1)
""".strip().splitlines() + [
    f"m.{name}_window({arguments})"
    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
    for arguments in ("7", "4, periodic=False", "1", "0", "5, dtype=m.float64", "3, dtype=m.int64")
]


def outcome(m, snippet):
    a = m.tensor([[0.0, 1.0, 4.0], [3.0, 5.5, 5.0]], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(snippet, {"m": m, "a": a})
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        gradient = None
        if isinstance(found, m.Tensor) and found.requires_grad:
            (found * m.arange(found.numel(), dtype=found.dtype).reshape(found.shape)).sum().backward()
            gradient = a.grad.round(decimals=4) + 0
    if isinstance(found, m.Tensor):
        found = found.detach().round(decimals=5) if found.is_floating_point() else found.detach()
        found = found + 0 if found.is_floating_point() else found  # -0 and 0 alike
        return repr((found, str(found.dtype), gradient))
    return repr(found)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_as_in_pytorch(snippet):
    assert outcome(ng, snippet) == outcome(torch, snippet)


def test_the_gradient_of_as_strided_scatter_is_that_of_what_is_kept():
    """PyTorch gives the base the gradient of what was replaced (docs/differences.md)."""
    a = ng.ones(2, 3, requires_grad=True)
    ng.as_strided_scatter(a, ng.zeros(2), (2,), (3,)).backward(ng.arange(6.0).reshape(2, 3))
    assert a.grad.tolist() == [[0.0, 1.0, 2.0], [0.0, 4.0, 5.0]]


def test_device_as_a_context():
    with ng.device("cpu") as where:
        assert ng.get_default_device() == where
    ng.set_default_device("cpu")
    assert ng.zeros(1).device == ng.device("cpu")
