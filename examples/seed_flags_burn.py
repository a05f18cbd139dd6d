"""Which tensors take part in autodiff, which are tracked and which keep gradients: `seed_flags.py` through Burn's door.

The lines are those of the Rust program, but for the headers of its panics; and what its compiler refuses, a mark on
integers, is an AttributeError here.
"""

from numgrad import Device, burn
from numgrad.burn import LinearConfig, Tensor

ad = Device.flex().autodiff()
plain = Device.flex()
a = Tensor.from_floats([1.0, 2.0], ad)
w = Tensor.from_floats([3.0, 4.0], ad).require_grad()
aa = a.clone() * a.clone()
aw = a.clone() * w.clone()


def flags(name, t):
    """Print what autodiff knows about a tensor."""
    is_autodiff, is_tracked, is_require_grad = (
        str(flag).lower() for flag in (t.is_autodiff(), t.is_tracked(), t.is_require_grad())
    )
    print(f"{name:10} is_autodiff={is_autodiff:5} is_tracked={is_tracked:5} is_require_grad={is_require_grad}")


def attempt(name, action):
    """Print whether the action succeeds, or with what text it panics."""
    try:
        action()
    except burn.Panic as panic:
        print(panic)
        print(f"{name}: panicked")
    else:
        print(f"{name}: ok")


def v(gradient):
    """A gradient that may not be there, as Rust shows it."""
    return "None" if gradient is None else f"Some({gradient.to_list()})"


flags("a", a)
flags("w", w)
flags("a*a", aa)
flags("a*w", aw)

attempt("require_grad on Device::flex()", lambda: Tensor.from_floats([1.0, 2.0], plain).require_grad())
attempt("backward on constant", lambda: (a.clone() * 2.0).sum().backward())
attempt("require_grad on a*w", lambda: aw.clone().require_grad())
attempt("set_require_grad(false) on a*w", lambda: flags("a*w off", aw.clone().set_require_grad(False)))
attempt("require_grad on a*a", lambda: flags("a*a after", aa.clone().require_grad()))

try:
    burn.IntTensor.from_ints([1, 2], ad).require_grad()
except AttributeError as error:
    print(f"{type(error).__name__}: {error}")

# Asking for a gradient does not reach back: x was a constant when it was used.
x = Tensor.from_floats([1.0, 2.0], ad)
used = x.clone() * w.clone()
x = x.require_grad()
grads = used.sum().backward()
print(f"late x.grad = {v(x.grad(grads))} | w.grad = {v(w.grad(grads))}")

lifted = Tensor.from_floats([1.0, 2.0], plain).autodiff().require_grad()
flags("lifted", lifted)

fc = LinearConfig(2, 2).init(ad)
flags("fc.weight", fc.weight.val())
fc_plain = LinearConfig(2, 2).init(plain)
flags("plain fc.w", fc_plain.weight.val())
