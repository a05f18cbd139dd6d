"""What the sweep does with one op of the table: draw its samples, run it on a device, check values and gradients.

The checks take any `Op`, so that tests can hand them a wrong one and see them fail. Inputs are drawn from the op's own
declaration; expected values come from its `reference` in float64, expected gradients from finite differences.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import numgrad as ng
from numgrad.kernels.registry import Op, Sample, Uniform
from numgrad.testing import gradcheck, gradgradcheck

F32, F64, I64, BOOL = (np.dtype(name) for name in ("float32", "float64", "int64", "bool"))
SHAPE = (3, 4)
OF_SYMMETRIC_MATRICES = {"linalg_cholesky_ex", "linalg_eigh"}  # they read a triangle, their gradient is of both
UP_TO_PHASE = {"linalg_eig"}  # the phases of complex vectors are arbitrary, and have no gradient
FINITE_DIFFERENCES = {"eps": 1e-5, "atol": 1e-8, "rtol": 1e-7}  # errors are some 1e-10
TOLERANCE = {F32: 2e-6, F64: 1e-14, np.dtype(np.complex64): 2e-6, np.dtype(np.complex128): 1e-14}


# ---------------------------------------------------------------------------------------------------- samples
@dataclass(frozen=True)
class Case:
    """Inputs for one call of an op: float64 arrays, bool masks, and literals of whatever dtype they have."""

    op: Op
    arrays: tuple[np.ndarray, ...]
    attributes: dict[str, Any]

    def cast(self, dtype: np.dtype) -> tuple[np.ndarray, ...]:
        """The inputs with the floats in another dtype, complex numbers in that of as many bits a part."""
        wanted = {F64: dtype, np.dtype(np.complex128): np.result_type(dtype, np.complex64)}
        return tuple(np.array(a, wanted.get(a.dtype, a.dtype)) for a in self.arrays)

    def expected(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The reference's results."""
        with np.errstate(all="ignore"):
            found = self.op.reference(*arrays, *self.view_arguments(), **self.op_attributes())
        return tuple(np.asarray(r) for r in (found if isinstance(found, tuple) else (found,)))

    def view_arguments(self) -> tuple[Any, ...]:
        """A view's attributes: its reference, often a function of NumPy's own, takes them by position."""
        return self.op.bind_attributes(self.attributes) if self.op.is_view else ()

    def op_attributes(self) -> dict[str, Any]:
        """The attributes of any other op, defaults included."""
        if self.op.is_view:
            return {}
        return dict(zip(self.op.attributes, self.op.bind_attributes(self.attributes), strict=True))


def generator(op: Op) -> np.random.Generator:
    """Random numbers that depend on the op's name alone, so that adding an op changes no other's samples."""
    return np.random.default_rng(zlib.crc32(op.name.encode()))


def cases(op: Op) -> list[Case]:
    """One case for an elementwise op, else one for each declared sample."""
    if op.elementwise:
        return [elementwise_case(op, [SHAPE] * len(op.inputs))]
    rng = generator(op)
    return [Case(op, tuple(_sampled(x, rng) for x in s.inputs), dict(s.attributes)) for s in _samples(op)]


def _samples(op: Op) -> list[Sample]:
    return list(op.samples) if isinstance(op.samples, Sequence) else [op.samples]


def _sampled(given: Any, rng: np.random.Generator) -> np.ndarray:
    # Rounded to float32, so that every dtype computes with the same numbers.
    return _as_float32(rng.normal(size=given)) if isinstance(given, tuple) else np.asarray(given)


def elementwise_case(op: Op, shapes: Sequence[tuple[int, ...]], dtype: np.dtype = F64) -> Case:
    """Inputs of these shapes from the ranges that an elementwise op declares; `dtype` may be int64 or bool."""
    rng = generator(op)
    ranges = op.samples if isinstance(op.samples, tuple) else (op.samples,) * len(op.inputs)
    arrays = []
    for name, uniform, shape in zip(op.inputs, ranges, shapes, strict=True):
        if op.scalar.kinds.get(name) == "bool" or dtype == BOOL:
            arrays.append(np.asarray(rng.random(shape) < 0.5))
        elif dtype == I64 or op.integers_only:
            arrays.append(np.asarray(rng.integers(int(np.ceil(uniform.low)), int(uniform.high) + 1, shape)))
        else:
            arrays.append(_drawn(uniform, shape, rng))
    return Case(op, tuple(arrays), {})


def _drawn(uniform: Uniform, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    values = np.asarray(rng.uniform(uniform.low, uniform.high, shape))
    for kink in uniform.away_from:
        values = np.where(abs(values - kink) < 0.1, values + 0.2, values)
    return _as_float32(values)


def _as_float32(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32).astype(np.float64)


# ---------------------------------------------------------------------------------------------------- running
def tensors(arrays: Sequence[np.ndarray], device: str = "cpu", needs: Sequence[bool] | None = None) -> list[Any]:
    """Leaves that share the arrays' memory (and layout) on the CPU, and copies of them elsewhere."""
    found = []
    for i, a in enumerate(arrays):
        x = ng.from_numpy(a)
        x = x if device == "cpu" else x.to(device)
        found.append(x.requires_grad_() if needs is not None and needs[i] else x)
    return found


def call(op: Op, inputs: Sequence[Any], attributes: dict[str, Any], device: str = "cpu") -> tuple[Any, ...]:
    """Results of an op; of one that writes its inputs, those that it wrote."""
    if not op.inputs:  # a factory is told its device by a device, everything else by its inputs
        attributes = {**attributes, "device": ng.device(device).concrete()}
    found = op(*inputs, **attributes)
    if getattr(op, "writes", ()):
        return tuple(inputs[i] for i in op.writes)
    return found if isinstance(found, tuple) else (found,)


def host(x: Any) -> np.ndarray:
    """A tensor's items."""
    return x.detach().cpu().numpy()


def differentiable_inputs(op: Op, arrays: Sequence[np.ndarray]) -> list[bool]:
    """Which inputs have gradients: those with a rule, or all of an elementwise op; none that are masks or indices."""
    if not op.differentiable:
        return [False] * len(arrays)
    names = op.inputs * len(arrays) if op.variadic else op.inputs
    return [a.dtype.kind in "fc" and (op.elementwise or n in op.rules) for n, a in zip(names, arrays, strict=True)]


# ---------------------------------------------------------------------------------------------------- checks
def check_values(case: Case, dtype: np.dtype, arrays: Sequence[np.ndarray] | None = None, device: str = "cpu") -> None:
    """Values against the reference in float64, the results' dtypes, and that the inputs are left as they were."""
    op = case.op
    arrays = case.cast(dtype) if arrays is None else arrays
    before = [np.array(a) for a in arrays]
    inputs = tensors(arrays, device)
    found = call(op, inputs, case.attributes, device)
    wide = [a.astype(F64) if a.dtype.kind == "f" else a for a in before]
    expected, narrow = case.expected(wide), case.expected(before)
    assert len(found) == len(expected)
    for out, value, own in zip(found, expected, narrow, strict=True):
        got = host(out)
        assert got.shape == value.shape, f"shape {got.shape}, expected {value.shape}"
        wanted = result_dtype(op, before, own.dtype)
        assert got.dtype == wanted, f"dtype {got.dtype}, expected {wanted}"
        compare(got, np.asarray(value, wanted))
    for i, (x, old) in enumerate(zip(inputs, before, strict=True)):
        if i not in getattr(op, "writes", ()):
            assert_array_equal(host(x), old, err_msg=f"input {i} was written")
            assert x._version == 0


def result_dtype(op: Op, arrays: Sequence[np.ndarray], of_reference: np.dtype) -> np.dtype:
    """The dtype that an elementwise op declares, and the reference's for any other."""
    if not op.elementwise:
        return of_reference
    if op.result == "bool":
        return BOOL
    if op.result == "first":
        return arrays[0].dtype
    real = [a.dtype for n, a in zip(op.inputs, arrays, strict=True) if op.scalar.kinds.get(n, "real") != "bool"]
    promoted = np.result_type(*real)
    return F32 if op.result == "float" and promoted.kind != "f" else promoted


def compare(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal to a few roundings; exactly for ints and bools."""
    if got.dtype not in TOLERANCE:
        assert_array_equal(got, expected)
    else:
        tolerance = TOLERANCE[got.dtype]
        assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def check_gradients(case: Case, device: str = "cpu") -> None:
    """First and second gradients against finite differences, and the two ways to compute them against each other."""
    arrays = case.cast(F64)
    needs = differentiable_inputs(case.op, arrays)
    inputs = tensors(arrays, device, needs)

    def function(*xs: Any) -> tuple[Any, ...]:
        given = [(x + x.mT) / 2 for x in xs] if case.op.name in OF_SYMMETRIC_MATRICES else xs
        results = call(case.op, given, case.attributes, device)
        return tuple(r.abs() for r in results) if case.op.name in UP_TO_PHASE else results

    gradcheck(function, inputs, fast_mode=True, check_forward_ad=True, **FINITE_DIFFERENCES)
    gradgradcheck(function, inputs, fast_mode=True, check_fwd_over_rev=True, **FINITE_DIFFERENCES)
    wanted = [i for i, n in enumerate(needs) if n]
    for mask in [wanted, *([i] for i in wanted if len(wanted) > 1)]:
        check_both_ways(case, arrays, mask)


def check_both_ways(case: Case, arrays: Sequence[np.ndarray], wanted: Sequence[int]) -> None:
    """Gradients from kernels (no graph is built) equal those from the rules on tensors (one is)."""
    by_kernels = gradients(case, arrays, wanted)
    by_rules = gradients(case, arrays, wanted, create_graph=True)
    for i, one, other in zip(wanted, by_kernels, by_rules, strict=True):
        assert one.dtype == arrays[i].dtype
        assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=f"input {i}: the kernel's, and the rules' gradient")


def cotangents(results: Sequence[Any]) -> list[np.ndarray]:
    """A gradient to start from for each result."""
    rng = np.random.default_rng(0)
    return [_as_float32(rng.normal(size=tuple(r.shape))).astype(host(r).dtype) for r in results]


def gradients(
    case: Case,
    arrays: Sequence[np.ndarray],
    wanted: Sequence[int],
    device: str = "cpu",
    create_graph: bool = False,
    layout: Callable[[np.ndarray], np.ndarray] = np.copy,
) -> list[np.ndarray]:
    """The gradients for the inputs `wanted` of a weighted sum of the results; `layout` rearranges the weights."""
    inputs = tensors(arrays, device, [i in wanted for i in range(len(arrays))])
    roots = [out for out in call(case.op, inputs, case.attributes, device) if out.requires_grad]
    weights = [ng.from_numpy(layout(w)).to(r.device) for w, r in zip(cotangents(roots), roots, strict=True)]
    found = ng.autograd.grad(roots, [inputs[i] for i in wanted], weights, create_graph=create_graph)
    return [host(g) for g in found]


def second_gradients(case: Case, arrays: Sequence[np.ndarray], device: str = "cpu") -> list[np.ndarray]:
    """Gradients of the sum of products of the first gradients with fixed weights."""
    needs = differentiable_inputs(case.op, arrays)
    inputs = tensors(arrays, device, needs)
    wanted = [x for x, n in zip(inputs, needs, strict=True) if n]
    roots = call(case.op, inputs, case.attributes, device)
    weights = [ng.from_numpy(w).to(device).requires_grad_() for w in cotangents(roots)]
    first = ng.autograd.grad(roots, wanted, weights, create_graph=True)
    second = [ng.from_numpy(w).to(device) for w in cotangents(first)]
    found = ng.autograd.grad(first, [*wanted, *weights], second, materialize_grads=True)
    return [host(g) for g in found]


def check_on_cuda(case: Case, second: bool = False) -> None:
    """Values, gradients and maybe second ones in float32 on "cuda", against the reference and float64 on the CPU."""
    check_values(case, F32, device="cuda")
    narrow, wide = case.cast(F32), case.cast(F64)
    wanted = [i for i, n in enumerate(differentiable_inputs(case.op, wide)) if n]
    if not wanted:
        return
    pairs = [(gradients(case, narrow, wanted, "cuda"), gradients(case, wide, wanted))]
    if second:
        pairs.append((second_gradients(case, narrow, "cuda"), second_gradients(case, wide)))
    for found, expected in pairs:
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == F32
            assert one.shape == other.shape
            assert_allclose(one, other, rtol=1e-5, atol=1e-5)
