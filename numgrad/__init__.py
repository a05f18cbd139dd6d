"""numgrad: PyTorch's autograd in readable Python, with kernels that Numba compiles.

PyTorch's surface is the specification, so `import numgrad as torch` runs scripts written for it.

    >>> import numgrad as ng
    >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
"""

# ruff: noqa: I001  (submodules first: a public name such as `dtype` hides the module of that name from `from . import`)
from importlib import import_module as _import_module
from . import dtype as _dtypes
from . import autograd, ops, random
from .tensor import Tensor
from .autograd import (
    Gradients,
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
from .creation import (
    empty_permuted,
    empty_strided,
    eye,
    linspace,
    logspace,
    range,
    scalar_tensor,
    tril_indices,
    triu_indices,
)
from .interop import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, tensor
from .limits import finfo, iinfo
from .memory_format import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format
from .ops.inspection import layout, strided
from .ops import *  # noqa: F403  (the op table decides what there is)
from .printing import set_printoptions
from .random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from .size import Size
from .storage import UntypedStorage
from .tensor_types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    set_default_tensor_type,
)
from .kernels.scalar_ir import DifferentiationError
from .kernels.threads import get_num_threads, set_num_threads
from .kernels.user_ops import register_derivative
from .device import Device, device, get_default_device, set_default_device
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

from math import e, inf, nan, pi  # noqa: E402

newaxis = None

__version__ = "0.1.0"

# Imported when first asked for: an import of numgrad stays short.
_LATE = frozenset(
    {
        "accelerator",
        "backends",
        "burn",
        "cuda",
        "func",
        "linalg",
        "mps",
        "nn",
        "optim",
        "profiler",
        "serialization",
        "testing",
        "utils",
        "version",
        "xpu",
    }
)
_LATE_FROM = {
    "compile": "tracing",
    "custom_vjp": "autograd.custom_vjp",
    "graph": "utils.drawing",
    "load": "serialization",
    "save": "serialization",
    "summary": "nn.summary",
    "value_and_grad": "scipy_bridge",
    "vmap": "func",
}


def __getattr__(name: str) -> _dtypes.Any:
    if name in _LATE:
        return _import_module(f"{__name__}.{name}")
    if name in _LATE_FROM:
        return getattr(_import_module(f"{__name__}.{_LATE_FROM[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_LATE_FROM})
