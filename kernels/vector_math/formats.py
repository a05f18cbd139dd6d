"""The two formats of floating-point numbers, and steps on their bits that the functions of this package are made of.

Each step is an intrinsic: LLVM instructions that exist in packed form from SSE2 on. A factory makes the step for one
format or one set of coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# Without the wrappers that make them callable from Python and C, these functions compile in two thirds of the time.
inlined = njit(  # type: ignore[call-overload]  # Numba's stubs leave the wrapper flags out
    fastmath={"contract"}, error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


@dataclass(frozen=True)
class Format:
    """One binary floating-point format."""

    real: Callable[[float], Any]
    mantissa_bits: int
    exponent_bias: int
    ln2_high: float
    """ln 2 with enough trailing zero bits that its product with any exponent is exact (Cody and Waite, 1980)."""
    ln2_low: float


FLOAT32 = Format(np.float32, 23, 127, ln2_high=0.693359375, ln2_low=-0.000212194440055)
FLOAT64 = Format(np.float64, 52, 1023, ln2_high=0.6931471803691238, ln2_low=1.9082149292705878e-10)


def integer_type(value: ir.Value) -> ir.IntType:
    """The integer as wide as the float `value`."""
    return ir.IntType(32 if isinstance(value.type, ir.FloatType) else 64)


def polynomial_of(coefficients: tuple[float, ...]) -> Any:
    """Intrinsic that evaluates a polynomial, highest power first, by Horner's rule in the type of its argument."""

    @intrinsic
    def polynomial(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            total = ir.Constant(value.type, coefficients[0])
            for coefficient in coefficients[1:]:
                total = builder.fadd(builder.fmul(total, value), ir.Constant(value.type, coefficient))
            return total

        return x(x), codegen

    return polynomial


def clamped_to(lowest: float, highest: float) -> Any:
    """Intrinsic that limits its argument to an interval; NaN stays NaN. Neither bound may be NaN or 0.

    Two comparisons with constants would do, but LLVM makes one of them: packed, that is a comparison, a mask and a masked
    minimum where a maximum and a minimum suffice (sigmoid took 1.15 times as long).
    """

    @intrinsic
    def clamped(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            binary = ir.FunctionType(value.type, [value.type, value.type])
            for name, bound in (("llvm.maximum", lowest), ("llvm.minimum", highest)):
                chosen = builder.module.declare_intrinsic(name, [value.type], binary)
                value = builder.call(chosen, [value, ir.Constant(value.type, float(bound))])
            return value

        return x(x), codegen

    return clamped


def power_of_two_of(mantissa_bits: int) -> Any:
    """Intrinsic whose argument holds a biased exponent in its lowest bits; it moves them where exponents live."""

    @intrinsic
    def power_of_two(typingctx: Any, exponent: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            integer = integer_type(value)
            bits = builder.bitcast(value, integer)
            return builder.bitcast(builder.shl(bits, ir.Constant(integer, mantissa_bits)), value.type)

        return exponent(exponent), codegen

    return power_of_two


def exponent_lowered_by(form: Format, shift: int) -> Any:
    """Intrinsic that multiplies by 2**-shift, by integer arithmetic: argument and result must be normal numbers."""

    @intrinsic
    def lowered(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            integer = integer_type(value)
            bits = builder.bitcast(value, integer)
            return builder.bitcast(builder.sub(bits, ir.Constant(integer, shift << form.mantissa_bits)), value.type)

        return x(x), codegen

    return lowered


def two_powers_of(form: Format) -> Any:
    """Intrinsic whose argument holds n + 2 * exponent_bias in its lowest bits; gives two powers of 2, product 2**n.

    Whatever can be scaled to 0, to a subnormal or to infinity can be so by two normal factors, and only the second
    multiplication rounds.
    """
    exponent_field = (2 * form.exponent_bias + 1) << form.mantissa_bits

    @intrinsic
    def two_powers(typingctx: Any, exponent: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            integer = integer_type(value)
            bits = builder.bitcast(value, integer)
            halved = builder.shl(bits, ir.Constant(integer, form.mantissa_bits - 1))
            first = builder.and_(halved, ir.Constant(integer, exponent_field))
            second = builder.sub(builder.shl(bits, ir.Constant(integer, form.mantissa_bits)), first)
            powers = [builder.bitcast(bits, value.type) for bits in (first, second)]
            return context.make_tuple(builder, signature.return_type, powers)

        return types.UniTuple(exponent, 2)(exponent), codegen

    return two_powers


def split_of(form: Format) -> Any:
    """Intrinsic that takes a positive normal x apart: x = m * 2**e with m in [sqrt(1/2), sqrt(2)), e as a float.

    A 64-bit integer e becomes a float by being set into the low bits of 2**mantissa_bits: packed conversion is missing
    before AVX-512.
    """
    unsigned = np.uint32 if form.mantissa_bits == 23 else np.uint64
    root_half = int(form.real(0.5**0.5).view(unsigned))
    one = form.exponent_bias << form.mantissa_bits
    low_bits_holder = (form.exponent_bias + form.mantissa_bits) << form.mantissa_bits

    @intrinsic
    def split(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            integer = integer_type(value)

            def constant(number: int) -> ir.Constant:
                return ir.Constant(integer, number)

            # Bits above sqrt(1/2) count exponents from there up, and hold what the mantissa is above sqrt(1/2).
            above = builder.sub(builder.bitcast(value, integer), constant(root_half))
            fraction = builder.and_(above, constant((1 << form.mantissa_bits) - 1))
            mantissa = builder.bitcast(builder.add(fraction, constant(root_half)), value.type)
            if form.mantissa_bits == 23:
                exponent = builder.sitofp(builder.ashr(above, constant(form.mantissa_bits)), value.type)
            else:
                biased = builder.lshr(builder.add(above, constant(one)), constant(form.mantissa_bits))
                held = builder.bitcast(builder.or_(biased, constant(low_bits_holder)), value.type)
                offset = ir.Constant(value.type, float(2**form.mantissa_bits + form.exponent_bias))
                exponent = builder.fsub(held, offset)
            return context.make_tuple(builder, signature.return_type, [mantissa, exponent])

        return types.UniTuple(x, 2)(x), codegen

    return split


@inlined
def two_sum(a: Any, b: Any) -> Any:
    """a + b rounded, and what the rounding took away, exactly (D. E. Knuth, The Art of Computer Programming, 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def bit_of(position: int) -> Any:
    """Intrinsic that tells whether the bit at `position` of a float is set; the bits of an integer n are the lowest of
    n + 1.5 * 2**mantissa_bits."""

    @intrinsic
    def bit(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            integer = integer_type(value)
            masked = builder.and_(builder.bitcast(value, integer), ir.Constant(integer, 1 << position))
            return builder.icmp_unsigned("!=", masked, ir.Constant(integer, 0))

        return types.boolean(x), codegen

    return bit


def negated_by(position: int) -> Any:
    """Intrinsic of two floats: the first, negated if the bit at `position` of the second is set."""

    @intrinsic
    def negated(typingctx: Any, x: Any, bits: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            value, holder = args
            integer = integer_type(value)
            top = integer.width - 1
            moved = builder.shl(builder.bitcast(holder, integer), ir.Constant(integer, top - position))
            sign = builder.and_(moved, ir.Constant(integer, 1 << top))
            return builder.bitcast(builder.xor(builder.bitcast(value, integer), sign), value.type)

        return x(x, bits), codegen

    return negated


def _multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        kind = args[0].type
        fused = builder.module.declare_intrinsic("llvm.fma", [kind], ir.FunctionType(kind, [kind] * 3))
        return builder.call(fused, args)

    return a(a, b, c), codegen


multiply_add: Any = intrinsic(_multiply_add)
"""a * b + c, rounded once: where the machine has no such instruction, by the C library."""
