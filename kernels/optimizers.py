"""Steps of optimizers, for one item of a parameter: the new parameter, and the new state beside it.

Tensors come first, then numbers, which are the same for all items. `sign` is -1 to climb instead of to descend. What
depends on the number of steps alone, such as Adam's corrections, is worked out before: numbers are cheap there.

`targets` are the inputs that the results replace. The graph layer runs a step in place, on all parameters at once (see
`many`), and as any other elementwise op where it is to be recorded.

Steps are not in the op table: with a dozen inputs each, its sweep would take minutes to compile all gradients that nobody
asks for. They are checked by tests of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .registry import ElementwiseOp, Uniform

STEPS: dict[str, ElementwiseOp] = {}

_ANY, _POSITIVE, _FRACTION = Uniform(), Uniform(0.5, 2.0), Uniform(0.1, 0.9)
_SIGN = Uniform(0.9, 1.0)


def _uphill(param, grad, weight_decay, sign):
    """The gradient to step against. Without decay an infinite parameter stays out of it: 0 * inf is NaN."""
    g = sign * grad
    return g + weight_decay * param if weight_decay != 0 else g


def _uphill_reference(param, grad, weight_decay, sign):
    return sign * grad + weight_decay * param


def _larger(a, b):
    """The larger one, or NaN if either is."""
    return a if a > b or a != a else b


def _step(*samples: Uniform, targets: tuple[str, ...], reference: Callable[..., Any]) -> Callable[..., ElementwiseOp]:
    """Declare a step, with the ranges that its inputs are drawn from."""

    def declare(function: Callable[..., Any]) -> ElementwiseOp:
        step = ElementwiseOp(
            function, samples=samples, reference=reference, outputs=len(targets), targets=targets, public=()
        )
        STEPS[step.name] = step
        return step

    return declare


@_step(_ANY, targets=("count",), reference=lambda count: count + 1)
def count_step(count):
    """One step more."""
    return count + 1


# ---------------------------------------------------------------------------------------------------- descent
@_step(_ANY, _ANY, _FRACTION, _FRACTION, _SIGN, targets=("param",),
       reference=lambda p, g, lr, wd, sign: p - lr * _uphill_reference(p, g, wd, sign))  # fmt: skip
def sgd_step(param, grad, lr, weight_decay, sign):
    """Gradient descent."""
    return param - lr * _uphill(param, grad, weight_decay, sign)


def _momentum_reference(p, g, buffer, lr, wd, sign, keep, fresh, nesterov):
    g = _uphill_reference(p, g, wd, sign)
    buffer = keep * buffer + fresh * g
    return p - lr * (g + nesterov * buffer), buffer


@_step(_ANY, _ANY, _ANY, *[_FRACTION] * 2, _SIGN, *[_FRACTION] * 3, targets=("param", "momentum_buffer"),
       reference=_momentum_reference)  # fmt: skip
def sgd_momentum_step(param, grad, momentum_buffer, lr, weight_decay, sign, keep, fresh, nesterov):
    """Gradient descent with momentum; `nesterov` is the share of the new buffer beside the gradient, or 0 without.

    Source: I. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
    """
    g = _uphill(param, grad, weight_decay, sign)
    buffer = keep * momentum_buffer + fresh * g
    direction = g + nesterov * buffer if nesterov != 0 else buffer
    return param - lr * direction, buffer


def _asgd_reference(p, g, ax, eta, shrink, mu, wd, sign):
    p_new = shrink * p - eta * _uphill_reference(p, g, wd, sign)
    return p_new, ax + mu * (p_new - ax)


@_step(_ANY, _ANY, _ANY, *[_FRACTION] * 4, _SIGN, targets=("param", "ax"), reference=_asgd_reference)
def asgd_step(param, grad, ax, eta, shrink, mu, weight_decay, sign):
    """Gradient descent and the average of its path.

    Source: B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging" (1992).
    """
    new = shrink * param - eta * _uphill(param, grad, weight_decay, sign)
    return new, ax + mu * (new - ax) if mu != 1 else new


def _rprop_reference(p, g, prev, size, low, high, down, up, sign):
    g = sign * g
    product = g * prev
    size = np.clip(size * np.where(product > 0, up, np.where(product < 0, down, 1)), low, high)
    g = np.where(product < 0, 0, g)
    return p - np.sign(g) * size, g, size


@_step(_ANY, Uniform(away_from=(0,)), Uniform(away_from=(0,)), _POSITIVE, _FRACTION, _POSITIVE, _FRACTION, _POSITIVE,
       _SIGN, targets=("param", "prev", "step_size"), reference=_rprop_reference)  # fmt: skip
def rprop_step(param, grad, prev, step_size, low, high, down, up, sign):
    """Steps whose size grows by `up` where the gradient keeps its sign, and shrinks by `down` where it changes.

    Source: M. Riedmiller, H. Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm"
    (1993).
    """
    g = sign * grad
    product = g * prev
    factor = up if product > 0 else down if product < 0 else 1 if product == 0 else product
    size = step_size * factor
    size = low if size < low else high if size > high else size
    if product < 0:
        g = 0
    direction = 1 if g > 0 else -1 if g < 0 else g
    return param - direction * size, g, size


# ---------------------------------------------------------------------------------------------------- scaled gradients
def _adagrad_reference(p, g, total, rate, eps, wd, sign):
    g = _uphill_reference(p, g, wd, sign)
    total = total + g * g
    return p - rate * g / (np.sqrt(total) + eps), total


@_step(_ANY, _ANY, _POSITIVE, *[_FRACTION] * 3, _SIGN, targets=("param", "sum"), reference=_adagrad_reference)
def adagrad_step(param, grad, sum, rate, eps, weight_decay, sign):
    """Gradients over the root of the sum of all their squares.

    Source: J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic optimization"
    (2011).
    """
    g = _uphill(param, grad, weight_decay, sign)
    total = sum + g * g
    return param - rate * (g / (math.sqrt(total) + eps)), total


def _adadelta_reference(p, g, square_avg, acc_delta, lr, rho, fresh, eps, wd, sign):
    g = _uphill_reference(p, g, wd, sign)
    square_avg = rho * square_avg + fresh * g * g
    delta = np.sqrt(acc_delta + eps) / np.sqrt(square_avg + eps) * g
    return p - lr * delta, square_avg, rho * acc_delta + fresh * delta * delta


@_step(_ANY, _ANY, _POSITIVE, _POSITIVE, *[_FRACTION] * 5, _SIGN, targets=("param", "square_avg", "acc_delta"),
       reference=_adadelta_reference)  # fmt: skip
def adadelta_step(param, grad, square_avg, acc_delta, lr, rho, fresh, eps, weight_decay, sign):
    """Gradients scaled by the root mean squares of past steps and past gradients.

    Source: M. Zeiler, "ADADELTA: an adaptive learning rate method" (2012), algorithm 1.
    """
    g = _uphill(param, grad, weight_decay, sign)
    square = square_avg * rho + fresh * (g * g)
    delta = math.sqrt(acc_delta + eps) / math.sqrt(square + eps) * g
    return param - lr * delta, square, acc_delta * rho + fresh * (delta * delta)


def _rmsprop_reference(p, g, square_avg, lr, alpha, fresh, eps, wd, sign):
    g = _uphill_reference(p, g, wd, sign)
    square_avg = alpha * square_avg + fresh * g * g
    return p - lr * g / (np.sqrt(square_avg) + eps), square_avg


@_step(_ANY, _ANY, _POSITIVE, *[_FRACTION] * 5, _SIGN, targets=("param", "square_avg"), reference=_rmsprop_reference)
def rmsprop_step(param, grad, square_avg, lr, alpha, fresh, eps, weight_decay, sign):
    """Gradients over the root of the running mean of their squares.

    Source: T. Hinton, "Neural networks for machine learning", lecture 6 (2012).
    """
    g = _uphill(param, grad, weight_decay, sign)
    square = square_avg * alpha + fresh * (g * g)
    return param - lr * (g / (math.sqrt(square) + eps)), square


def _rmsprop_momentum_reference(p, g, square_avg, buffer, lr, alpha, fresh, eps, wd, sign, momentum):
    g = _uphill_reference(p, g, wd, sign)
    square_avg = alpha * square_avg + fresh * g * g
    buffer = momentum * buffer + g / (np.sqrt(square_avg) + eps)
    return p - lr * buffer, square_avg, buffer


@_step(_ANY, _ANY, _POSITIVE, _ANY, *[_FRACTION] * 5, _SIGN, _FRACTION,
       targets=("param", "square_avg", "momentum_buffer"), reference=_rmsprop_momentum_reference)  # fmt: skip
def rmsprop_momentum_step(
    param, grad, square_avg, momentum_buffer, lr, alpha, fresh, eps, weight_decay, sign, momentum
):
    """RMSprop with momentum."""
    g = _uphill(param, grad, weight_decay, sign)
    square = square_avg * alpha + fresh * (g * g)
    buffer = momentum_buffer * momentum + g / (math.sqrt(square) + eps)
    return param - lr * buffer, square, buffer


def _rmsprop_centered_reference(p, g, square_avg, grad_avg, lr, alpha, fresh, eps, wd, sign):
    g = _uphill_reference(p, g, wd, sign)
    square_avg = alpha * square_avg + fresh * g * g
    grad_avg = grad_avg + fresh * (g - grad_avg)
    return p - lr * g / (np.sqrt(square_avg - grad_avg**2) + eps), square_avg, grad_avg


@_step(_ANY, Uniform(-0.5, 0.5), Uniform(1, 2), Uniform(-0.2, 0.2), *[_FRACTION] * 4, Uniform(0, 0.1), _SIGN,
       targets=("param", "square_avg", "grad_avg"), reference=_rmsprop_centered_reference)  # fmt: skip
def rmsprop_centered_step(param, grad, square_avg, grad_avg, lr, alpha, fresh, eps, weight_decay, sign):
    """RMSprop over the running standard deviation of the gradients.

    Source: A. Graves, "Generating sequences with recurrent neural networks" (2013).
    """
    g = _uphill(param, grad, weight_decay, sign)
    square = square_avg * alpha + fresh * (g * g)
    mean = grad_avg + fresh * (g - grad_avg)
    return param - lr * (g / (math.sqrt(square - mean * mean) + eps)), square, mean


def _rmsprop_centered_momentum_reference(p, g, square_avg, grad_avg, buffer, lr, alpha, fresh, eps, wd, sign, momentum):
    g = _uphill_reference(p, g, wd, sign)
    square_avg = alpha * square_avg + fresh * g * g
    grad_avg = grad_avg + fresh * (g - grad_avg)
    buffer = momentum * buffer + g / (np.sqrt(square_avg - grad_avg**2) + eps)
    return p - lr * buffer, square_avg, grad_avg, buffer


@_step(_ANY, Uniform(-0.5, 0.5), Uniform(1, 2), Uniform(-0.2, 0.2), _ANY, *[_FRACTION] * 4, Uniform(0, 0.1), _SIGN,
       _FRACTION, targets=("param", "square_avg", "grad_avg", "momentum_buffer"),
       reference=_rmsprop_centered_momentum_reference)  # fmt: skip
def rmsprop_centered_momentum_step(
    param, grad, square_avg, grad_avg, momentum_buffer, lr, alpha, fresh, eps, weight_decay, sign, momentum
):
    """Centered RMSprop with momentum."""
    g = _uphill(param, grad, weight_decay, sign)
    square = square_avg * alpha + fresh * (g * g)
    mean = grad_avg + fresh * (g - grad_avg)
    buffer = momentum_buffer * momentum + g / (math.sqrt(square - mean * mean) + eps)
    return param - lr * buffer, square, mean, buffer


# ---------------------------------------------------------------------------------------------------- Adam's family
def _adam_reference(p, g, m, v, rate, root, fresh1, beta2, fresh2, eps, wd, shrink, sign):
    g = _uphill_reference(p, g, wd, sign)
    m = m + fresh1 * (g - m)
    v = beta2 * v + fresh2 * g * g
    return shrink * p - rate * m / (np.sqrt(v) / root + eps), m, v


@_step(_ANY, _ANY, _ANY, _POSITIVE, *[_FRACTION] * 8, _SIGN, targets=("param", "exp_avg", "exp_avg_sq"),
       reference=_adam_reference)  # fmt: skip
def adam_step(param, grad, exp_avg, exp_avg_sq, rate, root, fresh1, beta2, fresh2, eps, weight_decay, shrink, sign):
    """Adam. `rate` is the learning rate over its correction, `root` the root of the other; AdamW shrinks the parameter.

    Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.
    """
    g = _uphill(param, grad, weight_decay, sign)
    m = exp_avg + fresh1 * (g - exp_avg)
    v = exp_avg_sq * beta2 + fresh2 * (g * g)
    return shrink * param - rate * (m / (math.sqrt(v) / root + eps)), m, v


def _amsgrad_reference(p, g, m, v, most, rate, root, fresh1, beta2, fresh2, eps, wd, shrink, sign):
    _, m, v = _adam_reference(p, g, m, v, rate, root, fresh1, beta2, fresh2, eps, wd, shrink, sign)
    most = np.maximum(most, v)
    return shrink * p - rate * m / (np.sqrt(most) / root + eps), m, v, most


@_step(_ANY, _ANY, _ANY, _POSITIVE, _POSITIVE, *[_FRACTION] * 8, _SIGN,
       targets=("param", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"), reference=_amsgrad_reference)  # fmt: skip
def amsgrad_step(
    param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, rate, root, fresh1, beta2, fresh2, eps, weight_decay, shrink, sign
):
    """Adam over the largest running square so far.

    Source: S. Reddi, S. Kale, S. Kumar, "On the convergence of Adam and beyond" (2018).
    """
    g = _uphill(param, grad, weight_decay, sign)
    m = exp_avg + fresh1 * (g - exp_avg)
    v = exp_avg_sq * beta2 + fresh2 * (g * g)
    most = _larger(max_exp_avg_sq, v)
    return shrink * param - rate * (m / (math.sqrt(most) / root + eps)), m, v, most


def _adamax_reference(p, g, m, most, rate, fresh1, beta2, eps, wd, sign):
    g = _uphill_reference(p, g, wd, sign)
    m = m + fresh1 * (g - m)
    most = np.maximum(beta2 * most, abs(g) + eps)
    return p - rate * m / most, m, most


@_step(_ANY, Uniform(away_from=(0,)), _ANY, _POSITIVE, *[_FRACTION] * 4, Uniform(0, 0.01), _SIGN,
       targets=("param", "exp_avg", "exp_inf"), reference=_adamax_reference)  # fmt: skip
def adamax_step(param, grad, exp_avg, exp_inf, rate, fresh1, beta2, eps, weight_decay, sign):
    """Adam with a maximum that forgets in place of the running square.

    Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 2.
    """
    g = _uphill(param, grad, weight_decay, sign)
    m = exp_avg + fresh1 * (g - exp_avg)
    most = _larger(exp_inf * beta2, abs(g) + eps)
    return param - rate * (m / most), m, most


def _nadam_reference(p, g, m, v, grad_rate, rate, correction, fresh1, beta2, fresh2, eps, wd, shrink, sign):
    g = _uphill_reference(p, g, wd, sign)
    m = m + fresh1 * (g - m)
    v = beta2 * v + fresh2 * g * g
    return shrink * p - (grad_rate * g + rate * m) / (np.sqrt(v / correction) + eps), m, v


@_step(_ANY, _ANY, _ANY, _POSITIVE, *[_FRACTION] * 9, _SIGN, targets=("param", "exp_avg", "exp_avg_sq"),
       reference=_nadam_reference)  # fmt: skip
def nadam_step(
    param,
    grad,
    exp_avg,
    exp_avg_sq,
    grad_rate,
    rate,
    correction,
    fresh1,
    beta2,
    fresh2,
    eps,
    weight_decay,
    shrink,
    sign,
):
    """Adam with Nesterov's look ahead.

    Source: T. Dozat, "Incorporating Nesterov momentum into Adam" (2016).
    """
    g = _uphill(param, grad, weight_decay, sign)
    m = exp_avg + fresh1 * (g - exp_avg)
    v = exp_avg_sq * beta2 + fresh2 * (g * g)
    scale = math.sqrt(v / correction) + eps
    return shrink * param - grad_rate * (g / scale) - rate * (m / scale), m, v


def _radam_reference(p, g, m, v, rate, scaled, fresh1, beta2, fresh2, eps, wd, shrink, sign):
    g = _uphill_reference(p, g, wd, sign)
    m = m + fresh1 * (g - m)
    v = beta2 * v + fresh2 * g * g
    return shrink * p - rate * m * scaled / (np.sqrt(v) + eps), m, v


@_step(_ANY, _ANY, _ANY, _POSITIVE, *[_FRACTION] * 8, _SIGN, targets=("param", "exp_avg", "exp_avg_sq"),
       reference=_radam_reference)  # fmt: skip
def radam_step(param, grad, exp_avg, exp_avg_sq, rate, scaled, fresh1, beta2, fresh2, eps, weight_decay, shrink, sign):
    """Adam that divides by the running square once it is known well; till then `scaled` is 0.

    Source: L. Liu et al., "On the variance of the adaptive learning rate and beyond" (2020), algorithm 2.
    """
    g = _uphill(param, grad, weight_decay, sign)
    m = exp_avg + fresh1 * (g - exp_avg)
    v = exp_avg_sq * beta2 + fresh2 * (g * g)
    factor = scaled / (math.sqrt(v) + eps) if scaled != 0 else 1
    return shrink * param - rate * (m * factor), m, v
