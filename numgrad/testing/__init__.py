"""For tests: `assert_close`, random tensors, and gradients against finite differences.

>>> import numgrad as ng
>>> from numgrad.testing import assert_close, gradcheck
>>> x = ng.tensor([1.0, 2.0], dtype=ng.float64, requires_grad=True)
>>> gradcheck(ng.exp, x)
True
>>> assert_close(x.exp().log(), x)
"""

from ..autograd import GradcheckError, gradcheck, gradgradcheck
from .comparing import assert_close
from .making import make_tensor

__all__ = ["GradcheckError", "assert_close", "gradcheck", "gradgradcheck", "make_tensor"]
