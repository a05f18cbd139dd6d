"""Every op of PyTorch's own table (`op_db`) that numgrad has, on PyTorch's own samples: values and gradients.

An op is run as soon as numgrad has a function (or method) of its name. What is left out is listed with its reason.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of ops needs it")

import op_db  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db as TABLE  # noqa: E402

RANDOM = "random numbers: PyTorch's bit streams are not promised"
UNDEFINED = "undefined items"
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(("rand_like", "randn", "randn_like", "randint", "randint_like", "multinomial", "bernoulli"), RANDOM),
    **dict.fromkeys(("normal", "uniform", "exponential", "geometric", "cauchy", "log_normal"), RANDOM),
    **dict.fromkeys(("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d"), RANDOM),
    "nn.functional.rrelu": RANDOM,
    **dict.fromkeys(("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout"), RANDOM),
    **dict.fromkeys(("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"), UNDEFINED),
}
"""Ops that are not run at all."""

KINK = "docs/differences.md: second derivatives of norms at 0"
NULL_SPACE = "vectors of the null space are any orthonormal ones"
HERMITIAN = "docs/differences.md: the gradient of cholesky is Hermitian"
TRIANGLE = "docs/differences.md: the gradient by the triangle that is not read is 0"
KNOWN: dict[str, list[tuple[str, str]]] = {
    "as_strided_scatter": [("gradient of input 0", "docs/differences.md: PyTorch's is that of what was replaced")],
    "linalg.cholesky": [(r"gradient of input 0 .*\(ACTUAL\).*j\) \(DESIRED", HERMITIAN)],
    "logcumsumexp": [(r"forward Mismatched .*j\) \(DESIRED", "docs/differences.md: the imaginary part is the principal one")],
    "linalg.svd": [("full_matrices=True.*forward Mismatched", NULL_SPACE)],
    "svd": [("some=False.*forward Mismatched", NULL_SPACE)],
    "cholesky_inverse": [("gradient of input 0 .*0.0 .ACTUAL", TRIANGLE)],
    "cholesky_solve": [("gradient of input 1 .*0.0 .ACTUAL", TRIANGLE)],
    "nn.functional.multi_head_attention_forward": [(r"False, 0\.5, .*training=True", RANDOM)],
    "nn.functional.scaled_dot_product_attention": [("dropout_p=0.5", RANDOM)],
    "native_group_norm": [("requires_grad False, expected True", "docs/differences.md: statistics have no gradient")],
    "native_layer_norm": [("Expected a proper Tensor but got None", "PyTorch's second gradient without a weight fails")],
    "linalg.norm.subgradients_at_zero": [("second gradient .*nan location", KINK)],
}
"""What is known to differ: a pattern of the failure, and the reason."""

RANK = "tensors of more than 64 dimensions"
NUMBERS = "numbers alone give a 0-d tensor"
UNSHARED = "converted samples share no memory: see out= in test_oracle_views.py"
KNOWN_ERRORS: dict[str, list[tuple[str, str]]] = {
    **{key: [("up to 64 dims", RANK)] for key in ("amax", "amin")},
    "aminmax": [("up to 64 dims", RANK)],
    **{key: [("accepted, expected .*(unsupported operation|single memory location)", UNSHARED)]
       for key in ("cat", "gather", "index_select", "kthvalue", "masked_select", "take")},
    "complex": [("Expected object of scalar type", "the text is that of other functions")],
    **{key: [("argument 'indices'", "the text is that of tensor_split")] for key in ("hsplit", "vsplit")},
    "narrow_copy": [("length must be non-negative|Dimension out of range", "the text is that of narrow")],
    "narrow": [("start must be an 0-dim", "narrow takes numbers only, so far")],
    **{key: [("", "methods without a tensor")] for key in ("__radd__", "__rand__", "__rmod__", "__rmul__", "__ror__", "__rxor__")},
    **{key: [("accepted", NUMBERS)] for key in ("bitwise_and", "bitwise_or", "bitwise_xor", "remainder")},
    **{key: [("accepted", NUMBERS)] for key in ("bitwise_left_shift", "bitwise_right_shift")},
}


def unexpected(failures: list[str], known: list[tuple[str, str]]) -> list[str]:
    return [line for line in failures if not any(re.search(pattern, line) for pattern, _ in known)]


ENTRIES = {op_db.full_name(op): op for op in TABLE if op_db.numgrad_function(op) is not None}
TESTED = sorted(name for name, op in ENTRIES.items() if op.name not in LEFT_OUT)


def samples(op: Any, dtype: Any) -> list[Any]:
    torch.manual_seed(0)
    differentiable = (dtype.is_floating_point or dtype.is_complex) and op.supports_autograd
    return list(op.sample_inputs("cpu", dtype, requires_grad=differentiable))


def run(name: str, dtype: Any) -> list[str]:
    """What goes wrong in the samples of an op, a line each."""
    op = ENTRIES[name]
    function = op_db.numgrad_function(op)
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(samples(op, dtype)):
            try:
                op_db.check_sample(function, op, sample)
            except Exception as error:
                text = re.sub(r"\s+", " ", str(error))[:300]
                failures.append(f"{name} {number} {_brief(sample)}: {type(error).__name__}: {text}")
    return failures


def _brief(sample: Any) -> str:
    def shown(x: Any) -> str:
        if isinstance(x, torch.Tensor):
            return f"T{list(x.shape)}"
        if isinstance(x, (tuple, list)):
            return f"({', '.join(map(shown, x))})"
        return repr(x)

    parts = [shown(sample.input), *map(shown, sample.args), *(f"{k}={shown(v)}" for k, v in sample.kwargs.items())]
    return f"f({', '.join(parts)})"[:200]


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64], ids=str)
@pytest.mark.parametrize("name", TESTED)
def test_samples(name, dtype):
    if dtype not in ENTRIES[name].supported_dtypes("cpu"):
        return
    failures = unexpected(run(name, dtype), KNOWN.get(name, []))
    assert not failures, "\n".join(failures)


MOVED = """__getitem__ argwhere as_strided as_strided.partial_views diag diag_embed diagonal flip gather index_add index_copy
index_fill index_put index_select masked_fill masked_scatter masked_select nonzero put repeat repeat_interleave roll scatter
scatter_add select split_with_sizes take take_along_dim tril unfold unbind where"""
OTHER_DTYPES = {
    torch.complex128: MOVED + """ addbmm addcdiv addcmul allclose cov corrcoef cumprod cumsum cumulative_trapezoid einsum
float_power isclose isfinite isinf isnan ldexp lerp linalg.cholesky linalg.pinv.hermitian linalg.vander linalg.vecdot linspace
logaddexp logcumsumexp logdet logical_and logical_not logical_or logical_xor logspace nn.functional.rms_norm sinc square
trace""",
    torch.bfloat16: MOVED,
    torch.uint8: "full_like nn.functional.bilinear sum_to_size take_along_dim tensordot unravel_index",
    torch.bool: "addr cat sum_to_size where",
}
"""What is run in further dtypes: the ops that move items, and those with complex forms or integer rules of their own.

All samples of all ops take too long for every run. In half precision those that round differ by what PyTorch rounds in
between; ops that sort name other ones of equal items.
"""


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for dtype, names in OTHER_DTYPES.items() for name in names.split()], ids=str
)
def test_samples_in_other_dtypes(name, dtype):
    assert dtype in ENTRIES[name].supported_dtypes("cpu")
    failures = unexpected(run(name, dtype), KNOWN.get(name, []))
    assert not failures, "\n".join(failures)


# ---------------------------------------------------------------------------------------------------- errors
def convertible(sample: Any) -> Any:
    """A sample's arguments in numgrad; None where it has no such dtype."""
    try:
        return op_db.converted((sample.input, *sample.args)), op_db.converted(sample.kwargs)
    except (TypeError, RuntimeError):  # the meta device is a RuntimeError of PyTorch's
        return None


def refused_by_torch(op: Any, sample: Any) -> bool:
    try:
        op.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return True
    return False


def errors_of(name: str) -> list[str]:
    """What goes wrong in the calls of an op that PyTorch refuses, a line each."""
    op = ENTRIES[name]
    function = op_db.numgrad_function(op)
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrongs = list(op.error_inputs("cpu"))
        converted = [convertible(wrong.sample_input) for wrong in wrongs]  # before PyTorch resizes an `out`
        for number, (wrong, arguments) in enumerate(zip(wrongs, converted, strict=True)):
            sample = wrong.sample_input
            line = f"{name} {number} {_brief(sample)}"
            if arguments is None or not refused_by_torch(op, sample):
                continue  # a dtype that numgrad has not yet; the table says more than PyTorch keeps
            try:
                function(*arguments[0], **arguments[1])
            except wrong.error_type as error:
                if not re.search(wrong.error_regex, str(error)):
                    failures.append(f"{line}: {str(error)[:200]!r}, expected {wrong.error_regex[:200]!r}")
            except Exception as error:
                failures.append(f"{line}: {type(error).__name__} {str(error)[:150]!r}, expected "
                                f"{wrong.error_type.__name__} {wrong.error_regex[:150]!r}")  # fmt: skip
            else:
                failures.append(f"{line}: accepted, expected {wrong.error_type.__name__} {wrong.error_regex[:200]!r}")
    return failures


@pytest.mark.parametrize("name", [name for name in TESTED if ENTRIES[name].error_inputs_func is not None])
def test_errors(name):
    failures = unexpected(errors_of(name), KNOWN_ERRORS.get(name, []))
    assert not failures, "\n".join(failures)
