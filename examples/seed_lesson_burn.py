"""The lesson of `seed_lesson.py` through Burn's door: weighted gradients, an inner product, and tapes that serve once.

Backward returns the gradients, so there is nothing to set to zero; they are plain tensors, so there is no second
derivative; and there are no in-place operations, so nothing that backward needs can change.
"""

import numgrad as ng
from numgrad import Device, burn
from numgrad.burn import Distribution, Tensor

ng.manual_seed(10)
ad = Device.flex().autodiff()


def leaf(value):
    """A tensor of one item whose gradient is wanted."""
    return Tensor.from_floats([value], ad).require_grad()


def v(gradient):
    """A gradient that may not be there, as Rust shows it."""
    return "None" if gradient is None else f"Some({gradient.to_list()})"


# a tape serves once: y = (x + w) * (w + 1) = w^2 + w x + w + x; w = 1, x = 2
w, x = leaf(1.0), leaf(2.0)
a, b = w + x, w + 1.0
y = a * b
grads = y.backward()
print(v(w.grad(grads)), v(x.grad(grads)), v(a.grad(grads)))
try:
    y.backward()
except burn.Panic:
    print("y.backward() again: panicked")

# weights of several outputs: a backward starts from ones, so they are written as a product
loss = Tensor.cat([(w + x) * (w + 1.0), (w + x) + (w + 1.0)], 0)
print(v(w.grad(loss.backward())))
loss = Tensor.cat([(w + x) * (w + 1.0), (w + x) + (w + 1.0)], 0)
weights = Tensor.from_floats([2.0, 1.0], ad)
print(v(w.grad((loss * weights).sum().backward())))

# an inner product: the gradients of x and y are z, that of z is t; t is no leaf and has none
x, y, z = (Tensor.random([1], Distribution.Normal(0.0, 1.0), ad).require_grad() for _ in range(3))
t = x + y
grads = t.dot(z).backward()
print(x.grad(grads).to_list() == y.grad(grads).to_list() == z.to_list(), z.grad(grads).to_list() == t.to_list())
print(v(t.grad(grads)))

# first order only
x = leaf(3.0)
gradient = x.grad(x.powf_scalar(2.0).backward())
print(v(gradient), gradient.is_autodiff())
try:
    gradient.backward()
except burn.Panic as panic:
    print(panic)

# gradients do not add up
w, x = leaf(1.0), leaf(3.0)
for _ in range(4):
    print(v(w.grad(((w + x) * (w + 1.0)).backward())))

# what depends on a tracked tensor is tracked
print((w + x).is_tracked(), (w + 1.0).is_tracked(), ((w + x) * (w + 1.0)).is_tracked())
