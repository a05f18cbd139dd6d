"""Every kind of CUDA kernel compiles for sm_90, without a GPU or a driver, to lean machine code.

The interpreter computes with NumPy's types and cannot show what a compiler infers. So the very texts that it runs are
compiled here by numba-cuda, linked by nvJitLink, and refused for

* float64 instructions in float32 kernels. One is let pass: a Python number arrives as a float64 parameter and is
  narrowed once, by a `cvt.rn.f32.f64` of what a `ld.param.f64` loaded, at most one for each `f8` of the signature.
  Another is the product by which libdevice's sin, cos and tan end their reduction of arguments beyond 105,615;
* local memory, spills, and calls of our functions (not of libdevice's own routines, such as that of float64 `pow`);
* parameters other than the 64-bit words of the pointer ABI (32-bit ones in tuples).
"""

from __future__ import annotations

import math
import re
import types as python_types
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from numgrad.kernels import cuda, cuda_kernels, derive, registry
from numgrad.kernels.cuda_kernels import ENTRY, Form, map_source, matmul_source, reduce_sum_source
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import Function

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (it comes with the extra cuda13)")
numba_cuda = pytest.importorskip("numba.cuda")
nvjitlink = pytest.importorskip("cuda.bindings.nvjitlink")

ARCHITECTURE = (9, 0)
F16, F32, F64, I64, BOOL = (np.dtype(name) for name in ("float16", "float32", "float64", "int64", "bool"))
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture(autouse=True)
def no_driver(monkeypatch):
    """The compiler asks the current device for its architecture when a kernel calls a device function."""
    device = python_types.SimpleNamespace(compute_capability=ARCHITECTURE)
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: device)


def scalar_type(code: str) -> Any:
    """The compiler's type for a code such as `f4`."""
    names = {"f": "float", "i": "int", "u": "uint"}
    return getattr(numba_cuda.types, f"{names[code[0]]}{8 * int(code[1:])}")


def argument_types(signature: str) -> tuple[Any, ...]:
    result = []
    for code in signature.split():
        scalar, _, length = code.partition("x")
        if code.startswith("*"):
            result.append(numba_cuda.types.CPointer(scalar_type(code[1:])))
        elif length:
            result.append(numba_cuda.types.UniTuple(scalar_type(scalar), int(length)))
        else:
            result.append(scalar_type(code))
    return tuple(result)


def compile_to_ptx(text: str, signature: str) -> str:
    scope = {"cuda": numba_cuda, "math": math, "libdevice": numba_cuda.libdevice, "boolean": numba_cuda.types.boolean}
    for kind, sizes in (("f", (2, 4, 8)), ("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8))):
        scope |= {f"{kind}{8 * size}": scalar_type(f"{kind}{size}") for size in sizes}
    scope["__name__"] = "compiled_kernel"
    exec(compile(text, "<kernel>", "exec"), scope)
    ptx, _ = numba_cuda.compile_ptx(scope[ENTRY], argument_types(signature), cc=ARCHITECTURE)
    return ptx


def link(ptx: str) -> dict[str, int]:
    """Links PTX to machine code; bytes of spills and of stack that the linker reports."""
    handle = nvjitlink.create(3, [f"-arch=sm_{ARCHITECTURE[0]}{ARCHITECTURE[1]}", "-verbose", "-Xptxas=-v"])
    try:
        code = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, code, len(code), "kernel.ptx")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    report = log.decode()
    found = {name: re.search(rf"(\d+) bytes {name}", report) for name in ("stack frame", "spill stores", "spill loads")}
    assert all(found.values()), report
    return {name: int(match[1]) for name, match in found.items() if match}


_PRODUCT_OF_LARGE_ARGUMENTS = re.compile(r"mul\.f64\s+(%fd\d+), (%fd\d+), 0d3BF921FB54442D19;")  # pi / 2**65


def without_large_arguments(instructions: list[str]) -> list[str]:
    """The instructions without libdevice's product, what makes its operand, and what narrows its result."""
    products = [m for line in instructions if (m := _PRODUCT_OF_LARGE_ARGUMENTS.fullmatch(line))]
    around = {f"cvt.rn.f64.s64 {m[2]}" for m in products} | {f"cvt.rn.f32.f64 {m[1]}" for m in products}

    def belongs(line: str) -> bool:
        words = line.replace(",", " ").replace(";", " ").split()
        ends = {f"{words[0]} {words[1]}", f"{words[0]} {words[2]}"}
        return bool(_PRODUCT_OF_LARGE_ARGUMENTS.fullmatch(line) or ends & around)

    return [line for line in instructions if not belongs(line)]


def float64_instructions(ptx: str, signature: str) -> list[str]:
    """Instructions that work on float64, without the narrowing of parameters that the ABI brings."""
    lines = [line.strip() for line in ptx.splitlines()]
    parameters = {m[1] for line in lines if (m := re.match(r"ld\.param\.f64\s+(%fd\d+),", line))}
    instructions = [line for line in lines if re.match(r"(@!?%p\d+\s+)?[a-z]+[\w.]*\.f64\b", line)]
    allowed = [line for line in instructions if line.startswith("ld.param.f64") or _narrows(line, parameters)]
    assert sum(line.startswith("cvt") for line in allowed) <= signature.split().count("f8")
    return without_large_arguments([line for line in instructions if line not in allowed])


def _narrows(line: str, parameters: set[str]) -> bool:
    match = re.fullmatch(r"cvt\.rn\.f32\.f64\s+%f\d+, (%fd\d+);", line)
    return match is not None and match[1] in parameters


def called_functions(ptx: str) -> list[str]:
    return re.findall(r"^\s*call(?:\.uni)?\s*(?:\([^)]*\),)?\s*([\w$]+)", ptx, re.MULTILINE)


def parameter_types(ptx: str) -> list[str]:
    header = ptx.split(".entry", 1)[1].split(")", 1)[0]
    return re.findall(r"\.param\s+\.(\w+)", header)


def expected_parameter_types(signature: str) -> list[str]:
    result = []
    for code in signature.split():
        scalar, _, length = code.partition("x")
        name = "u64" if code.startswith("*") else {"i8": "u64", "f8": "f64", "u4": "u32"}[scalar]
        result += [name] * int(length or 1)
    return result


def relu(x):
    return x if x > 0 else 0.0


def sigmoid(x):
    e = math.exp(-abs(x))
    return 1 / (1 + e) if x >= 0 else e / (1 + e)


def everything(x, y, k: int, condition: bool):
    """What scalar functions may use, with literals of both kinds."""
    r = math.floor(x) + math.tanh(y) ** 2 + math.erf(x / 3) + max(x, 0.5) + x**1.5 + math.log1p(abs(y))
    for _ in range(k):
        r = 0.5 * r + 1 if condition else r - math.sqrt(y)
    return r, r * y


def same(x):
    return x


def nonzero(x: bool):
    return x


def elementwise(function, dtype, inputs, outputs, *forms):
    for form in forms:
        yield map_source(lower(function), dtype, inputs, outputs, form)


FLAT, STRIDED, WIDE = Form(), Form(3), Form(3, is_wide=True)
KERNELS: dict[str, tuple[str, str]] = {}
for _name, _texts in {
    "relu": elementwise(relu, F32, [F32], [F32], FLAT, STRIDED, WIDE),
    "sigmoid": elementwise(sigmoid, F32, [F32], [F32], FLAT, STRIDED),
    "everything": elementwise(everything, F32, [F32, float, int, BOOL], [F32, F32], FLAT, STRIDED),
    "everything in float64": elementwise(everything, F64, [F64, F64, I64, BOOL], [F64, F64], FLAT),
    "sigmoid of integers": elementwise(sigmoid, F32, [I64], [F32], FLAT),
    "sigmoid of float16": elementwise(sigmoid, F16, [F16], [F16], FLAT),
    "sigmoid of bfloat16": elementwise(sigmoid, BFLOAT16, [BFLOAT16], [BFLOAT16], FLAT),
    "copy to bool": elementwise(nonzero, BOOL, [F32], [BOOL], FLAT),
    "copy from bool": elementwise(same, F32, [BOOL], [F32], STRIDED),
    "copy to int64": elementwise(same, I64, [F32], [I64], FLAT),
    "fill float32": elementwise(same, F32, [float], [F32], FLAT, STRIDED),
    "fill bool": elementwise(nonzero, BOOL, [int], [BOOL], FLAT),
    "fill int64": elementwise(same, I64, [int], [I64], FLAT),
}.items():
    for _text, _signature in _texts:
        KERNELS[f"{_name}, {_signature}"] = _text, _signature
KERNELS |= {
    "sum of float32": reduce_sum_source(F32, F32, 256),
    "sum of float64": reduce_sum_source(F64, F64, 256),
    "sum of float16": reduce_sum_source(F16, F16, 256),
    "sum of bfloat16": reduce_sum_source(BFLOAT16, BFLOAT16, 256),
    "sum of bool": reduce_sum_source(BOOL, I64, 256),
    "product of float32": matmul_source(F32, F32, 16),
    "product of float64": matmul_source(F64, F64, 16),
    "product of int64": matmul_source(I64, I64, 16),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_compiles_to_lean_machine_code(name):
    text, signature = KERNELS[name]
    ptx = compile_to_ptx(text, signature)
    assert ".target sm_90" in ptx
    assert parameter_types(ptx) == expected_parameter_types(signature)
    assert [name for name in called_functions(ptx) if not name.startswith("__internal_")] == []
    assert not re.search(r"\.local\b", ptx), "an array went to local memory"
    if "f64" not in text:
        assert float64_instructions(ptx, signature) == []
    assert not any(link(ptx).values())


def real_positions(function: Function) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(function.parameters) if function.kinds[name] == "real")


@pytest.mark.parametrize("name", [name for name, op in registry.OPS.items() if op.elementwise])
def test_every_op_and_its_gradient_compile(name):
    op = registry.OPS[name]
    scalar, real = op.scalar, I64 if op.integers_only else F32
    gradients = [] if op.integers_only else [derive.vjp(scalar, real_positions(scalar))]
    for function in (scalar, *gradients):
        inputs = [{"real": real, "int": I64, "bool": BOOL}[kind] for kind in function.kinds.values()]
        text, signature = map_source(function, real, inputs, [real] * function.outputs, FLAT)
        ptx = compile_to_ptx(text, signature)
        assert float64_instructions(ptx, signature) == []
        assert called_functions(ptx) == []


def test_barriers_stay_in_the_machine_code():
    for name, count in (("sum of float32", 2), ("product of float32", 2)):
        ptx = compile_to_ptx(*KERNELS[name])
        assert len(re.findall(r"^\s*bar\.sync", ptx, re.MULTILINE)) >= count


@pytest.mark.parametrize(("old", "new"), [("_T(0.1)", "0.1"), ("_T(x0[i])", "x0[i] * 1.5"), ("_T(x1)", "x1")])
def test_the_check_finds_float64(old, new):
    """The classic mistakes: a bare literal in the formula or in the kernel, and a number that is not narrowed."""
    text, signature = map_source(lower(_scaled), F32, [F32, float], [F32], FLAT)
    assert float64_instructions(compile_to_ptx(text, signature), signature) == []
    assert old in text
    assert float64_instructions(compile_to_ptx(text.replace(old, new), signature), signature) != []


def _scaled(x, factor):
    return 0.1 + factor * x


def test_the_module_itself_compiles_nothing():
    """Device code is text: the package imports no compiler, not even numba's own CUDA target."""
    source = cuda.__file__, cuda_kernels.__file__
    for path in source:
        with open(path) as file:
            assert not re.search(r"^\s*(import|from)\s+(numba|cuda)\b", file.read(), re.MULTILINE)
