"""The examples under PyTorch, with only the import replaced: the same weights, noise, masks and batches give the same losses."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import numgrad

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # PyTorch's own use

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
STEPS = 20


@pytest.fixture(autouse=True)
def in_float64() -> Iterator[None]:
    for library in (numgrad, torch):
        library.set_default_dtype(library.float64)
    yield
    for library in (numgrad, torch):
        library.set_default_dtype(library.float32)


def load(name: str, library: ModuleType) -> ModuleType:
    """An example as a module, which imports the given library."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    if library is torch:
        source = source.replace("import numgrad as torch", "import torch").replace("from numgrad", "from torch")
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def models(ours: ModuleType, theirs: ModuleType, *sizes: int) -> tuple[object, object]:
    """A model of each, with equal weights and buffers."""
    theirs.torch.manual_seed(0)
    model, reference = ours.make_model(*sizes), theirs.make_model(*sizes)
    state = {name: numgrad.from_numpy(value.numpy().copy()) for name, value in reference.state_dict().items()}
    model.load_state_dict(state)
    return model, reference


def digits_conv(example: ModuleType, model: object) -> list[float]:
    rng = np.random.default_rng(0)
    images, labels, *_ = example.load_split(rng)
    return example.train(model, islice(example.batches(rng, images, labels), STEPS), 100)


def char_gpt(example: ModuleType, model: object) -> list[float]:
    return example.train(model, example.batches(np.random.default_rng(0), STEPS, 8, 16), STEPS)


def lstm(example: ModuleType, model: object) -> list[float]:
    return example.train(model, example.batches(np.random.default_rng(0), STEPS, 4, 30), STEPS)


def vae(example: ModuleType, model: object) -> list[float]:
    rng = np.random.default_rng(0)
    return example.train(model, islice(example.batches(rng, example.load_images(), 1, 4), STEPS))


def lorenz(example: ModuleType, model: object) -> list[float]:
    return example.train(model, example.measure(np.random.default_rng(0), pieces=8), STEPS)


SIZES = {digits_conv: (), char_gpt: (2, 2, 32, 16), lstm: (16,), vae: (32, 4), lorenz: ()}


@pytest.mark.parametrize("example", SIZES, ids=lambda example: example.__name__)
def test_the_first_losses_agree(example):
    ours, theirs = load(example.__name__, numgrad), load(example.__name__, torch)
    model, reference = models(ours, theirs, *SIZES[example])
    found, expected = example(ours, model), example(theirs, reference)
    assert len(found) == STEPS
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_curve_fit_takes_the_same_steps():
    found, expected = [], []
    result = load("fit_curve", numgrad).fit(record=found.append)
    reference = load("fit_curve", torch).fit(record=expected.append)
    np.testing.assert_allclose(found[:STEPS], expected[:STEPS], rtol=1e-6)
    for ours, theirs in zip(result, reference, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
