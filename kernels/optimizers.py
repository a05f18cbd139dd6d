"""Optimizer steps, one fused loop a parameter. They write their targets in place and record nothing."""

from __future__ import annotations

import numpy as np

from .cpu import loop
from .registry import Sample, op


@loop
def sgd_loop(param, grad, lr, weight_decay, maximize):
    rate, decay = _T(lr), _T(weight_decay)  # noqa: F821
    for i in range(param.shape[0]):
        g = -grad[i] if maximize else grad[i]
        param[i] -= rate * (g + decay * param[i])


@loop
def sgd_momentum_loop(param, grad, buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    rate, decay, keep = _T(lr), _T(weight_decay), _T(momentum)  # noqa: F821
    fresh = _T(1 - dampening)  # noqa: F821
    for i in range(param.shape[0]):
        g = (-grad[i] if maximize else grad[i]) + decay * param[i]
        b = g if first else keep * buffer[i] + fresh * g
        buffer[i] = b
        param[i] -= rate * (g + keep * b if nesterov else b)


@loop
def adam_loop(param, grad, exp_avg, exp_avg_sq, lr, beta1, beta2, eps, weight_decay, correction1, root_correction2,
              maximize, decoupled):  # fmt: skip
    b2, epsilon, root = _T(beta2), _T(eps), _T(root_correction2)  # noqa: F821
    new1, new2 = _T(1 - beta1), _T(1 - beta2)  # noqa: F821
    step = _T(lr / correction1)  # noqa: F821
    decay = _T(weight_decay)  # noqa: F821
    shrink = _T(1 - lr * weight_decay)  # noqa: F821
    for i in range(param.shape[0]):
        g = -grad[i] if maximize else grad[i]
        p = param[i]
        if decoupled:
            p *= shrink
        else:
            g += decay * p
        m = exp_avg[i] + (g - exp_avg[i]) * new1
        v = exp_avg_sq[i] * b2 + g * g * new2
        exp_avg[i] = m
        exp_avg_sq[i] = v
        param[i] = p - step * (m / (_T(math.sqrt(v)) / root + epsilon))  # noqa: F821


def _flat(*arrays: np.ndarray) -> list[np.ndarray]:
    """1-D arrays over the same items: views of contiguous arrays, else of what `_write_back` copies back."""
    return [np.ascontiguousarray(a).reshape(-1) for a in arrays]


def _write_back(flats: list[np.ndarray], arrays: tuple[np.ndarray, ...]) -> None:
    for flat, array in zip(flats, arrays, strict=True):
        if not array.flags.c_contiguous:
            array[...] = flat.reshape(array.shape)


def _sgd_reference(param, grad, *, lr, weight_decay, maximize):
    return param - lr * ((-grad if maximize else grad) + weight_decay * param)


@op(samples=[Sample(((3, 2), (3, 2)), {"lr": 0.1, "weight_decay": 0.01, "maximize": False})],
    reference=_sgd_reference, differentiable=False, writes=(0,))  # fmt: skip
def sgd_step(param, grad, *, lr, weight_decay, maximize):
    """A step of gradient descent on `param`, in place."""


@sgd_step.kernel("cpu")
def _(param, grad, lr, weight_decay, maximize):
    targets = _flat(param)
    sgd_loop(*targets, *_flat(grad), float(lr), float(weight_decay), bool(maximize))
    _write_back(targets, (param,))


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
    targets = _flat(param, buffer)
    sgd_momentum_loop(targets[0], *_flat(grad), targets[1], float(lr), float(momentum), float(dampening),
                      float(weight_decay), bool(nesterov), bool(maximize), bool(first))  # fmt: skip
    _write_back(targets, (param, buffer))


def _adam_reference(param, grad, exp_avg, exp_avg_sq, *, lr, beta1, beta2, eps, weight_decay, step, maximize, decoupled):
    g = -grad if maximize else grad
    param = param * (1 - lr * weight_decay) if decoupled else param
    g = g if decoupled else g + weight_decay * param
    m = beta1 * exp_avg + (1 - beta1) * g
    v = beta2 * exp_avg_sq + (1 - beta2) * g * g
    denominator = np.sqrt(v) / np.sqrt(1 - beta2**step) + eps
    return param - lr / (1 - beta1**step) * m / denominator, m, v


@op(samples=[Sample(((3, 2), (3, 2), (3, 2), [[0.1, 0.2], [0.3, 0.4], [1.0, 0.5]]),
                    {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.01, "step": 3,
                     "maximize": False, "decoupled": d}) for d in (False, True)],
    reference=_adam_reference, differentiable=False, writes=(0, 2, 3))  # fmt: skip
def adam_step(param, grad, exp_avg, exp_avg_sq, *, lr, beta1, beta2, eps, weight_decay, step, maximize, decoupled):
    """A step of Adam on `param` and its two averages, in place; `decoupled` weight decay makes it AdamW.

    Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.
    """


@adam_step.kernel("cpu")
def _(param, grad, exp_avg, exp_avg_sq, lr, beta1, beta2, eps, weight_decay, step, maximize, decoupled):
    arrays = (param, exp_avg, exp_avg_sq)
    targets = _flat(*arrays)
    adam_loop(targets[0], *_flat(grad), targets[1], targets[2], float(lr), float(beta1), float(beta2), float(eps),
              float(weight_decay), float(1 - beta1**step), float((1 - beta2**step) ** 0.5),
              bool(maximize), bool(decoupled))  # fmt: skip
    _write_back(targets, arrays)
