"""`FusedOptimizer`: the optimizers whose step is one op on each parameter, run on all parameters in one call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..creation import full, zeros_like
from ..dispatch import dispatch
from ..dtype import dtype, float32, float64, get_default_dtype
from ..kernels.optimizers import count_step
from ..ops import view_as_complex, view_as_real
from ..stepping import step as step_in_place
from ..tensor import Tensor
from .optimizer import Group, Optimizer

__all__ = ["FusedOptimizer", "as_number", "check_fused", "check_lr", "count_dtype", "new_count", "sign"]

State = dict[str, Any]
Rule = tuple[Any, tuple[str, ...]]  # an op of kernels/optimizers.py, and the entries of the state that it takes

_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]  # as PyTorch's message lists them
_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]


class FusedOptimizer(Optimizer):
    """Base class of optimizers that update a parameter from its gradient, its state and some numbers.

    A subclass says which op that is (`_rule`), what is new in a parameter's state (`_prepared`) and which numbers the op
    takes (`_numbers`).

    `foreach` and `fused` choose nothing: the kernel is always fused. With `differentiable` the step is recorded, and
    gradients go through it.

    Attributes:
        _counters: entries of a state that are one number, as a tensor, with what they are at first.
        _later_options: options that groups of older state dicts may lack.
    """

    _counters: ClassVar[dict[str, float]] = {"step": 0.0}
    _later_options: ClassVar[dict[str, Any]] = {}
    _on_capturable: ClassVar[tuple[str, list[str]]] = ("params and state_steps", _CAPTURABLE_DEVICES)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; those whose gradient is None stay as they are.

        Args:
            closure: evaluates the model anew, with gradients; its loss is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                self._update_group(group)
        return loss

    # ------------------------------------------------------------------------------------------ what subclasses say
    def _rule(self, group: Group) -> Rule:
        """The op that updates the parameters of a group, and the entries of a parameter's state that it takes."""
        raise NotImplementedError

    def _prepared(self, group: Group, param: Any, state: State) -> Hashable:
        """Make the state of a parameter ready for the next step; what its numbers depend on beside the group."""
        raise NotImplementedError

    def _numbers(self, group: Group, key: Any) -> tuple[Any, ...]:
        """The numbers that the op takes, for parameters with this key. Options of `group` are never 1-item tensors,
        unless the step is recorded."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ one group
    def _update_group(self, group: Group) -> None:
        differentiable = bool(group["differentiable"])
        options = group if differentiable else _without_tensors(group)
        op, names = self._rule(options)
        keeps_state = names or self._counters
        fused = group.get("fused")
        rows: dict[Hashable, list[tuple[Any, ...]]] = {}
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if fused:
                _check_fused_param(param)
            state = self.state[param] if keeps_state else {}
            key = self._prepared(options, param, state)
            row = (param, grad, *[state[name] for name in names])
            if key in rows:
                rows[key].append(row)
            else:
                rows[key] = [row]
        if "step" in self._counters:
            self._count(group, rows)
        for key, some in rows.items():
            numbers = self._numbers(options, key)
            if differentiable:
                for row in some:
                    _record(op, row, numbers)
            else:
                step_in_place(op, some, numbers)

    def _count(self, group: Group, rows: dict[Hashable, list[tuple[Any, ...]]]) -> None:
        """Add 1 to the number of steps of each parameter."""
        counts = [self.state[row[0]]["step"] for some in rows.values() for row in some]
        if group.get("capturable"):
            self._check_capturable([row[0] for some in rows.values() for row in some], counts)
        if counts:
            with set_grad_enabled(False):
                step_in_place(count_step, [(count,) for count in counts], ())

    def _check_capturable(self, params: Sequence[Any], counts: Sequence[Any]) -> None:
        what, devices = self._on_capturable
        for param, count in zip(params, counts, strict=True):
            if param.device.type != count.device.type or param.device.type not in devices:
                raise AssertionError(f"If capturable=True, {what} must be on supported devices: {devices}.")

    def _new_state(self, group: Group, param: Any, state: State, *names: str) -> None:
        """Fill the state of a parameter: its counters, and tensors of zeros like the parameter."""
        beside = group.get("capturable") or group.get("fused")
        for name, start in self._counters.items():
            state[name] = new_count(start, count_dtype(group), param.device if beside else None)
        for name in names:
            state[name] = zeros_like(param)

    # ------------------------------------------------------------------------------------------ loading
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._later_options.items():
                group.setdefault(name, value)
            for param in group["params"]:
                values = self.state.get(param, {})
                for name in self._counters:
                    if name in values and not isinstance(values[name], Tensor):  # old state dicts have numbers
                        values[name] = new_count(float(values[name]), count_dtype(group))

    def _fitted(self, value: Any, param: Any, number: Any, name: str = "") -> Any:
        if isinstance(value, Tensor) and name in self._counters and name != "step":
            return value.detach().to(device=param.device, copy=True)  # in another dtype it would go on otherwise
        if isinstance(value, Tensor) and name != "step" and value.shape != param.shape:
            raise ValueError(
                f"loaded state dict has '{name}' of shape {value.shape} for parameter {self._named(param, number)}, "
                f"which has shape {param.shape}: it was saved by the optimizer of another model"
            )
        return super()._fitted(value, param, number, name)

    def _named(self, param: Any, number: Any) -> str:
        for group in self.param_groups:
            for name, own in zip(group.get("param_names", ()), group["params"], strict=False):
                if own is param:
                    return f"{number} ('{name}')"
        return str(number)


# ---------------------------------------------------------------------------------------------------- options
def sign(group: Group) -> float:
    """-1 to climb, 1 to descend."""
    return -1.0 if group["maximize"] else 1.0


def as_number(value: Any) -> float:
    """A number, or the item of a tensor, whatever graph it has."""
    return float(value.item() if isinstance(value, Tensor) else value)


def check_lr(lr: Any) -> None:
    """Raise ValueError, with PyTorch's text, for a learning rate below 0 or given as a tensor of several items."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_fused(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError, with PyTorch's text, for a contradiction among the flags that choose an implementation."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _check_fused_param(param: Any) -> None:
    if not param.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {_FUSED_DEVICES} but {param.dtype} and {param.device.type}"
        )


def new_count(value: float, dtype: dtype, device: Any = None) -> Tensor:
    """A number of a parameter's state, such as its steps so far, as a tensor."""
    return full((), value, dtype=dtype, device=device)


def count_dtype(group: Group) -> dtype:
    """The dtype of such a tensor: float64 where that is the default dtype, else float32."""
    return float64 if get_default_dtype() is float64 and not group.get("fused") else float32


def _without_tensors(group: Group) -> Group:
    """The group with numbers for options that are tensors, also in pairs such as `betas`."""
    found = group
    for name, value in group.items():
        if value.__class__ is tuple:
            if any(isinstance(v, Tensor) for v in value):
                found = {**found, name: tuple(as_number(v) for v in value)}
        elif isinstance(value, Tensor):
            found = {**found, name: as_number(value)}
    return found


# ---------------------------------------------------------------------------------------------------- recorded steps
def _record(op: Any, row: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
    """The step of one parameter, recorded: its tensors become the results of the op."""
    is_complex = row[0].is_complex()
    # What is written is cloned: gradients read what it was before.
    operands = [x.clone() if i in op.targets else x for i, x in enumerate(row)]
    if is_complex:
        operands = [view_as_real(x) for x in operands]
    results = dispatch(op, (*operands, *numbers))
    for i, result in zip(op.targets, results if op.outputs > 1 else (results,), strict=True):
        row[i].copy_(view_as_complex(result) if is_complex else result)
