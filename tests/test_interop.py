"""Tensors beside NumPy, DLPack, einops, scikit-learn; copies, pickles, notebooks."""

from __future__ import annotations

import copy
import importlib.util
import pickle

import numpy as np
import pytest
from processes import output
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng

EINOPS = pytest.mark.skipif(importlib.util.find_spec("einops") is None, reason="einops is not installed")
SKLEARN = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")


# ---------------------------------------------------------------------------------------------------- NumPy
def test_an_array_of_a_tensor_shares_its_memory():
    x = ng.arange(6.0).view(2, 3)
    for array in (np.asarray(x), x.numpy(), np.asarray(x.t())):
        array.flat[0] += 1
    assert x[0, 0].item() == 3
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.array(x, dtype=np.float64, copy=False)


def test_what_must_not_be_written_is_copied():
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    for make in (ng.from_numpy, ng.as_tensor, ng.asarray, ng.from_dlpack):
        make(frozen).fill_(1)
    ng.from_numpy(np.broadcast_to(frozen[:1], (3,))).fill_(1)
    assert frozen.tolist() == [0, 0, 0]
    text = b"abcd"
    ng.frombuffer(text, dtype=ng.uint8).fill_(0)
    ng.asarray(text, dtype=ng.uint8).fill_(0)
    assert text == b"abcd"


def test_negative_strides_are_copied_with_the_right_values():
    array = np.arange(24.0).reshape(2, 3, 4)
    for flipped in (array[::-1], array[:, ::-1, ::-2], np.zeros((1, 10, 20))[::-1], array[0, 0, ::-1]):
        for make in (ng.from_numpy, ng.tensor, ng.as_tensor, ng.asarray):
            found = make(flipped)
            np.testing.assert_array_equal(found.numpy(), flipped)
            assert all(s > 0 for s in found.stride())


def test_operators_with_an_array_on_the_left_keep_the_graph():
    x = ng.tensor([1.0, 2.0], requires_grad=True)
    a = np.array([3.0, 4.0], np.float32)
    for found, expected in ((a * x, 3 * 1), (a + x, 4), (a - x, 2), (a / x, 3), (a**x, 3), (np.float32(3) * x, 3)):
        assert type(found) is ng.Tensor
        assert found.requires_grad
        assert found[0].item() == expected
    (a * x).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    assert (np.float64(2) * ng.tensor([1, 2])).dtype is ng.float32
    assert (np.arange(2) == ng.tensor([0, 5])).tolist() == [True, False]
    assert (a @ x).item() == 11
    assert a.tolist() == [3.0, 4.0]


def test_numpys_functions_on_tensors():
    x = ng.tensor([0.0, 1.0])
    assert type(np.sin(x)) is ng.Tensor
    np.testing.assert_array_equal(np.sin(x).numpy(), np.sin(x.numpy()))
    fraction, whole = np.modf(ng.tensor([1.5]))
    assert (fraction.item(), whole.item()) == (0.5, 1.0)
    assert np.add.reduce(ng.arange(4)).item() == 6
    target, version = ng.zeros(2), 0
    np.add(x, 1, out=target)
    assert target.tolist() == [1.0, 2.0]
    assert target._version > version  # a graph that saved it would know
    array = np.ones(2, np.float32)
    array += x
    assert type(array) is np.ndarray
    assert array.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        np.exp(ng.ones(2, requires_grad=True))


def test_arrays_of_one_shape_in_a_list_are_joined():
    rows = [np.arange(3), np.arange(3) + 1]
    assert ng.tensor(rows).tolist() == [[0, 1, 2], [1, 2, 3]]
    assert ng.tensor(rows, dtype=ng.float64).dtype is ng.float64
    with pytest.raises(ValueError, match=r"expected sequence of length 3 at dim 1 \(got 2\)"):
        ng.tensor([np.arange(3), np.arange(2)])


def test_asarray_says_where_it_would_have_to_copy():
    with installed(SimulatedRuntime()), pytest.raises(ValueError, match="can't alias tensor from device 'cpu' to 'cuda:0'"):
        ng.asarray(ng.zeros(2), device="cuda", copy=False)


# ---------------------------------------------------------------------------------------------------- DLPack
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int8", "int64", "uint8", "bool"])
def test_dlpack_both_ways_with_numpy(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    taken = ng.from_dlpack(array.T)
    assert (tuple(taken.shape), taken.stride(), taken.dtype.name) == ((3, 2), (1, 3), dtype)
    given = np.from_dlpack(taken)
    assert np.shares_memory(given, array)
    np.testing.assert_array_equal(given, array.T)


def test_dlpack_keeps_memory_alive_and_shares_writes():
    taken = ng.from_dlpack(np.zeros(1000))
    assert taken.fill_(2).sum().item() == 2000
    x = ng.zeros(3)
    y = ng.utils.dlpack.from_dlpack(ng.utils.dlpack.to_dlpack(x))
    y[0] = 5
    assert x[0].item() == 5
    z = ng.from_dlpack(x, copy=True)
    z[0] = 9
    assert x[0].item() == 5
    capsule = x.__dlpack__()
    ng.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="DLTensor capsules can be consumed only once"):
        ng.from_dlpack(capsule)


def test_dlpack_of_another_device_is_refused():
    with installed(SimulatedRuntime()):
        x = ng.zeros(2, device="cuda")
        assert x.__dlpack_device__() == (2, 0)
        with pytest.raises(BufferError, match=r"use tensor.cpu\(\)"):
            x.__dlpack__()
        with pytest.raises(BufferError, match="memory of the CPU only"):
            ng.from_dlpack(x)


# ---------------------------------------------------------------------------------------------------- array API
def test_the_array_api_names_are_numgrads_functions():
    x = ng.arange(6.0).view(2, 3)
    xp = x.__array_namespace__()
    array = x.numpy()
    for name in ("sum", "mean", "var", "std", "max", "min", "prod"):
        for axis in (None, 0, -1):
            for keepdims in (False, True):
                found = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
                expected = getattr(array, name)(axis=axis, keepdims=keepdims)
                np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    assert tuple(xp.prod(x, axis=(0, 1), keepdims=True).shape) == (1, 1)
    assert xp.argmax(x, axis=1).tolist() == [2, 2]
    assert xp.count_nonzero(x).item() == 5
    assert tuple(xp.permute_dims(x, (1, 0)).shape) == (3, 2)
    assert xp.concat([x, ng.zeros(1, 3, dtype=ng.float64)], axis=0).dtype is ng.float64
    assert xp.result_type(ng.int8, ng.float32, x) is ng.float32
    assert xp.astype(x, xp.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    jumbled = ng.tensor([3, 1, 3, 2])
    assert xp.sort(jumbled).tolist() == [1, 2, 3, 3]
    assert xp.argsort(jumbled, descending=True).tolist() == [0, 2, 3, 1]
    assert xp.take(jumbled, ng.tensor([3, 0]), axis=0).tolist() == [2, 3]
    values, inverse = xp.unique_inverse(jumbled)
    assert (values.tolist(), inverse.tolist()) == ([1, 2, 3], [2, 0, 2, 1])
    assert [t.tolist() for t in xp.unique_counts(jumbled)] == [[1, 2, 3], [1, 1, 2]]
    assert xp.unique_values(jumbled).tolist() == [1, 2, 3]
    assert xp.isdtype(xp.float32, "real floating")
    assert not xp.isdtype(xp.bool, ("numeric", "complex floating"))
    assert set(xp.__array_namespace_info__().dtypes(kind="complex floating")) == {"complex64", "complex128"}
    with pytest.raises(AttributeError, match="has no 'fft2'"):
        assert xp.fft2
    with pytest.raises(ValueError, match="must have length 1"):
        xp.squeeze(x, axis=0)
    with pytest.raises(ValueError, match="unknown kind"):
        xp.isdtype(xp.bool, "boolean")


@EINOPS
def test_einops():
    from einops.array_api import pack, rearrange, reduce, repeat, unpack

    x = ng.arange(24.0).view(2, 3, 4).requires_grad_()
    array = x.detach().numpy()
    np.testing.assert_array_equal(
        rearrange(x, "a b c -> (c a) b").detach().numpy(), array.transpose(2, 0, 1).reshape(8, 3)
    )
    for name in ("sum", "mean", "max", "min", "prod"):
        found = reduce(x, "a b (c d) -> b d", name, d=2).detach().numpy()
        np.testing.assert_allclose(found, getattr(array.reshape(2, 3, 2, 2), name)((0, 2)), rtol=1e-6)
    assert tuple(repeat(x, "a b c -> a b (c k)", k=2).shape) == (2, 3, 8)
    packed, shapes = pack([x, ng.zeros(2, 3)], "a b *")
    assert [tuple(part.shape) for part in unpack(packed, shapes, "a b *")] == [(2, 3, 4), (2, 3)]
    reduce(x, "a b c -> b", "sum").sum().backward()
    assert x.grad.sum().item() == 24


@SKLEARN
def test_scikit_learn():
    """In a process of its own: SciPy reads at import whether array API dispatch is wanted."""
    code = """
import numpy as np, numgrad as ng, sklearn
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
sklearn.set_config(array_api_dispatch=True)
array = np.random.default_rng(0).normal(size=(20, 3))
tensor = ng.from_numpy(array)
for estimator in (MaxAbsScaler(), MinMaxScaler(), Normalizer(), StandardScaler()):
    found, expected = estimator.fit_transform(tensor), estimator.fit_transform(array)
    print(type(found).__name__, np.allclose(found.numpy(), expected))
found, expected = KernelCenterer().fit_transform(rbf_kernel(tensor)), KernelCenterer().fit_transform(rbf_kernel(array))
print(type(found).__name__, np.allclose(found.numpy(), expected))
print("score", np.isclose(r2_score(tensor, tensor + 0.1), r2_score(array, array + 0.1)))
print("accuracy", round(accuracy_score(ng.tensor([1, 0, 1, 1]), ng.tensor([1, 1, 1, 1])), 6))
"""
    assert output(code, SCIPY_ARRAY_API="1").split() == ["Tensor", "True"] * 5 + ["score", "True", "accuracy", "0.75"]


# ---------------------------------------------------------------------------------------------------- copies, pickles
COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


@pytest.mark.parametrize("name", COPIES)
def test_copies_share_what_the_originals_shared(name):
    base = ng.arange(6.0)
    view = base[2:4]
    other, part = COPIES[name]([base, view])
    part.fill_(9)
    assert other.tolist() == [0, 1, 9, 9, 4, 5]
    assert (part.storage_offset(), other._version, base._version) == (2, 1, 0)
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    (other * part.sum()).sum().item()  # kernels take what a pickle made


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int64", "bool"])
def test_copies_keep_dtype_layout_and_flags(name, dtype):
    x = ng.ones(2, 3, dtype=getattr(ng, dtype)).t()
    if x.dtype.is_differentiable:
        x.requires_grad_()
    found = COPIES[name](x)
    assert (found.dtype, found.stride(), found.requires_grad) == (x.dtype, (1, 3), x.requires_grad)
    assert found.tolist() == x.tolist()
    assert (found + found).dtype is x.dtype
    assert COPIES[name](ng.zeros(3).expand(2, 3)).stride() == (0, 1)


@pytest.mark.parametrize("name", COPIES)
def test_copies_on_cuda(name):
    with installed(SimulatedRuntime()):
        found = COPIES[name](ng.arange(3.0, device="cuda").requires_grad_())
        assert found.device == ng.device("cuda:0")
        assert found.requires_grad
        assert found.cpu().tolist() == [0, 1, 2]


def test_a_pickled_parameter_is_one_again():
    found = pickle.loads(pickle.dumps(ng.nn.Parameter(ng.ones(2))))
    assert type(found) is ng.nn.Parameter
    assert found.requires_grad


def test_a_hook_is_not_pickled_and_that_is_said():
    x = ng.ones(2, requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook <built-in function print> on tensor will not be serialized"):
        pickle.dumps(x)


# ---------------------------------------------------------------------------------------------------- notebooks
def test_notebooks_show_facts_and_values():
    html = ng.tensor([[1.0, float("nan")], [-2.5, 0.0]], dtype=ng.float64)._repr_html_()
    assert html == (
        "<div><small>shape (2, 2) · float64 · cpu · range -2.5 … 1 · 1 NaN</small><pre>tensor([[ 1.0000,     nan],\n"
        "        [-2.5000,  0.0000]], dtype=torch.float64)</pre></div>"
    )
    assert "range 0 … 4<" in ng.arange(5)._repr_html_()
    assert "range" not in ng.full((2,), float("nan"))._repr_html_()
    assert "requires grad" in ng.ones(1, requires_grad=True)._repr_html_()
    grown = (ng.ones(1, requires_grad=True) * 2)._repr_html_()
    assert "MulBackward0" in grown
    assert "grad_fn=&lt;MulBackward0&gt;" in grown  # markup in the text is escaped
    for x in (ng.zeros(0, 2), ng.tensor([True]), ng.tensor([1j])):
        assert "range" not in x._repr_html_()
    assert "range 1 … 2" in ng.tensor([1.0, 2.0], dtype=ng.bfloat16)._repr_html_()


def test_notebooks_do_not_look_through_large_tensors():
    large = ng.zeros(1).expand(1 << 25)
    assert "range" not in large._repr_html_()
    assert "shape (33554432,)" in large._repr_html_()


# ---------------------------------------------------------------------------------------------------- Python's numbers
@pytest.mark.parametrize("kind", [float, complex])
def test_a_number_of_a_tensor_that_requires_grad_warns(kind):
    """As PyTorch 2.13, which says it once in a process; `int`, `bool` and `item` say nothing there."""
    x = ng.tensor(1.5, requires_grad=True)
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        assert kind(x) == 1.5
    assert (int(x), bool(x), x.item()) == (1, True, 1.5)
