"""Averages of a model's parameters over training: stochastic weight averaging, exponential moving averages.

Source: P. Izmailov et al., "Averaging weights leads to wider optima and better generalization" (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

from ..autograd.grad_mode import no_grad
from ..dtype import int64
from ..interop import tensor
from ..nn import Module
from .lr_scheduler.scheduler import LRScheduler, for_each_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Any, Any, Any], Any]
AverageMany = Callable[[Sequence[Any], Sequence[Any], Any], None]


# ---------------------------------------------------------------------------------------------------- how to average
def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The function that gives `decay * average + (1 - decay) * current`. Raises ValueError for a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageMany:
    """`get_ema_avg_fn` for lists of tensors, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Sequence[Any], current_param_list: Sequence[Any], _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> Average:
    """The function that gives the equal average with one more model."""

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> AverageMany:
    """`get_swa_avg_fn` for lists of tensors, in place."""
    average_of = get_swa_avg_fn()

    @no_grad()
    def swa_update(averaged_param_list: Sequence[Any], current_param_list: Sequence[Any], num_averaged: Any) -> None:
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            average.copy_(average_of(average, current, num_averaged))

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


# ---------------------------------------------------------------------------------------------------- the model
class AveragedModel(Module):
    """A copy of a model, `module`, whose parameters are averages of the model's.

    Args:
        model: the model to copy.
        device: where to keep the copy.
        avg_fn: gives the new average from the average, the current parameter and the number of models so far.
        multi_avg_fn: the same for lists of tensors, in place. Without both the average is an equal one.
        use_buffers: average buffers, too, in place of copying the current ones.

    >>> average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    >>> average.update_parameters(model)

    Raises AssertionError for both functions.
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: AverageMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters into the average; the first ones are copied."""
        own, others = _averaged_tensors(self.module, self.use_buffers), _averaged_tensors(model, self.use_buffers)
        averages = [average.detach() for average in own]
        currents = [other.detach().to(average.device) for average, other in zip(averages, others, strict=True)]
        if self.n_averaged == 0:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(current)
        elif self.avg_fn is not None:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            average_many = self.multi_avg_fn or get_swa_multi_avg_fn()
            for device, (some, others) in _by_device_and_dtype(averages, currents):
                average_many(some, others, self.n_averaged.to(device))
        if not self.use_buffers:
            for mine, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(buffer.detach().to(mine.device))
        self.n_averaged += 1


def _averaged_tensors(model: Module, use_buffers: bool) -> list[Any]:
    return list(chain(model.parameters(), model.buffers()) if use_buffers else model.parameters())


def _by_device_and_dtype(averages: list[Any], currents: list[Any]) -> Iterable[tuple[Any, tuple[list[Any], list[Any]]]]:
    groups: dict[Any, tuple[list[Any], list[Any]]] = {}
    for average, current in zip(averages, currents, strict=True):
        some, others = groups.setdefault((str(average.device), average.dtype), ([], []))
        some.append(average)
        others.append(current)
    return [(some[0].device, (some, others)) for some, others in groups.values()]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch norms anew, over a whole data set.

    Args:
        loader: gives batches, or tuples and lists that begin with one.
        model: the model, which is run in training mode on each of them.
        device: where to move the batches.
    """
    norms = [module for module in model.modules() if hasattr(module, "reset_running_stats")]
    momenta = [(norm, norm.momentum) for norm in norms if hasattr(norm, "momentum")]
    if not momenta:
        return
    was_training = model.training
    model.train()
    for norm, _ in momenta:
        norm.reset_running_stats()
        norm.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for norm, momentum in momenta:
        norm.momentum = momentum
    model.train(was_training)


# ---------------------------------------------------------------------------------------------------- the rate
class SWALR(LRScheduler):
    """From each group's rate to `swa_lr` in `anneal_epochs` steps, along half a cosine or a line, and then that rate.

    Raises ValueError for an unknown strategy, a negative number of epochs, and a list of another length than groups.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step, one a group."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self._share(epoch) for epoch in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            # What the rate was before all this: an optimizer's rate may be changed by others in between.
            first = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + first * (1 - now))
        return rates

    def _share(self, epoch: int) -> float:
        """How far the way has been gone."""
        t = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2
