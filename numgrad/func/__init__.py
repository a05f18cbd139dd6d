"""Transforms of functions, which nest in any order: derivatives of derivatives, batches of derivatives, and so on.

>>> import numgrad as ng
>>> from numgrad.func import grad, jacfwd, jacrev, vmap
>>> f = lambda x: (x**3).sum()
>>> grad(f)(ng.tensor([1.0, 2.0]))
tensor([ 3., 12.])
>>> jacfwd(grad(f))(ng.tensor([1.0, 2.0]))
tensor([[ 6.,  0.],
        [ 0., 12.]])
>>> vmap(grad(f))(ng.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[ 3., 12.],
        [27., 48.]])
"""

from .derivatives import grad, grad_and_value, jvp, linearize, vjp
from .jacobians import hessian, jacfwd, jacrev
from .mapping import functionalize, vmap
from .modules import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
