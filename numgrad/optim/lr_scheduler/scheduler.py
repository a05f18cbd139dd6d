"""`LRScheduler`, the base class of what changes learning rates between steps.

A schedule is *chainable*: a step computes the new rate from the present one, so that several of them may act on one
optimizer. Some can also be computed from the first rate alone, their closed form; `step(epoch)` uses it.

One thing is stricter than in PyTorch: loading a scheduler's state also sets the optimizer's rates to those that were saved.
So it does not matter whether the optimizer's state was loaded before the scheduler was made, which sets the rates, or after.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any
from weakref import ref

from ...tensor import Tensor
from ..optimizer import Group, Optimizer

__all__ = ["LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form "
    "is used instead of the new chainable form, where available. Please open an issue if you are unable to replicate "
    "your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. {_HOW_TO}"
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them "
    "in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
    f"skipping the first value of the learning rate schedule. {_HOW_TO}"
)


class LRScheduler:
    """Sets the learning rate of each group of an optimizer. A new schedule overrides `get_lr`.

    The first step is taken when it is made, so that the optimizer starts at the schedule's first rate.

    Args:
        optimizer: whose groups' "lr" it sets.
        last_epoch: the number of the last step, when training goes on; groups then need an "initial_lr".

    Attributes:
        base_lrs: the rates that the schedule starts from, one a group.
        last_epoch: the number of the last step, from 0.

    Raises:
        TypeError: something that is no optimizer.
        KeyError: groups without "initial_lr" although training goes on.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but "
                    "haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training "
                    "run (not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ------------------------------------------------------------------------------------------ the schedule
    def get_lr(self) -> list[Any]:
        """The rates of this step, one a group, from those of the last. `step` calls it."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one a group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Set the next rates. Call it after `optimizer.step()`; a first call before that warns.

        Args:
            epoch: deprecated; the number of the step to go to.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set_lr(values)

    def _set_lr(self, values: list[Any]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", value)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        """Warn of a call of `get_lr` by hand. It is for `get_lr` to call."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------------------------------ saving
    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned; the optimizer's rates become those of then."""
        self.__dict__.update(state_dict)
        self._restore_lr()

    def _restore_lr(self) -> None:
        last = getattr(self, "_last_lr", [])
        if len(last) == len(self.optimizer.param_groups):
            self._set_lr(last)


_LRScheduler = LRScheduler  # its name in old scripts


# ---------------------------------------------------------------------------------------------------- of optimizers
def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def values_of(optimizer: Optimizer, name: str) -> list[Any]:
    """An option of each group; tensors as copies."""
    return [_own(group[name]) for group in optimizer.param_groups]


def set_value(group: Group, name: str, value: Any) -> None:
    """Set an option of a group; one that is a tensor is written in place."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value)
    else:
        group[name] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value, or one of each group, as a list. Raises ValueError for a list of another length."""
    if not isinstance(value, (list, tuple)):
        value = [value] * len(optimizer.param_groups)
    elif len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups "
            f"has {len(optimizer.param_groups)}."
        )
    return [_own(v) for v in value]


def _own(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _watch_steps(optimizer: Any) -> None:
    """Have the optimizer note that its `step` was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference, function = ref(optimizer), optimizer.step.__func__

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer: Any = reference()
        optimizer._opt_called = True
        return function(optimizer, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step


# ---------------------------------------------------------------------------------------------------- of functions
def state_of_function(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """What a state dict keeps of a callable: the attributes of an object, nothing of a plain function."""
    return None if function is None or isinstance(function, FunctionType) else function.__dict__.copy()
