"""Every module of PyTorch's own table (`module_db`) that numgrad has, on PyTorch's own samples.

A module is run as soon as numgrad has one of its name. What is known to differ is listed with its reason.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of modules needs it")

import module_db  # noqa: E402
from torch.testing._internal.common_modules import module_db as TABLE  # noqa: E402

import numgrad as ng  # noqa: E402

LIMIT = 20  # samples of a module that are run, spread over all of them

FIRST_ORDER = "PyTorch has no second derivative"
KNOWN: dict[str, list[tuple[str, str]]] = {
    "MultiLabelMarginLoss": [("multilabel_margin_loss_backward is not implemented", FIRST_ORDER)],
    **{f"LPPool{n}d": [("nan location mismatch", "of NaN the gradient of abs is 0 whatever comes in, PyTorch's 0 * NaN")]
       for n in (1, 2, 3)},
    "MultiMarginLoss": [("multi_margin_loss_backward is not implemented", FIRST_ORDER)],
}
"""What is known to differ: a pattern of the failure, and the reason."""

KNOWN_ERRORS: dict[str, list[tuple[str, str]]] = {
}

KNOWN_SIGNATURES: dict[str, str] = {}
"""Classes whose `__init__` or `forward` takes other arguments, with the reason."""

OWN_BASES = ("_AdaptivePoolNd", "_Conv", "_ConvTranspose", "_DividedAvgPoolNd", "_PadNd", "_ZeroPadNd")
"""Private classes of numgrad's that lie beside PyTorch's."""

ENTRIES = {info.module_cls.__name__: info for info in TABLE if module_db.numgrad_class(info.module_cls) is not None}


def failures_of(name: str, check: Callable[[Any], None], samples: list[Any]) -> list[str]:
    """What goes wrong in samples of a module, a line each."""
    step = -(-len(samples) // LIMIT)
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(samples[::step]):
            try:
                check(sample)
            except Exception as error:
                text = re.sub(r"\s+", " ", str(error))[:400]
                failures.append(f"{name} {number * step}: {type(error).__name__}: {text}")
    return failures


def unexpected(failures: list[str], known: list[tuple[str, str]]) -> list[str]:
    return [line for line in failures if not any(re.search(pattern, line) for pattern, _ in known)]


def run(name: str, dtype: Any) -> list[str]:
    info, failures = ENTRIES[name], []
    for training in (True, False) if info.train_and_eval_differ else (True,):
        samples = module_db.samples(info, dtype, training)
        failures += failures_of(
            f"{name} training={training}",
            lambda sample, training=training: module_db.check_sample(info, sample, dtype, training),
            samples,
        )
    return failures


@pytest.mark.parametrize("name", ENTRIES)
def test_samples(name: str) -> None:
    failures = unexpected(run(name, torch.float64), KNOWN.get(name, []))
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", ENTRIES)
def test_float32(name: str) -> None:
    """A few samples in the dtype that nearly everything is trained in."""
    info = ENTRIES[name]
    samples = module_db.samples(info, torch.float32, True)
    some = samples[:: -(-len(samples) // 2)]
    failures = failures_of(name, lambda sample: module_db.check_sample(info, sample, torch.float32, True), some)
    assert not unexpected(failures, KNOWN.get(name, [])), "\n".join(failures)


@pytest.mark.parametrize("name", [name for name, info in ENTRIES.items() if info.module_error_inputs_func])
def test_errors(name: str) -> None:
    info = ENTRIES[name]
    samples = module_db.error_samples(info, torch.float32)
    failures = failures_of(name, lambda sample: module_db.check_error(info, sample), samples)
    assert not unexpected(failures, KNOWN_ERRORS.get(name, [])), "\n".join(failures)


CLASSES = [
    name for name in dir(torch.nn) if isinstance(getattr(torch.nn, name), type) and hasattr(ng.nn, name)
]  # all public ones


def test_classes_are_where_pytorch_keeps_them() -> None:
    for name in CLASSES:
        assert getattr(ng.nn, name).__module__ == getattr(torch.nn, name).__module__.replace("torch", "numgrad"), name
    for path in {getattr(torch.nn, name).__module__ for name in CLASSES} - {"torch.nn.parameter"}:
        mine, theirs = importlib.import_module(path.replace("torch", "numgrad")), importlib.import_module(path)
        unknown = {name for name, value in vars(mine).items() if isinstance(value, type) and not hasattr(theirs, name)}
        assert not unknown - set(OWN_BASES), f"{path} has no {unknown}"


@pytest.mark.parametrize("name", CLASSES)
def test_signatures(name: str) -> None:
    if name in KNOWN_SIGNATURES:
        return
    mine, theirs = getattr(ng.nn, name), getattr(torch.nn, name)
    for method in ("__init__", "forward"):
        if hasattr(theirs, method):
            found, expected = (module_db.signature(getattr(cls, method)) for cls in (mine, theirs))
            assert found == expected, method


def wrong_by(monkeypatch: pytest.MonkeyPatch, method: str, replacement: Any) -> str:
    """What the harness says of a Linear with one method replaced."""
    monkeypatch.setattr(ng.nn.Linear, method, replacement)
    return "\n".join(run("Linear", torch.float64))


def test_the_harness_sees_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ng.nn.Linear.forward
    assert "forward" in wrong_by(monkeypatch, "forward", lambda self, x: right(self, x) * (1 + 1e-5))


def test_the_harness_sees_a_wrong_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ng.nn.Linear.forward
    assert "gradient" in wrong_by(monkeypatch, "forward", lambda self, x: right(self, x.detach() + 1e-4 * (x - x.detach())))


def test_the_harness_sees_another_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "repr" in wrong_by(monkeypatch, "extra_repr", lambda self: "")
