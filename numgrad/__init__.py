"""numgrad: PyTorch's autograd in readable Python, with kernels that Numba compiles.

PyTorch's surface is the specification, so `import numgrad as torch` runs scripts written for it.

    >>> import numgrad as ng
    >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
"""

# ruff: noqa: I001  (submodules first: a public name such as `dtype` hides the module of that name from `from . import`)
from . import dtype as _dtypes
from . import autograd, cuda, nn, ops, optim, random, testing, utils
from .autograd import (
    custom_vjp,
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_anomaly_enabled,
    set_grad_enabled,
)
from .elementwise import elementwise
from .creation import arange, empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from .interop import as_tensor, from_numpy, tensor
from .limits import finfo, iinfo
from .ops import *  # noqa: F403  (the op table decides what there is)
from . import func
from .func import vmap
from .printing import set_printoptions
from .scipy_bridge import value_and_grad
from .random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .size import Size
from .tensor import Tensor
from .kernels.scalar_ir import DifferentiationError
from .kernels.threads import get_num_threads, set_num_threads
from .kernels.user_ops import register_derivative
from .device import device
from .dtype import (
    bfloat16,
    can_cast,
    cdouble,
    cfloat,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)

# PyTorch's names that Python's own names would shadow inside this package's modules.
float = _dtypes.float32
double = _dtypes.float64
short = _dtypes.int16
int = _dtypes.int32
long = _dtypes.int64
bool = _dtypes.bool_

__version__ = "0.1.0"
