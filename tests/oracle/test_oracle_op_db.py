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
NOT_WHOLE: dict[str, str] = {
    **dict.fromkeys(("rand_like", "randn", "randn_like", "randint", "randint_like", "multinomial", "bernoulli"), RANDOM),
    **dict.fromkeys(("normal", "uniform", "exponential"), RANDOM),
    **dict.fromkeys(("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d"), RANDOM),
    **dict.fromkeys(("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"), UNDEFINED),
}


def full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


ENTRIES = {full_name(op): op for op in TABLE if op_db.numgrad_function(op.name) is not None}
TESTED = sorted(name for name, op in ENTRIES.items() if op.name not in NOT_WHOLE)


def samples(op: Any, dtype: Any) -> list[Any]:
    torch.manual_seed(0)
    differentiable = dtype.is_floating_point and op.supports_autograd
    return list(op.sample_inputs("cpu", dtype, requires_grad=differentiable))


def run(name: str, dtype: Any) -> list[str]:
    """What goes wrong in the samples of an op, a line each."""
    op = ENTRIES[name]
    function = op_db.numgrad_function(op.name)
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
    failures = run(name, dtype)
    assert not failures, "\n".join(failures)
