"""What Burn's handles compute, by Burn's names, against NumPy; and that every op of the table is reached."""

import numpy as np
import pytest

import numgrad as ng
from numgrad import Device, burn
from numgrad.burn import BoolTensor, Distribution, IntTensor, Tensor, activation
from numgrad.ops.table import public_ops

AD = Device.flex().autodiff()
A = np.array([[1.0, -2.0, 3.5], [0.5, 4.0, -1.5]], dtype=np.float32)
B = np.array([[2.0, 1.0, -1.0], [0.25, 3.0, 2.0]], dtype=np.float32)
P = np.abs(A) + 0.5
K = np.array([[7, -7, 5], [2, 9, -4]])
J = np.array([[2, 2, 3], [1, -2, 3]])
M = A > 0.75


def handle(values):
    values = np.asarray(values)
    return {"f": Tensor, "i": IntTensor, "b": BoolTensor}[values.dtype.kind].from_data(values, AD)


def check(found, expected):
    if isinstance(found, tuple):
        for one, other in zip(found, expected, strict=True):
            check(one, other)
        return
    expected = np.asarray(expected)
    assert found.shape() == expected.shape
    assert type(found) is {"f": Tensor, "i": IntTensor, "b": BoolTensor}[expected.dtype.kind]
    assert found.is_autodiff()
    np.testing.assert_allclose(found.to_data(), expected, rtol=1e-5, atol=1e-6)


a, b, p, i, j, m = (handle(x) for x in (A, B, P, K, J, M))

CASES = {
    # order
    "sort": (lambda: a.sort(1), np.sort(A, 1)),
    "sort_descending": (lambda: a.sort_descending(0), -np.sort(-A, 0)),
    "sort_with_indices": (lambda: a.sort_with_indices(1), (np.sort(A, 1), np.argsort(A, 1))),
    "sort_descending_with_indices": (lambda: a.sort_descending_with_indices(1), (-np.sort(-A, 1), np.argsort(-A, 1))),
    "argsort": (lambda: i.argsort(1), np.argsort(K, 1)),
    "argsort_descending": (lambda: a.argsort_descending(1), np.argsort(-A, 1)),
    "topk": (lambda: a.topk(2, 1), -np.sort(-A, 1)[:, :2]),
    "topk_with_indices": (lambda: a.topk_with_indices(2, 1), (-np.sort(-A, 1)[:, :2], np.argsort(-A, 1)[:, :2])),
    "cumsum": (lambda: a.cumsum(1), np.cumsum(A, 1)),
    "cumprod": (lambda: a.cumprod(0), np.cumprod(A, 0)),
    "cummax": (lambda: a.cummax(1), np.maximum.accumulate(A, 1)),
    "cummin": (lambda: a.cummin(1), np.minimum.accumulate(A, 1)),
    "roll": (lambda: a.roll([1, -1], [0, 1]), np.roll(A, (1, -1), (0, 1))),
    "roll_dim": (lambda: a.roll_dim(1, 1), np.roll(A, 1, 1)),
    "triu": (lambda: a.triu(1), np.triu(A, 1)),
    "tril": (lambda: a.tril(), np.tril(A)),
    "nonzero": (lambda: m.nonzero(), np.nonzero(M)),
    "argwhere": (lambda: m.argwhere(), np.argwhere(M)),
    # arithmetic
    "add": (lambda: a.add(b), A + B),
    "add_scalar": (lambda: a.add_scalar(2.0), A + 2),
    "sub": (lambda: a.sub(b), A - B),
    "sub_scalar": (lambda: a.sub_scalar(2.0), A - 2),
    "mul": (lambda: a.mul(b), A * B),
    "mul_scalar": (lambda: a.mul_scalar(2.0), A * 2),
    "div": (lambda: a.div(b), A / B),
    "div_scalar": (lambda: a.div_scalar(2.0), A / 2),
    "div of integers": (lambda: i.div(j), np.trunc(K / J).astype(int)),
    "/ of integers": (lambda: i / j, np.trunc(K / J).astype(int)),
    "reflected /": (lambda: 1.0 / p, 1 / P),
    "remainder": (lambda: a.remainder(b), A % B),
    "remainder_scalar": (lambda: a.remainder_scalar(2.0), A % 2),
    "neg": (lambda: a.neg(), -A),
    "recip": (lambda: p.recip(), 1 / P),
    "powf": (lambda: p.powf(b), P**B),
    "powf_scalar": (lambda: p.powf_scalar(1.5), P**1.5),
    "powi": (lambda: a.powi(handle(np.full(A.shape, 3))), A**3),
    "powi_scalar": (lambda: a.powi_scalar(3), A**3),
    "abs": (lambda: a.abs(), abs(A)),
    "sign": (lambda: a.sign(), np.sign(A)),
    "log1p": (lambda: p.log1p(), np.log1p(P)),
    "clamp": (lambda: a.clamp(-1.0, 2.0), A.clip(-1, 2)),
    "clamp_min": (lambda: a.clamp_min(0.0), A.clip(0)),
    "clamp_max": (lambda: a.clamp_max(0.0), A.clip(None, 0)),
    "operators": (lambda: (2.0 - a) * b / p + 1.0 - (-a), (2 - A) * B / P + 1 + A),
    "** and %": (lambda: p**2.0 % 3.0, P**2 % 3),
    "matmul": (lambda: a.matmul(b.transpose()), A @ B.T),
    "@": (lambda: a @ b.t(), A @ B.T),
    "dot": (lambda: handle(A[0]).dot(handle(B[0])), [A[0] @ B[0]]),
    "bits": (lambda: (i & j) | (i ^ j), (K & J) | (K ^ J)),
    "bitwise_and_scalar": (lambda: i.bitwise_and_scalar(3), K & 3),
    "shifts": (lambda: i << 2, K << 2),
    # comparisons
    "equal": (lambda: i.equal(j), K == J),
    "equal_elem": (lambda: a.equal_elem(4.0), A == 4),
    "not_equal": (lambda: i.not_equal(j), K != J),
    "greater": (lambda: a.greater(b), A > B),
    "greater_elem": (lambda: a.greater_elem(0.0), A > 0),
    "greater_equal": (lambda: a.greater_equal(b), A >= B),
    "lower": (lambda: a.lower(b), A < B),
    "lower_elem": (lambda: a.lower_elem(0.0), A < 0),
    "lower_equal_elem": (lambda: a.lower_equal_elem(0.5), A <= 0.5),
    "comparison operators": (lambda: (a <= b) | ~(a > 0.0), (A <= B) | ~(A > 0)),
    "bool_and": (lambda: m.bool_and(a < b), M & (A < B)),
    "bool_or": (lambda: m.bool_or(a < b), M | (A < B)),
    "bool_not": (lambda: m.bool_not(), ~M),
    "is_nan": (lambda: a.is_nan(), np.isnan(A)),
    "is_finite": (lambda: a.is_finite(), np.isfinite(A)),
    "is_close": (lambda: a.is_close(a + 1e-9), np.full(A.shape, True)),
    "contains_nan": (lambda: a.contains_nan(), [False]),
    "max_pair": (lambda: a.max_pair(b), np.maximum(A, B)),
    "min_pair": (lambda: a.min_pair(b), np.minimum(A, B)),
    # reductions
    "sum": (lambda: a.sum(), [A.sum()]),
    "sum_dim": (lambda: a.sum_dim(1), A.sum(1, keepdims=True)),
    "sum_dims": (lambda: a.sum_dims([0, 1]), A.sum(keepdims=True)),
    "mean": (lambda: a.mean(), [A.mean()]),
    "mean of integers": (lambda: i.mean(), [12 // 6]),
    "mean_dim": (lambda: a.mean_dim(0), A.mean(0, keepdims=True)),
    "mean_dim of integers": (lambda: i.mean_dim(1), np.trunc(K.sum(1, keepdims=True) / 3).astype(int)),
    "mean_dims": (lambda: a.mean_dims([0, 1]), A.mean(keepdims=True)),
    "prod": (lambda: a.prod(), [A.prod()]),
    "prod_dim": (lambda: a.prod_dim(1), A.prod(1, keepdims=True)),
    "max": (lambda: a.max(), [A.max()]),
    "max_dim": (lambda: a.max_dim(1), A.max(1, keepdims=True)),
    "max_dim_with_indices": (lambda: a.max_dim_with_indices(1), (A.max(1, keepdims=True), [[2], [1]])),
    "max_abs": (lambda: a.max_abs(), [abs(A).max()]),
    "max_abs_dim": (lambda: a.max_abs_dim(0), abs(A).max(0, keepdims=True)),
    "min": (lambda: a.min(), [A.min()]),
    "min_dim": (lambda: a.min_dim(1), A.min(1, keepdims=True)),
    "min_dim_with_indices": (lambda: a.min_dim_with_indices(1), (A.min(1, keepdims=True), [[1], [2]])),
    "argmax": (lambda: a.argmax(1), A.argmax(1)[:, None]),
    "argmin": (lambda: a.argmin(0), A.argmin(0)[None]),
    "any": (lambda: m.any(), [True]),
    "any_dim": (lambda: m.any_dim(0), M.any(0, keepdims=True)),
    "all": (lambda: m.all(), [False]),
    "all_dim": (lambda: m.all_dim(0), M.all(0, keepdims=True)),
    "var": (lambda: a.var(1), A.var(1, ddof=1, keepdims=True)),
    "var_bias": (lambda: a.var_bias(1), A.var(1, keepdims=True)),
    "var_mean": (lambda: a.var_mean(1), (A.var(1, ddof=1, keepdims=True), A.mean(1, keepdims=True))),
    "var_mean_bias": (lambda: a.var_mean_bias(1), (A.var(1, keepdims=True), A.mean(1, keepdims=True))),
    # shapes
    "transpose": (lambda: a.transpose(), A.T),
    "swap_dims": (lambda: a.swap_dims(0, 1), A.T),
    "permute": (lambda: a.permute([1, 0]), A.T),
    "movedim": (lambda: a.reshape([2, 3, 1]).movedim(0, 2), np.moveaxis(A[..., None], 0, 2)),
    "reshape": (lambda: a.reshape([3, 2]), A.reshape(3, 2)),
    "flatten": (lambda: a.flatten(0, 1), A.ravel()),
    "unsqueeze_dim": (lambda: a.unsqueeze_dim(1), A[:, None]),
    "unsqueeze_dims": (lambda: a.unsqueeze_dims([0, -1]), A[None, :, :, None]),
    "squeeze": (lambda: a.unsqueeze_dim(0).squeeze(), A),
    "squeeze_dim": (lambda: a.unsqueeze_dim(1).squeeze_dim(1), A),
    "squeeze_dims": (lambda: a.unsqueeze_dims([0, 1]).squeeze_dims([0, 1]), A),
    "expand": (lambda: handle(A[:1]).expand([2, 3]), np.broadcast_to(A[:1], (2, 3))),
    "flip": (lambda: a.flip([0, 1]), A[::-1, ::-1]),
    "repeat_dim": (lambda: a.repeat_dim(1, 2), np.tile(A, (1, 2))),
    "repeat": (lambda: a.repeat([2, 3]), np.tile(A, (2, 3))),
    "cat": (lambda: Tensor.cat([a, b], 1), np.concatenate([A, B], 1)),
    "stack": (lambda: Tensor.stack([a, b], 1), np.stack([A, B], 1)),
    "chunk": (lambda: a.chunk(2, 1), (A[:, :2], A[:, 2:])),
    "split": (lambda: a.split(1, 0), (A[:1], A[1:])),
    "split_with_sizes": (lambda: a.split_with_sizes([1, 2], 1), (A[:, :1], A[:, 1:])),
    "iter_dim": (lambda: a.iter_dim(0), (A[:1], A[1:])),
    "narrow": (lambda: a.narrow(1, 1, 2), A[:, 1:]),
    "slice of slices": (lambda: a.slice([slice(0, 1), slice(1, None)]), A[0:1, 1:]),
    "slice of pairs": (lambda: a.slice([(0, 2), (1, 2)]), A[:, 1:2]),
    "slice of ranges": (lambda: a.slice([range(0, 2)]), A),
    "slice of an index": (lambda: a.slice([1, -1]), A[1:, -1:]),
    "slice of one slice": (lambda: a.slice(slice(0, 1)), A[:1]),
    "slice_assign": (lambda: a.slice_assign([(0, 1)], b.slice([(1, 2)])), np.stack([B[1], A[1]])),
    "slice_fill": (lambda: a.slice_fill([(0, 1)], 9.0), np.stack([np.full(3, 9, np.float32), A[1]])),
    # choosing
    "mask_where": (lambda: a.mask_where(m, b), np.where(M, B, A)),
    "mask_fill": (lambda: a.mask_fill(m, 0.0), np.where(M, np.float32(0), A)),
    "select": (lambda: a.select(1, handle([2, 0, 0])), A[:, [2, 0, 0]]),
    "select_assign": (lambda: a.select_assign(0, handle([1, 1]), b), np.stack([A[0], A[1] + B[0] + B[1]])),
    "gather": (lambda: a.gather(1, handle([[0, 2], [1, 1]])), np.take_along_axis(A, np.array([[0, 2], [1, 1]]), 1)),
    "scatter": (lambda: a.scatter(1, handle([[0], [0]]), handle([[10.0], [20.0]]).cast(ng.float32)),
                A + np.array([[10, 0, 0], [20, 0, 0]], np.float32)),
    # kinds, and tensors filled alike
    "int": (lambda: a.int(), A.astype(int)),
    "float": (lambda: i.float(), K.astype(np.float32)),
    "bool": (lambda: i.bool(), K != 0),
    "cast": (lambda: a.cast(ng.float64), A.astype(np.float64)),
    "one_hot": (lambda: handle([2, 0]).one_hot(3), np.eye(3, dtype=int)[[2, 0]]),
    "zeros_like": (lambda: a.zeros_like(), np.zeros_like(A)),
    "ones_like": (lambda: a.ones_like(), np.ones_like(A)),
    "full_like": (lambda: i.full_like(3), np.full_like(K, 3)),
    "zeros": (lambda: Tensor.zeros([2, 2], AD), np.zeros((2, 2))),
    "ones": (lambda: IntTensor.ones([2], AD), [1, 1]),
    "full": (lambda: Tensor.full([2], 7, AD), [7.0, 7.0]),
    "arange": (lambda: IntTensor.arange(range(2, 8, 3), AD), [2, 5]),
    "from_bools": (lambda: BoolTensor.from_bools([True, False], AD), [True, False]),
    # activations and losses
    "relu": (lambda: activation.relu(a), A.clip(0)),
    "softmax": (lambda: activation.softmax(a, 1), np.exp(A) / np.exp(A).sum(1, keepdims=True)),
    "log_softmax": (lambda: activation.log_softmax(a, 0), A - np.log(np.exp(A).sum(0))),
    "mse_loss": (lambda: activation.mse_loss(a, b), [((A - B) ** 2).mean()]),
    "cross_entropy": (lambda: activation.cross_entropy(a, handle([2, 1])),
                      [-(A[[0, 1], [2, 1]] - np.log(np.exp(A).sum(1))).mean()]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    compute, expected = CASES[name]
    check(compute(), expected)


GRADIENTS = {
    "slice_assign": (lambda x: x.slice_assign([(0, 1)], x.slice([(1, 2)])), [[0, 0, 0], [2, 2, 2]]),
    "select_assign": (lambda x: x.select_assign(0, handle([1, 1]), x), [[2, 2, 2], [2, 2, 2]]),
    "gather": (lambda x: x.gather(1, handle([[0, 0], [2, 1]])), [[2, 0, 0], [0, 1, 1]]),
    "scatter": (lambda x: x.scatter(1, handle([[0], [0]]), x.slice([slice(None), 1])), [[1, 2, 1], [1, 2, 1]]),
    "select": (lambda x: x.select(1, handle([2, 2])), [[0, 0, 2], [0, 0, 2]]),
    "mask_fill": (lambda x: x.mask_fill(m, 0.0), (~M).astype(float)),
    "flip": (lambda x: x.flip([0]).slice([(0, 1)]), [[0, 0, 0], [1, 1, 1]]),
    "repeat": (lambda x: x.repeat([2, 2]), np.full((2, 3), 4)),
    "powf_scalar(0)": (lambda x: x.powf_scalar(0.0), np.zeros((2, 3))),  # tracked, unlike Burn's
    "int and back": (lambda x: x * x.int().float(), A.astype(int)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    compute, expected = GRADIENTS[name]
    x = a.require_grad()
    np.testing.assert_allclose(x.grad(compute(x).sum().backward()).to_data(), expected)


def test_every_method_of_the_table_is_there():
    for op in public_ops():
        if "method" in op.public:
            assert callable(getattr(Tensor, op.name)), op.name


def test_nothing_writes_in_place():
    # Names in CamelCase and double underscores aside, a trailing underscore is PyTorch's mark of an in-place method.
    assert not [name for name in dir(Tensor) if name.endswith("_") and not name.endswith("__")]
    assert not [name for name in dir(Tensor) if name.startswith("__i") and name not in ("__init__", "__iter__", "__invert__",
                                                                                        "__init_subclass__")]  # fmt: skip


def test_all_close_is_a_bool():
    assert a.all_close(a + 1e-9) is True
    assert a.all_close(b) is False


@pytest.mark.parametrize(
    ("distribution", "low", "high", "mean"),
    [
        (Distribution.Default(), 0.0, 1.0, 0.5),
        (Distribution.Uniform(2.0, 4.0), 2.0, 4.0, 3.0),
        (Distribution.Normal(5.0, 0.1), 4.0, 6.0, 5.0),
        (Distribution.Bernoulli(0.25), 0.0, 1.0, 0.25),
    ],
)
def test_random(distribution, low, high, mean):
    ng.manual_seed(0)
    x = Tensor.random([100, 100], distribution, AD)
    assert (x.is_autodiff(), x.is_tracked()) == (True, False)
    values = x.to_data()
    assert values.min() >= low and values.max() <= high
    assert values.mean() == pytest.approx(mean, abs=0.02)
    ng.manual_seed(0)
    assert (x.random_like(distribution).to_data() == values).all()


def test_operands_that_are_no_handles():
    with pytest.raises(TypeError, match="unsupported operand"):
        a + "one"
    with pytest.raises(TypeError):
        np.ones(3, np.float32) * a
    assert burn.Tensor is Tensor
