"""Which tensors require gradients, which are leaves, and what PyTorch says when either is asked for too late.

The code is PyTorch's but for the first import; so is every line of the output.
"""

import numgrad as torch

a = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0], requires_grad=True)
aa = a * a
aw = a * w


def flags(name, t):
    """Print what the graph knows about a tensor."""
    print(
        f"{name:10} requires_grad={t.requires_grad!s:5} is_leaf={t.is_leaf!s:5} "
        f"grad_fn={type(t.grad_fn).__name__ if t.grad_fn else None}"
    )


def attempt(name, action):
    """Print whether the action succeeds, or how it fails."""
    try:
        action()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
    else:
        print(f"{name}: ok")


flags("a", a)
flags("w", w)
flags("a*a", aa)
flags("a*w", aw)

attempt("int requires_grad", lambda: torch.tensor([1, 2], requires_grad=True))
attempt("backward on constant", lambda: (a * 2).sum().backward())
attempt("requires_grad_(True) on a*w", lambda: aw.requires_grad_(True))
attempt("requires_grad_(False) on a*w", lambda: aw.requires_grad_(False))
attempt("requires_grad_() on a*a", lambda: flags("a*a after", aa.requires_grad_()))

# Asking for a gradient does not reach back: x was a constant when it was used.
x = torch.tensor([1.0, 2.0])
used = x * w
x.requires_grad_()
used.sum().backward()
print("late x.grad =", x.grad, "| w.grad =", w.grad)

fc = torch.nn.Linear(2, 2)
flags("fc.weight", fc.weight)
