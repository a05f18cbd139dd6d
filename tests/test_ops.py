"""The sweep: every op of the table on the CPU, as its own declaration says. test_ops_on_cuda.py sweeps the other device."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import op_sweep as sweep
import pytest
from op_sweep import BOOL, F32, F64, I64, SHAPE, Case

import numgrad as ng
from numgrad.kernels import OPS
from numgrad.testing import gradcheck, gradgradcheck

ALL = sorted(OPS)
ELEMENTWISE = [name for name in ALL if OPS[name].elementwise]
BINARY = [name for name in ELEMENTWISE if len(OPS[name].inputs) > 1]
OTHERS = [name for name in ALL if not OPS[name].elementwise]
VIEWS = [name for name in ALL if OPS[name].is_view]
DTYPE_VIEWS = {name for name in VIEWS if OPS[name].dtype is not None}  # of complex numbers, which are on the CPU alone
FACTORIES = {name for name in ALL if not OPS[name].inputs}
DIFFERENTIABLE = [name for name in ALL if OPS[name].differentiable]
INTEGERS = [
    *("all.dims", "amax", "amin", "aminmax", "any.dims", "argmax", "argmin", "bmm", "cat", "count_nonzero", "dot", "max"),
    *("max.dim", "min", "min.dim", "mm", "mv", "nansum", "prod", "prod.dim_int", "stack", "sum", "sum.dim", "to_copy"),
    *("cummax", "cummin", "cumprod", "cumsum", "flip", "kthvalue", "mode", "repeat", "roll", "sort", "topk", "trace"),
    *("tril", "triu"),
    *[name for name in VIEWS if OPS[name].dtype is None],
]
TO_COMPLEX = {"complex", "linalg_eig", "polar"}
NAN_IS_REFUSED = {  # as what is no probability, or is where LAPACK leaves it; tests/test_linalg.py says which
    *("linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_lstsq", "linalg_lu_factor_ex", "linalg_matrix_exp"),
    "linalg_pinv",
    *("linalg_solve_triangular", "linalg_svd"),
    *("binary_cross_entropy", "binary_cross_entropy.weight"),
}
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]



def op(name: str) -> Any:
    return OPS[name]


def writes(declared: Any) -> bool:
    return bool(getattr(declared, "writes", ()))


# ---------------------------------------------------------------------------------------------------- completeness
@pytest.mark.parametrize("name", ALL)
def test_declaration_is_complete(name):
    declared = op(name)
    assert declared.doc
    assert declared.reference is not None
    assert sweep.cases(declared)
    if not declared.elementwise:
        assert declared.differentiable == bool(declared.rules), "without gradients an op says differentiable=False"
        assert declared.is_view or "cpu" in declared.kernels


def test_the_table_is_not_empty():
    assert {"add", "exp", "sum", "mm", "view", "full"} <= set(ALL)


# ---------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ALL)
def test_values(name, dtype):
    for case in sweep.cases(op(name)):
        sweep.check_values(case, dtype)


@pytest.mark.parametrize("dtype", [I64, BOOL], ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_values_of_integers_and_bools(name, dtype):
    case = sweep.elementwise_case(op(name), [SHAPE] * len(op(name).inputs), dtype)
    if dtype == BOOL and op(name).bool_error:
        refusal = op(name).bool_error  # its last text is for bools alone
        with pytest.raises(type(refusal)) as caught:
            op(name)(*sweep.tensors(case.arrays))
        assert str(caught.value) == refusal.args[-1]
        return
    if op(name).floating_only:
        text = f"\"{op(name).floating_only}\" not implemented for '{'Long' if dtype == I64 else 'Bool'}'"
        with pytest.raises(NotImplementedError, match=re.escape(text)):
            op(name)(*sweep.tensors(case.arrays))
        return
    (found,) = sweep.call(op(name), sweep.tensors(case.arrays), {})
    got = sweep.host(found)
    assert got.dtype == sweep.result_dtype(op(name), case.arrays, got.dtype)
    # The reference sees bools as the numbers 0 and 1 (NumPy has no sign, power or negative of bools), but for bits.
    masks = [op(name).scalar.kinds.get(n) == "bool" or op(name).integers_only for n in op(name).inputs]
    number = F64 if got.dtype.kind == "f" else I64
    wide = [a if m else a.astype(number) for a, m in zip(case.arrays, masks, strict=True)]
    sweep.compare(got, case.expected(wide)[0].astype(got.dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", [n for n in ALL if n not in FACTORIES and n not in DTYPE_VIEWS | TO_COMPLEX])
def test_halves_are_computed_in_float32_and_rounded_once(name, dtype):
    for case in sweep.cases(op(name)):
        halves = [a.astype(dtype) if a.dtype == F64 else a for a in case.arrays]
        wide = [a.astype(F32) if a.dtype == dtype else a for a in halves]
        found, expected = (sweep.call(op(name), sweep.tensors(given), case.attributes) for given in (halves, wide))
        for out, other in zip(found, expected, strict=True):
            rounded = other.to(out.dtype) if other.dtype is ng.float32 else other
            assert out.dtype is (ng.from_numpy(np.empty(0, dtype)).dtype if other.dtype is ng.float32 else other.dtype)
            np.testing.assert_array_equal(sweep.host(out.double()), sweep.host(rounded.double()))


@pytest.mark.parametrize("name", INTEGERS)
def test_other_values_of_integers(name):
    for case in sweep.cases(op(name)):
        arrays = tuple(np.asarray((a * 4).round(), I64) for a in case.arrays)
        for out, expected in zip(
            sweep.call(op(name), sweep.tensors(arrays), case.attributes), case.expected(arrays), strict=True
        ):
            got = sweep.host(out)
            assert got.dtype == expected.dtype
            sweep.compare(got, expected)


@pytest.mark.parametrize("name", [name for name in ALL if name not in FACTORIES | NAN_IS_REFUSED])
def test_nan_propagates_as_in_the_reference(name):
    for case in sweep.cases(op(name)):
        for i, array in enumerate(case.arrays):
            if array.dtype != F64 or not array.size:
                continue
            arrays = list(case.cast(F64))
            arrays[i].flat[array.size // 2] = math.nan
            sweep.check_values(case, F64, arrays)


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if not OPS[name].integers_only])
def test_special_values(name):
    """Zeros, infinities and NaN against each other, in one array: one call."""
    special = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan])
    grids = np.meshgrid(*[special] * len(op(name).inputs))
    masks = [op(name).scalar.kinds.get(n) == "bool" for n in op(name).inputs]
    arrays = [g.ravel() > 0 if m else g.ravel() for g, m in zip(grids, masks, strict=True)]
    sweep.check_values(Case(op(name), tuple(arrays), {}), F64, arrays)


# ---------------------------------------------------------------------------------------------------- layouts
def transposed(a: np.ndarray) -> np.ndarray:
    """The same items with the memory order of the dimensions turned round."""
    return np.array(a.T, order="C").T


def strided(a: np.ndarray) -> np.ndarray:
    """The same items, each second one of a larger array."""
    wide = np.full([2 * n for n in a.shape], 7, a.dtype)
    view = wide[(..., *[slice(None, None, 2)] * a.ndim)]
    view[...] = a
    return view


LAYOUTS = {
    "0-d": ([()], None),
    "one item": ([(1, 1)], None),
    "empty": ([(0, 3)], None),
    "transposed": ([SHAPE], transposed),
    "strided": ([SHAPE], strided),
    "3-d transposed": ([(2, 3, 2)], transposed),
}
BROADCASTS = {
    # Gathered in blocks into the flat kernel, so these cost no compilation.
    "strided row": ([SHAPE, (4,)], strided),
    "strided column": ([SHAPE, (3, 1)], strided),
    "outer": ([(1, 4), (3, 1)], strided),
    "middle": ([(2, 1, 3), (2, 1)], strided),
    "with 0-d": ([SHAPE, ()], strided),
    "empty": ([(0, 3), (3,)], strided),
    "contiguous row": ([SHAPE, (4,)], None),
}
ROWS = {  # every pattern of the rows kernel, on representatives: each compiles one
    "row first": ([(4,), SHAPE], None),
    "column": ([SHAPE, (3, 1)], None),
    "outer": ([(3, 1), (1, 4)], None),
    "3-d row": ([(2, 3, 4), (3, 4)], None),
}


def check_layout(declared, shapes, change):
    count = len(declared.inputs)
    shapes = [*shapes, *[shapes[-1]] * count][:count]
    case = sweep.elementwise_case(declared, shapes)
    sweep.check_values(case, F64, [a if change is None else change(a) for a in case.arrays])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_layouts(name, layout):
    check_layout(op(name), *LAYOUTS[layout])


@pytest.mark.parametrize("layout", BROADCASTS)
@pytest.mark.parametrize("name", BINARY)
def test_broadcasting(name, layout):
    if op(name).result == "first" and layout in ("outer", "middle"):
        pytest.skip("the result has the shape of the first input")
    check_layout(op(name), *BROADCASTS[layout])


@pytest.mark.parametrize("layout", ROWS)
@pytest.mark.parametrize("name", ["add", "where"])
def test_row_kernels(name, layout):
    check_layout(op(name), *ROWS[layout])


@pytest.mark.parametrize("first", [transposed, strided, np.copy])
@pytest.mark.parametrize("second", [transposed, strided])
def test_mixed_layouts(first, second):
    case = sweep.elementwise_case(op("div"), [SHAPE, SHAPE])
    sweep.check_values(case, F64, [first(case.arrays[0]), second(case.arrays[1])])


@pytest.mark.parametrize("name", BINARY)
def test_numbers_as_operands(name):
    """Where an op takes Python numbers, and PyTorch's refusal where it does not."""
    declared = op(name)
    if declared.scalar.kinds.get(declared.inputs[0]) == "bool":
        pytest.skip("the first input is a mask")
    case = sweep.elementwise_case(declared, [SHAPE] * len(declared.inputs))
    number = 2 if declared.integers_only else 1.5
    numbers = [declared.scalar.kinds.get(n) == "bool" or number for n in declared.inputs]
    operands = [
        a if n in declared.tensors else x for n, a, x in zip(declared.inputs, case.arrays, numbers, strict=True)
    ]
    given = [ng.from_numpy(x) if isinstance(x, np.ndarray) else x for x in operands]
    (found,) = sweep.call(declared, given, {})
    sweep.compare(sweep.host(found), np.asarray(declared.reference(*map(np.asarray, operands))))
    for position, refused in enumerate(declared.inputs):
        if refused in declared.tensors:
            public = declared.name.split(".")[0]
            text = rf"{public}\(\): argument '{refused}' \(position {position + 1}\) must be Tensor, not float"
            with pytest.raises(TypeError, match=text):
                sweep.call(declared, [*given[:position], 1.5, *given[position + 1 :]], {})


ONE_LAYOUT = {"view", "unsafe_view", "reshape_alias", "view_as_complex"}  # they refuse layouts that would need a copy


OWN_LAYOUT = FACTORIES | {"as_strided", "as_strided_", "view_as_complex"}


@pytest.mark.parametrize("change", [transposed, strided])
@pytest.mark.parametrize("name", [name for name in OTHERS if name not in OWN_LAYOUT])
def test_other_layouts(name, change):
    """as_strided shows the memory itself, so that its result depends on the layout; view_as_complex takes pairs alone."""
    for case in sweep.cases(op(name)):
        try:
            sweep.check_values(case, F64, [change(a) for a in case.cast(F64)])
        except RuntimeError as error:
            assert name in ONE_LAYOUT, error
            assert "Use .reshape(...) instead" in str(error)


# ---------------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    for case in sweep.cases(op(name)):
        sweep.check_gradients(case)


@pytest.mark.parametrize("name", ["add", "div", "where", "pow.Tensor"])
@pytest.mark.parametrize("layout", [name for name in BROADCASTS if name != "empty"])
def test_gradients_of_broadcasts(name, layout):
    shapes, change = BROADCASTS[layout]
    count = len(op(name).inputs)
    case = sweep.elementwise_case(op(name), [*shapes, *[shapes[-1]] * count][:count])
    change = change or np.copy
    sweep.check_gradients(Case(case.op, tuple(change(a) for a in case.arrays), {}))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["mul", "sigmoid", "maximum"])
def test_gradients_of_layouts(name, layout):
    shapes, change = LAYOUTS[layout]
    case = sweep.elementwise_case(op(name), shapes * len(op(name).inputs))
    sweep.check_gradients(Case(case.op, tuple((change or np.copy)(a) for a in case.arrays), {}))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("change", [transposed, strided])
@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name not in ONE_LAYOUT | {"as_strided", "as_strided_"}])
def test_gradients_do_not_depend_on_layouts(name, change, create_graph):
    """Neither on the inputs' nor on the incoming gradient's."""
    for case in sweep.cases(op(name)):
        arrays = case.cast(F64)
        wanted = [i for i, needed in enumerate(sweep.differentiable_inputs(case.op, arrays)) if needed]
        expected = sweep.gradients(case, arrays, wanted)
        changed = [change(a) for a in arrays]
        found = sweep.gradients(case, changed, wanted, create_graph=create_graph, layout=change)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_float32_gradients(name):
    for case in sweep.cases(op(name)):
        narrow, wide = case.cast(F32), case.cast(F64)
        wanted = [i for i, needed in enumerate(sweep.differentiable_inputs(case.op, wide)) if needed]
        found, expected = (sweep.gradients(case, arrays, wanted) for arrays in (narrow, wide))
        for i, one, other in zip(wanted, found, expected, strict=True):
            assert one.dtype == narrow[i].dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_gradients_of_mixed_dtypes_have_their_inputs_dtype():
    case = sweep.elementwise_case(op("mul"), [SHAPE, SHAPE])
    x, y = case.cast(F32)[0], case.cast(F64)[1]
    sweep.check_values(case, F64, [x, y])
    first, second = sweep.gradients(case, [x, y], [0, 1])
    assert (first.dtype, second.dtype) == (F32, F64)
    integers = np.arange(12).reshape(SHAPE)
    (g,) = sweep.gradients(case, [x, integers], [0])
    assert g.dtype == F32
    sweep.check_both_ways(case, [x, integers], [0])


@pytest.mark.parametrize("number", [2, 0.5])
@pytest.mark.parametrize("name", ["mul", "div", "rsub", "sub"])
def test_gradients_beside_numbers(name, number):
    (x, _) = sweep.elementwise_case(op(name), [SHAPE, SHAPE]).arrays
    x = ng.from_numpy(x).requires_grad_()
    gradcheck(lambda x: op(name)(x, number), x, **sweep.FINITE_DIFFERENCES)
    gradgradcheck(lambda x: op(name)(x, number), x, **sweep.FINITE_DIFFERENCES)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("name", "inputs", "i"),
    [
        ("relu", [-1.0], 0),
        ("where", [True, 1.0, 2.0], 2),
        ("where", [False, 1.0, 2.0], 1),
        ("maximum", [1.0, 2.0], 0),
        ("minimum", [1.0, 2.0], 1),
        ("pow.Tensor", [2.0, 0.0], 0),
        ("zero", [1.0], 0),
        ("copy", [1.0, 2.0], 0),
    ],
)
def test_what_does_not_matter_has_gradient_zero_even_of_infinity(name, inputs, i, create_graph):
    xs = sweep.tensors([np.array([x]) for x in inputs], needs=[k == i for k in range(len(inputs))])
    out = op(name)(*xs)
    (g,) = ng.autograd.grad(out, xs[i], ng.full_like(out, math.inf), create_graph=create_graph)
    assert g.item() == 0


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5])
def test_gradients_of_powers(exponent):
    x = ng.from_numpy(np.array([0.5, 1.5, 2.5])).requires_grad_()
    gradcheck(lambda x: x**exponent, x, **sweep.FINITE_DIFFERENCES)
    gradgradcheck(lambda x: x**exponent, x, **sweep.FINITE_DIFFERENCES)


@pytest.mark.parametrize("name", [name for name in ALL if not OPS[name].differentiable and not writes(OPS[name])])
def test_results_without_gradients(name):
    for case in sweep.cases(op(name)):
        inputs = sweep.tensors(case.cast(F64), needs=[a.dtype == F64 for a in case.arrays])
        assert not any(out.requires_grad for out in sweep.call(op(name), inputs, case.attributes))


# ---------------------------------------------------------------------------------------------------- in place and out=
@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if "in-place" in OPS[name].public])
def test_in_place(name):
    """The method with an underscore: the same values and gradients, written to the tensor itself."""
    declared = op(name)
    rest = () if name == "fill" else SHAPE  # fill_ takes a number or a 0-d tensor
    case = sweep.elementwise_case(declared, [SHAPE, rest, rest][: len(declared.inputs)])
    (expected,) = (sweep.host(out) for out in sweep.call(declared, sweep.tensors(case.arrays), {}))
    inputs = sweep.tensors(case.cast(F64), needs=sweep.differentiable_inputs(declared, case.arrays))
    target = inputs[0].clone()
    version = target._version
    assert getattr(target, f"{name}_")(*inputs[1:]) is target
    assert target._version == version + 1
    sweep.compare(sweep.host(target), expected.astype(F64))
    if declared.differentiable:
        (weights,) = sweep.cotangents([target])
        found = ng.autograd.grad(target, inputs, ng.from_numpy(weights))
        for one, other in zip(found, sweep.gradients(case, case.cast(F64), range(len(inputs))), strict=True):
            sweep.compare(sweep.host(one), other)


@pytest.mark.parametrize("change", [np.copy, transposed, strided])
@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if "function" in OPS[name].public and OPS[name].takes_out])
def test_out(name, change):
    declared = op(name)
    case = sweep.elementwise_case(declared, [SHAPE] * len(declared.inputs))
    inputs = sweep.tensors(case.arrays)
    expected = sweep.host(getattr(ng, name)(*inputs))
    out = ng.from_numpy(change(np.zeros(SHAPE, expected.dtype)))
    assert getattr(ng, name)(*inputs, out=out) is out
    assert out._version == 1
    sweep.compare(sweep.host(out), expected)
