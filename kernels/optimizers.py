"""Optimizer steps, one fused loop a parameter. They write their targets in place and record nothing."""

from __future__ import annotations

import numpy as np

from .cpu import loop
from .registry import Sample, op


@loop
def sgd_loop(param, grad, lr, weight_decay, maximize):
    """Gradient descent."""
    rate, decay = _T(lr), _T(weight_decay)  # noqa: F821
    for i in range(param.shape[0]):
        g = -grad[i] if maximize else grad[i]
        if weight_decay != 0:  # not for its speed: 0 * inf is NaN
            g += decay * param[i]
        param[i] -= rate * g


@loop
def sgd_momentum_loop(param, grad, buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    """Gradient descent with momentum; the `first` step makes the buffer."""
    rate, decay, keep = _T(lr), _T(weight_decay), _T(momentum)  # noqa: F821
    fresh = _T(1 - dampening)  # noqa: F821
    for i in range(param.shape[0]):
        g = -grad[i] if maximize else grad[i]
        if weight_decay != 0:
            g += decay * param[i]
        b = g if first else keep * buffer[i] + fresh * g
        buffer[i] = b
        param[i] -= rate * (g + keep * b if nesterov else b)


@loop
def adam_loop(param, grad, exp_avg, exp_avg_sq, count, lr, beta1, beta2, eps, weight_decay, maximize, decoupled):
    """Adam's step number `count`."""
    rate = _T(lr / (1 - beta1**count))  # noqa: F821
    root = _T(math.sqrt(1 - beta2**count))  # noqa: F821
    b2, epsilon, decay = _T(beta2), _T(eps), _T(weight_decay)  # noqa: F821
    new1, new2 = _T(1 - beta1), _T(1 - beta2)  # noqa: F821
    shrink = _T(1 - lr * weight_decay)  # noqa: F821
    for i in range(param.shape[0]):
        g = -grad[i] if maximize else grad[i]
        p = param[i]
        if decoupled:
            p *= shrink
        elif weight_decay != 0:
            g += decay * p
        m = exp_avg[i] + (g - exp_avg[i]) * new1
        v = exp_avg_sq[i] * b2 + g * g * new2
        exp_avg[i] = m
        exp_avg_sq[i] = v
        param[i] = p - rate * (m / (_T(math.sqrt(v)) / root + epsilon))  # noqa: F821


def _check_state(name: str, param: np.ndarray, *others: np.ndarray) -> None:
    """Raise RuntimeError unless gradient and state are like the parameter: a loop reads them side by side."""
    shape, dtype = param.shape, param.dtype
    for other in others:
        if other.shape != shape or other.dtype != dtype:
            raise RuntimeError(
                f"{name}(): a parameter of shape {list(shape)} and dtype {dtype} has a gradient or state of shape "
                f"{list(other.shape)} and dtype {other.dtype}: after changing a parameter's shape or dtype, clear its "
                "gradient and make a new optimizer"
            )


def _write_back(array: np.ndarray, flat: np.ndarray) -> None:
    """Copy to an array whose flat form could not be a view of it."""
    if not array.flags.c_contiguous:
        array[...] = flat.reshape(array.shape)


def _sgd_reference(param, grad, *, lr, weight_decay, maximize):
    return param - lr * ((-grad if maximize else grad) + weight_decay * param)


@op(samples=[Sample(((3, 2), (3, 2)), {"lr": 0.1, "weight_decay": 0.01, "maximize": m}) for m in (False, True)],
    reference=_sgd_reference, differentiable=False, writes=(0,))  # fmt: skip
def sgd_step(param, grad, *, lr, weight_decay, maximize):
    """A step of gradient descent on `param`, in place."""


@sgd_step.kernel("cpu")
def _(param, grad, lr, weight_decay, maximize):
    _check_state("sgd_step", param, grad)
    flat = param.ravel()
    sgd_loop(flat, grad.ravel(), lr, weight_decay, maximize)
    _write_back(param, flat)


def _sgd_momentum_reference(param, grad, buffer, *, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    g = (-grad if maximize else grad) + weight_decay * param
    b = g if first else momentum * buffer + (1 - dampening) * g
    return param - lr * (g + momentum * b if nesterov else b), b


@op(samples=[Sample(((3, 2), (3, 2), (3, 2)), {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01,
                                               "nesterov": n, "maximize": False, "first": f})
             for n, f in ((False, False), (True, True))],
    reference=_sgd_momentum_reference, differentiable=False, writes=(0, 2))  # fmt: skip
def sgd_momentum_step(param, grad, buffer, *, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    """A step of gradient descent with momentum on `param` and its `buffer`, in place."""


@sgd_momentum_step.kernel("cpu")
def _(param, grad, buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    _check_state("sgd_momentum_step", param, grad, buffer)
    flat, flat_buffer = param.ravel(), buffer.ravel()
    sgd_momentum_loop(flat, grad.ravel(), flat_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    _write_back(param, flat)
    _write_back(buffer, flat_buffer)


def _adam_reference(
    param, grad, exp_avg, exp_avg_sq, step, *, lr, beta1, beta2, eps, weight_decay, maximize, decoupled
):
    step = step + 1
    g = -grad if maximize else grad
    param = param * (1 - lr * weight_decay) if decoupled else param
    g = g if decoupled else g + weight_decay * param
    m = beta1 * exp_avg + (1 - beta1) * g
    v = beta2 * exp_avg_sq + (1 - beta2) * g * g
    denominator = np.sqrt(v) / np.sqrt(1 - beta2**step) + eps
    return param - lr / (1 - beta1**step) * m / denominator, m, v, step


@op(samples=[Sample(((3, 2), (3, 2), (3, 2), [[0.1, 0.2], [0.3, 0.4], [1.0, 0.5]], 2.0),
                    {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.01,
                     "maximize": not d, "decoupled": d}) for d in (False, True)],
    reference=_adam_reference, differentiable=False, writes=(0, 2, 3, 4))  # fmt: skip
def adam_step(param, grad, exp_avg, exp_avg_sq, step, *, lr, beta1, beta2, eps, weight_decay, maximize, decoupled):
    """A step of Adam on `param`, its two averages and the count of its steps (a 0-d tensor on the CPU), in place.

    `decoupled` weight decay makes it AdamW.

    Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.
    """


@adam_step.kernel("cpu")
def _(param, grad, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay, maximize, decoupled):
    _check_state("adam_step", param, grad, exp_avg, exp_avg_sq)
    flat, flat_avg, flat_avg_sq = param.ravel(), exp_avg.ravel(), exp_avg_sq.ravel()
    count = float(step) + 1.0
    step.fill(count)
    adam_loop(
        flat, grad.ravel(), flat_avg, flat_avg_sq, count, lr, beta1, beta2, eps, weight_decay, maximize, decoupled
    )
    _write_back(param, flat)
    _write_back(exp_avg, flat_avg)
    _write_back(exp_avg_sq, flat_avg_sq)
