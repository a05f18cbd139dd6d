"""Kernels of the user's own: a plain Python function of numbers becomes a fused, differentiable op on tensors.

    >>> import numgrad as ng
    >>> @ng.elementwise
    ... def squared(x, y):
    ...     d = x - y
    ...     return d * d
    >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
    >>> squared(x, 0.5).sum().backward()
    >>> x.grad
    tensor([1., 3.])

`docs/kernels.md` is the manual: what such a function may say, and what comes of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, overload

from .autograd.variable import CLASSES
from .autograd.watch import watching
from .dispatch import binary, dispatch, nary, unary
from .dtype import dtype as dtype_class
from .dtype import float32, float64
from .kernels import standalone
from .kernels.scalar_ir import Function
from .kernels.user_ops import UserOp

_DTYPES = {d.name: d for d in (float32, float64)}


class Elementwise:
    """What `elementwise` makes of a function: call it on tensors, numbers and NumPy arrays. See there."""

    __wrapped__: Callable[..., Any]
    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], op: UserOp) -> None:
        functools.update_wrapper(self, function)
        self.op = op
        self.__signature__ = _signature(function)
        parameters = list(inspect.signature(function).parameters.values())
        self._named = {p.name: i for i, p in enumerate(parameters) if p.kind is not p.POSITIONAL_ONLY}
        self._positional = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
        count = len(op.inputs)
        # A call with as many arguments needs no preparation.
        self._direct = count if self._positional == count and not op.nondiff else -1
        self._form = count if op.outputs == 1 else 0

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Apply the function to each item of its arguments, which are broadcast against each other.

        Args:
            args, named: tensors, Python numbers, NumPy arrays and numbers, as the function's signature says.
            out: a tensor to write the result to, when no gradient is wanted.

        Returns:
            A new tensor, or a tuple of them when the function returns several values.

        Raises:
            TypeError: arguments that do not fit the signature, or are neither tensors nor numbers; a float where the
                parameter is annotated `int` or `bool`.
            RuntimeError: shapes that do not broadcast, tensors on different devices.
        """
        if named or len(args) != self._direct:
            args = self._inputs(args, named)
        if out is not None or watching:
            return dispatch(self.op, args, (), out)
        if self._form == 2:
            return binary(args[0], args[1], self.op)
        if self._form == 1:
            return unary(self.op, args[0])
        return nary(self.op, args)

    def _inputs(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """An input for each parameter, defaults included."""
        op = self.op
        inputs = [*args, *op.defaults[len(args) :]]
        fits = len(args) <= self._positional
        for name, value in named.items():
            i = self._named.get(name, -1)
            if i < len(args):
                fits = False
                break
            inputs[i] = value
        if not fits or any(x is inspect.Parameter.empty for x in inputs):
            raise self._misfit(args, named)
        for name in op.nondiff:
            i = op.inputs.index(name)
            if inputs[i].__class__ in CLASSES and inputs[i].requires_grad:
                inputs[i] = inputs[i].detach()
        return tuple(inputs)

    def _misfit(self, args: tuple[Any, ...], named: dict[str, Any]) -> TypeError:
        """The error about arguments that are not those of the signature, in Python's words."""
        try:
            inspect.signature(self.__wrapped__).bind(*args, **named)
        except TypeError as error:
            return TypeError(f"{self.op.name}(): {error}")
        raise AssertionError(f"{self.op.name}() takes these arguments")

    # ------------------------------------------------------------------------------------------ what was made of it
    def grad(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the gradient for the parameter `name`, where a formula is known that is better than the derived one.

        The decorated function is another scalar function. Its parameters are named among: `g`, the incoming gradient;
        the function's own parameters; and `out`, the result (`g0`, `out0`, `g1`, ... when there are several). What it
        names is what the graph saves. It must be linear in `g`.

        Example:
            >>> import math, numgrad as ng
            >>> @ng.elementwise
            ... def softplus(x):
            ...     return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
            >>> @softplus.grad("x")
            ... def _(g, x):
            ...     return g / (1 + math.exp(-x))

        Raises:
            ValueError: the function has no such parameter, or one without a gradient.
            RuntimeError: the gradient was used already.
            DifferentiationError: the gradient cannot be lowered, does not read `g`, or is not linear in it.
        """
        return self.op.grad(name)

    @property
    def scalar_function(self) -> Function:
        """The lowered function; what other scalar functions call."""
        return self.op.scalar

    @functools.cached_property
    def scalar(self) -> Any:
        """The function for single numbers, compiled by Numba's `njit`, to be called from other compiled code.

        It computes in float64 as Python does, except that 1/0 is infinite instead of an error. In compiled code the
        elementwise function may be called itself: it stands for this one.
        """
        empty = inspect.Parameter.empty
        required = max((i for i, default in enumerate(self.op.defaults, 1) if default is empty), default=0)
        return standalone.jitted(self.op.scalar, float64.numpy, self.op.defaults[required:])

    @property
    def _numba_type_(self) -> Any:  # Numba asks values that it does not know for this
        return self.scalar._numba_type_

    @property
    def ufunc(self) -> Any:
        """The function as a NumPy ufunc, made by `numba.vectorize` at first use: `out=`, `where=`, `reduce`, ..."""
        return self.op.ufunc

    def source(self, order: int = 0, dtype: str | dtype_class = "float32", device: str = "cpu") -> str:
        """The generated text that Numba compiles.

        Args:
            order: 0 for the function, 1 for its gradient by all its parameters, 2 for the gradient of that, ...
            dtype: what it computes in, float32 or float64.
            device: "cpu" or "cuda" (no such device is needed).

        Raises:
            ValueError: another dtype or device, or an order without derivatives.
        """
        name = dtype if isinstance(dtype, str) else dtype.name
        if name not in _DTYPES:
            raise ValueError(f"dtype must be float32 or float64, not {dtype!r}")
        return standalone.source(self.op, order, _DTYPES[name].numpy, str(device))

    def __repr__(self) -> str:
        return f"<elementwise {self.__name__}{inspect.signature(self.__wrapped__)}>"

    def __reduce__(self) -> str:  # as functions are: by name
        return self.__qualname__


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    own = inspect.signature(function)
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    return own.replace(parameters=[*own.parameters.values(), out])


@overload
def elementwise(function: Callable[..., Any], /) -> Elementwise: ...


@overload
def elementwise(
    *, nondiff: str | Sequence[str] = ..., name: str | None = ..., result: str = ..., cache: bool = ...
) -> Callable[[Callable[..., Any]], Elementwise]: ...


def elementwise(
    function: Callable[..., Any] | None = None,
    /,
    *,
    nondiff: str | Sequence[str] = (),
    name: str | None = None,
    result: str = "float",
    cache: bool = True,
) -> Any:
    """Make a plain Python function of numbers a differentiable op on tensors: one kernel, whatever it computes.

    The function's source is translated, not traced: `if`, `while`, `for ... in range(...)`, early returns and calls of
    other such functions stay what they are. Its gradients, of any order, are derived from the source.

    Args:
        function: takes numbers and returns one, or a tuple of them. Parameters annotated `int` or `bool` take integers
            and bools; all others are real. Defaults must be numbers.
        nondiff: names of parameters that no gradient goes to.
        name: what messages and the graph call it, by default the function's own name: `huber` has the node
            `HuberBackward0`.
        result: "float" computes in the promoted dtype of the real arguments if that is a float dtype, else in the
            default one; "same" computes integers in integers. Values that are integers or bools by their nature (of
            `int` parameters, comparisons) are returned as int64 and bool tensors in either case.
        cache: whether compiled kernels are kept on disk.

    Returns:
        An `Elementwise`, which is called as the function is.

    Raises:
        DifferentiationError: the function uses something outside the accepted language; the message shows the line.

    Example:
        >>> import numgrad as ng
        >>> @ng.elementwise
        ... def huber(pred, target, delta=1.0):
        ...     a = abs(pred - target)
        ...     return 0.5 * a * a if a < delta else delta * (a - 0.5 * delta)
        >>> huber(ng.tensor([0.0, 3.0]), 1.0)
        tensor([0.5000, 1.5000])
    """
    names = (nondiff,) if isinstance(nondiff, str) else tuple(nondiff)

    def decorate(function: Callable[..., Any]) -> Elementwise:
        op = UserOp(function, name=name, result=result, nondiff=names, cache=cache)
        return Elementwise(getattr(function, "py_func", function), op)

    return decorate if function is None else decorate(function)
