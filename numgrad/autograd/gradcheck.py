"""`gradcheck` and `gradgradcheck`: gradients against finite differences."""

from __future__ import annotations

from typing import Any

from . import gradcheck_analytical as analytical
from . import gradcheck_further as further
from . import gradcheck_numerical as numerical
from . import gradcheck_texts as texts
from .differentiate import grad
from .gradcheck_draws import projection, random_vector
from .gradcheck_numerical import Function, as_tuple, checked_indices, differentiable_outputs, is_differentiable
from .gradcheck_texts import GradcheckError
from .variable import CLASSES

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of a function against central differences.

    Args:
        func: takes the inputs, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple; those that require gradients are checked, and should be float64 or complex128.
        eps: how far each item is moved.
        atol, rtol: numbers may differ by `atol + rtol * abs(numerical)`.
        raise_exception: return False instead of raising, if it is False.
        nondet_tol: by how much two backwards may differ.
        check_undefined_grad: also check that absent gradients of outputs count as 0.
        check_grad_dtypes: also check the gradients' dtypes.
        check_batched_grad, check_batched_forward_grad: also compare many gradients (tangents) at once with one by one.
        check_forward_ad, check_backward_ad: which modes to check.
        fast_mode: compare one random projection of the Jacobian instead of each item.
        masked: for sparse tensors, which there are none of.

    Returns:
        True if all gradients agree.

    Raises:
        GradcheckError: they do not.
        ValueError: no input requires a gradient.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([0.5], dtype=ng.float64, requires_grad=True)
        >>> ng.autograd.gradcheck(ng.tanh, x)
        True
        >>> ng.autograd.gradcheck(lambda x: x * x.detach(), x, raise_exception=False)
        False
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    given = as_tuple(inputs)
    check = _Check(func, given, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        further.inputs(given)
        check.start()
        if check_backward_ad:
            check.backward()
        if check_forward_ad:
            check.forward(check_undefined_grad)
        if check_batched_forward_grad:
            further.batched_forward(func, given)
        if not check_backward_ad:
            return True
        if check_batched_grad:
            for i, y in enumerate(check.outputs):
                further.batched_backward(given, y, i)
        further.zero_gradients(check.outputs, given, bool(masked))
        if check_undefined_grad:
            further.undefined_gradients(func, given)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: `gradcheck` of the gradients of `func`, as functions of inputs and `grad_outputs`.

    Arguments, result and errors are those of `gradcheck`; `grad_outputs` are random unless given, with
    `gen_non_contig_grad_outputs` in a layout with gaps. `check_fwd_over_rev` and `check_rev_over_rev` choose the mode of
    the outer derivative.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([0.5], dtype=ng.float64, requires_grad=True)
        >>> ng.autograd.gradgradcheck(ng.tanh, x)
        True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable_outputs(func(*given))
        vectors = tuple(random_vector(y, i, gen_non_contig_grad_outputs) for i, y in enumerate(outputs))
    else:
        vectors = as_tuple(grad_outputs)
    wanted = checked_indices(given)
    wanted_vectors = checked_indices(vectors)

    def gradients(*args: Any) -> tuple[Any, ...]:
        xs = [x.requires_grad_() if i in wanted else x for i, x in enumerate(args[: len(given)])]
        vs = [v.requires_grad_() if i in wanted_vectors else v for i, v in enumerate(args[len(given) :])]
        outputs = differentiable_outputs(func(*xs))
        found = grad(outputs, [xs[i] for i in wanted], vs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        (*given, *vectors),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


# ---------------------------------------------------------------------------------------------------- the comparison
class _Check:
    """One check of a function: numerical against analytical derivatives, in both modes, item by item or projected."""

    result: tuple[Any, ...]
    outputs: tuple[Any, ...]

    def __init__(
        self,
        func: Function,
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        check_dtypes: bool,
        fast: bool,
    ) -> None:
        self.func = func
        self.inputs = inputs
        self.eps = eps
        self.atol = atol
        self.rtol = rtol
        self.nondet_tol = nondet_tol
        self.check_dtypes = check_dtypes
        self.fast = fast

    def start(self) -> None:
        """Call the function at the inputs."""
        self.result = as_tuple(self.func(*self.inputs))
        self.outputs = differentiable_outputs(self.result)

    def _of(self, func: Function, inputs: tuple[Any, ...] | None = None) -> _Check:
        """The same check of another function."""
        other = _Check(
            func,
            self.inputs if inputs is None else inputs,
            self.eps,
            self.atol,
            self.rtol,
            self.nondet_tol,
            self.check_dtypes,
            self.fast,
        )
        other.start()
        return other

    # ------------------------------------------------------------------------------------------ modes
    def backward(self) -> None:
        """Check backward mode; of complex outputs the imaginary part, then the real one."""
        parts = {i for i, y in enumerate(self.outputs) if y.is_complex()}
        if not any(y.is_complex() for y in self.result):
            self._compare_backward(set(), "")
            return
        for name in ("imaginary", "real"):
            self._of(_part_of_outputs(self.func, name))._compare_backward(parts, name)

    def forward(self, check_undefined: bool) -> None:
        """Check forward mode; for complex inputs moving the imaginary part, then the real one."""
        parts = {i for i, x in enumerate(self.inputs) if x.__class__ in CLASSES and x.is_complex()}
        checks = [(self, "")]
        if parts:
            checks = [
                (self._of(*_part_of_inputs(self.func, self.inputs, name)), name) for name in ("imaginary", "real")
            ]
        for check, name in checks:
            check._compare_forward(parts, name)
        if check_undefined:
            for check, _ in checks:
                analytical.check_undefined_tangents(check.func, check.inputs, check._directions(for_forward=True))

    def _compare_backward(self, parts: set[int], name: str) -> None:
        wanted = checked_indices(self.inputs)
        variables = [self.inputs[i] for i in wanted]
        if not self.outputs:
            self._expect_zero()
            return
        if self.fast:
            self._compare_projections(wanted, variables, parts, name)
            return
        expected = self._numerical(wanted)
        kept = [k for k, y in enumerate(y for y in self.result if is_differentiable(y)) if y.requires_grad]
        for i, y in enumerate(self.outputs):
            found = analytical.by_backward(variables, y, self.nondet_tol, self.check_dtypes)
            for j, a in enumerate(found):
                self._require_close(a, expected[j][kept[i]], i, j, i in parts, "outputs", name, "")

    def _numerical(self, wanted: list[int]) -> list[list[Any]]:
        return [numerical.jacobian(self.func, self.inputs, i, self.result, self.eps) for i in wanted]

    def _expect_zero(self) -> None:
        """No output has a gradient, so nothing may depend on the inputs."""
        wanted = checked_indices(self.inputs)
        if self.fast:
            directions = self._directions()
            moved = [
                numerical.along(self.func, self.inputs, i, u, self.eps) for i, u in zip(wanted, directions, strict=True)
            ]
        else:
            moved = self._numerical(wanted)
        tolerance = self.nondet_tol if self.fast else 0
        if any(d.numel() and d.abs().max().item() > tolerance for several in moved for d in several):
            raise GradcheckError("Numerical gradient for function expected to be zero")

    def _compare_forward(self, parts: set[int], name: str) -> None:
        wanted = checked_indices(self.inputs)
        if not self.outputs:
            self._expect_zero()
            return
        kept = [k for k, y in enumerate(y for y in self.result if is_differentiable(y)) if y.requires_grad]
        if self.fast:
            directions = self._directions(for_forward=True)
            expected = [
                numerical.along(self.func, self.inputs, i, u, self.eps) for i, u in zip(wanted, directions, strict=True)
            ]
            expected = [
                [d for d, y in zip(several, self.result, strict=True) if is_differentiable(y)] for several in expected
            ]
            found = analytical.by_forward(self.func, self.inputs, self.result, self.check_dtypes, directions)
        else:
            directions = None
            expected = self._numerical(wanted)
            found = analytical.by_forward(self.func, self.inputs, self.result, self.check_dtypes)
        for i, k in enumerate(kept):
            for j in range(len(wanted)):
                scale = None if directions is None else directions[j].sum().item()
                more = (lambda j=j, k=k: self._slow_text(j, k, True)) if self.fast else ""
                self._require_close(found[j][k], expected[j][k], i, j, j in parts, "inputs", name, more, scale)

    # ------------------------------------------------------------------------------------------ fast mode
    def _compare_projections(self, wanted: list[int], variables: list[Any], parts: set[int], name: str) -> None:
        directions = self._directions()
        vectors = [projection(y, 100 + i) for i, y in enumerate(self.outputs)]
        moved = [
            numerical.along(self.func, self.inputs, i, u, self.eps) for i, u in zip(wanted, directions, strict=True)
        ]
        kept = [k for k, y in enumerate(self.result) if y.requires_grad]
        for i, (y, v) in enumerate(zip(self.outputs, vectors, strict=True)):
            products = analytical.by_backward(variables, y, self.nondet_tol, self.check_dtypes, v)
            for j, (product, u) in enumerate(zip(products, directions, strict=True)):
                n = (v * moved[j][kept[i]]).sum()
                a = _dot(product.reshape(-1), u)
                total = sum(part.sum().item() for part in (u if isinstance(u, tuple) else (u,)))
                scale = total * v.sum().item()
                more = lambda i=i, j=j: self._slow_text(j, i, False)
                self._require_close(a, n, i, j, i in parts, "outputs", name, more, scale)

    def _directions(self, for_forward: bool = False) -> list[Any]:
        """A positive direction of length 1 for each checked input, for a complex one a pair."""
        found: list[Any] = []
        for i in checked_indices(self.inputs):
            x = self.inputs[i]
            real = projection(x, 2 * i)
            found.append((real, projection(x, 2 * i + 1)) if x.is_complex() else real)
        return found

    def _slow_text(self, j: int, k: int, is_forward: bool) -> str:
        """What a failure of fast mode adds: both Jacobians, and whether slow mode would have passed."""
        wanted = checked_indices(self.inputs)
        expected = self._numerical(wanted)[j]
        if is_forward:
            found = analytical.by_forward(self.func, self.inputs, self.result, False)[j][k]
        else:
            k_of = [n for n, y in enumerate(y for y in self.result if is_differentiable(y)) if y.requires_grad]
            variables = [self.inputs[i] for i in wanted]
            found = analytical.by_backward(variables, self.outputs[k], float("inf"), False)[j]
            k = k_of[k]
        n = expected[k]
        text = texts.SLOW_MODE.format(numerical=n, analytical=found, difference=(n - found).abs().max())
        return text + texts.FAST_FAILED_SLOW_OK if found.allclose(n, self.rtol, self.atol) else text

    def _require_close(
        self, a: Any, n: Any, output: int, input: int, is_part: bool, what: str, name: str, more: Any, scale: Any = None
    ) -> None:
        """Raise GradcheckError when an analytical and a numerical derivative differ."""
        n = n.to(a.device)
        atol = self.atol if scale is None else self.atol * scale
        one, other = (a.to(n.dtype), n) if n.is_complex() and not a.is_complex() else (a, n.to(a.dtype))
        if one.allclose(other, self.rtol, atol):
            return
        prefix = f"While considering the {name} part of complex {what} only, " if is_part else ""
        mode = "computed with forward mode " if what == "inputs" else ""
        raise GradcheckError(
            f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {input},\n"
            f"numerical:{n}\nanalytical:{a}\n{more() if callable(more) else more}"
        )


def _dot(product: Any, u: Any) -> Any:
    if isinstance(u, tuple):
        return (product.real * u[0]).sum() + 1j * (product.imag * u[1]).sum()
    return (product * u).sum()


def _part_of_outputs(func: Function, name: str) -> Function:
    """The function with one part of its complex outputs."""

    def of_part(*xs: Any) -> tuple[Any, ...]:
        return tuple((y.imag if name == "imaginary" else y.real) if y.is_complex() else y for y in as_tuple(func(*xs)))

    return of_part


def _part_of_inputs(func: Function, inputs: tuple[Any, ...], name: str) -> tuple[Function, tuple[Any, ...]]:
    """The function of one part of its complex inputs, the other held fixed, and these parts."""

    def is_complex(x: Any) -> bool:
        return bool(x.__class__ in CLASSES and x.is_complex())

    def of_part(*xs: Any) -> tuple[Any, ...]:
        whole = []
        for x, original in zip(xs, inputs, strict=True):
            if is_complex(original):
                x = original.real + x * 1j if name == "imaginary" else x + original.imag * 1j
            whole.append(x)
        return as_tuple(func(*whole))

    parts = [(x.imag if name == "imaginary" else x.real) if is_complex(x) else x for x in inputs]
    return of_part, tuple(parts)
