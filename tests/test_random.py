"""Generators, and the distributions of what is drawn from them.

Statistical tests have fixed seeds, so that each passes always or never: a right distribution gives a p-value below 1e-6 for
one seed in a million. Expected distributions are SciPy's.
"""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.kernels import draws

COUNT = 50_000
RARE = 1e-6

DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda where, g: ng.rand(4, 5, device=where, generator=g),
    "randn": lambda where, g: ng.randn(4, 5, dtype=ng.float64, device=where, generator=g),
    "randint": lambda where, g: ng.randint(-3, 9, (7,), device=where, generator=g),
    "randperm": lambda where, g: ng.randperm(9, device=where, generator=g),
    "normal": lambda where, g: ng.normal(ng.arange(4.0, device=where), ng.ones(4, device=where), generator=g),
    "bernoulli": lambda where, g: ng.bernoulli(ng.full((9,), 0.5, device=where), generator=g),
    "multinomial": lambda where, g: ng.multinomial(ng.ones(5, device=where), 3, generator=g),
    "choices": lambda where, g: ng.multinomial(ng.ones(2, 5, device=where), 8, True, generator=g),
    "poisson": lambda where, g: ng.poisson(ng.full((6,), 40.0, device=where), generator=g),
    "uniform_": lambda where, g: ng.zeros(6, device=where).uniform_(2, 3, generator=g),
    "exponential_": lambda where, g: ng.zeros(6, device=where).exponential_(generator=g),
    "geometric_": lambda where, g: ng.zeros(6, device=where).geometric_(0.2, generator=g),
    "cauchy_": lambda where, g: ng.zeros(6, device=where).cauchy_(generator=g),
    "log_normal_": lambda where, g: ng.zeros(6, device=where).log_normal_(generator=g),
    "random_": lambda where, g: ng.zeros(6, dtype=ng.int32, device=where).random_(generator=g),
    "bernoulli_": lambda where, g: ng.zeros(6, device=where).bernoulli_(ng.full((6,), 0.5, device=where), generator=g),
}


def generator(seed: int = 11, device: str = "cpu") -> Any:
    return ng.Generator(device).manual_seed(seed)


# ---------------------------------------------------------------------------------------------------- streams
@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_again(name):
    draw = DRAWS[name]
    first, again, other = draw("cpu", generator()), draw("cpu", generator()), draw("cpu", generator(12))
    assert first.tolist() == again.tolist()
    if name != "randperm" and first.numel() > 5:
        assert first.tolist() != other.tolist()


@pytest.mark.parametrize("name", DRAWS)
def test_draws_go_on_where_the_last_one_ended(name):
    g = generator()
    first, second = DRAWS[name]("cpu", g), DRAWS[name]("cpu", g)
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("name", DRAWS)
def test_both_devices_give_the_same_numbers(name):
    expected = DRAWS[name]("cpu", generator())
    ng.manual_seed(11)
    with installed(SimulatedRuntime()):
        by_default = DRAWS[name]("cuda", None)
        own = DRAWS[name]("cuda", generator(device="cuda"))
        assert own.device == ng.device("cuda:0")
        for found in (by_default, own):
            # Arithmetic after the draw is rounded otherwise there.
            ng.testing.assert_close(found.cpu(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [ng.float32, ng.float64], ids=str)
@pytest.mark.parametrize("kind", ["rand", "randn"])
def test_any_number_of_threads_gives_the_same_numbers(kind, dtype):
    count = ng.get_num_threads()
    shape = (700_001,)
    try:
        found = []
        for threads in (1, 2, 3):
            ng.set_num_threads(threads)
            found.append(getattr(ng, kind)(shape, dtype=dtype, generator=generator()).numpy())
    finally:
        ng.set_num_threads(count)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_threads_that_share_a_generator_draw_disjoint_parts():
    g = generator()
    found: list[list[float]] = []
    workers = [threading.Thread(target=lambda: found.append(ng.rand(100, generator=g).tolist())) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    parts = {tuple(part) for part in found}
    assert parts == {tuple(part) for part in ng.rand(8, 100, generator=generator()).tolist()}


def test_states_of_generators():
    g = generator()
    ng.rand(5, generator=g)
    state = g.get_state()
    assert (state.dtype, tuple(state.shape)) == (ng.uint8, (16,))
    expected = ng.randn(3, generator=g).tolist()
    for other in (ng.Generator().set_state(state), pickle.loads(pickle.dumps(ng.Generator().set_state(state)))):
        assert ng.randn(3, generator=other).tolist() == expected
    assert ng.randn(3, generator=copy.deepcopy(ng.Generator().set_state(state))).tolist() == expected
    with pytest.raises(RuntimeError, match="of size 16 but found the input RNG state size to be 5"):
        g.set_state(ng.zeros(5, dtype=ng.uint8))


def test_fork_rng_puts_the_default_generator_back_after_an_error():
    ng.manual_seed(3)
    expected = ng.rand(4).tolist()
    ng.manual_seed(3)
    with pytest.raises(ZeroDivisionError), ng.random.fork_rng():
        ng.manual_seed(99)
        raise ZeroDivisionError
    assert ng.initial_seed() == 3
    assert ng.rand(4).tolist() == expected


def test_seeding_from_the_system_differs_each_time():
    assert len({ng.Generator().seed() for _ in range(20)}) == 20


def test_a_generator_of_another_device_is_refused():
    with installed(SimulatedRuntime()):
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
            ng.rand(2, device="cuda", generator=generator())
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
            ng.rand(2, generator=generator(device="cuda"))


# ---------------------------------------------------------------------------------------------------- distributions
CONTINUOUS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "uniform_(-2, 5)": (lambda x: x.uniform_(-2, 5, generator=generator()), stats.uniform(-2, 7)),
    "normal_(3, 2)": (lambda x: x.normal_(3, 2, generator=generator()), stats.norm(3, 2)),
    "log_normal_(0.5, 0.7)": (
        lambda x: x.log_normal_(0.5, 0.7, generator=generator()),
        stats.lognorm(0.7, scale=np.exp(0.5)),
    ),
    "exponential_(3)": (lambda x: x.exponential_(3, generator=generator()), stats.expon(scale=1 / 3)),
    "cauchy_(1, 2)": (lambda x: x.cauchy_(1, 2, generator=generator()), stats.cauchy(1, 2)),
    "normal(tensor, 2)": (lambda x: ng.normal(x + 1, 2.0, generator=generator()), stats.norm(1, 2)),
    "normal(1, tensor)": (lambda x: ng.normal(1.0, x + 3, generator=generator()), stats.norm(1, 3)),
    "normal(tensor, tensor)": (lambda x: ng.normal(x - 1, x + 3, generator=generator()), stats.norm(-1, 3)),
}


@pytest.mark.parametrize("dtype", [ng.float32, ng.float64], ids=str)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name, dtype):
    draw, expected = CONTINUOUS[name]
    sample = draw(ng.zeros(COUNT, dtype=dtype))
    assert sample.dtype is dtype
    assert stats.kstest(sample.numpy().astype(np.float64), expected.cdf).pvalue > RARE


DISCRETE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "geometric_(0.3)": (lambda x: x.geometric_(0.3, generator=generator()), stats.geom(0.3)),
    "random_(-2, 5)": (lambda x: x.random_(-2, 5, generator=generator()), stats.randint(-2, 5)),
    "bernoulli_(0.3)": (lambda x: x.bernoulli_(0.3, generator=generator()), stats.bernoulli(0.3)),
    "bernoulli_(tensor)": (
        lambda x: x.bernoulli_(ng.full((COUNT,), 0.7), generator=generator()),
        stats.bernoulli(0.7),
    ),
    "poisson small": (lambda x: ng.poisson(x.float() + 2.5, generator=generator()), stats.poisson(2.5)),
    "poisson large": (lambda x: ng.poisson(x.float() + 60, generator=generator()), stats.poisson(60)),
    "randint": (lambda x: ng.randint_like(x, -3, 6, generator=generator()), stats.randint(-3, 6)),
    "multinomial": (
        lambda x: ng.multinomial(ng.tensor([2.0, 0.0, 3.0, 5.0]), COUNT, True, generator=generator()),
        stats.rv_discrete(values=(range(4), (0.2, 0.0, 0.3, 0.5))),
    ),
    "multinomial, one of a row": (
        lambda x: ng.multinomial(ng.tensor([[2.0, 0.0, 3.0, 5.0]]).expand(COUNT, 4), 1, generator=generator()),
        stats.rv_discrete(values=(range(4), (0.2, 0.0, 0.3, 0.5))),
    ),
}


@pytest.mark.parametrize("dtype", [ng.float32, ng.int64], ids=str)
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name, dtype):
    draw, expected = DISCRETE[name]
    values, counts = np.unique(draw(ng.zeros(COUNT, dtype=dtype)).numpy().astype(np.int64), return_counts=True)
    wanted = expected.pmf(values) * COUNT
    assert wanted.min() > 0
    common = wanted >= 5  # rarer values are counted together, as the chi-square distribution asks for
    found = np.append(counts[common], counts[~common].sum())
    wanted = np.append(wanted[common], COUNT - wanted[common].sum())
    if wanted[-1] < 1e-6:
        assert found[-1] == 0
        found, wanted = found[:-1], wanted[:-1] * COUNT / wanted[:-1].sum()
    assert stats.chisquare(found, wanted).pvalue > RARE


def test_bernoulli_follows_the_probability_of_each_item():
    p = ng.tensor([0.0, 0.1, 0.5, 0.9, 1.0])
    counts = ng.bernoulli(p.expand(COUNT, 5), generator=generator()).sum(0).tolist()
    assert (counts[0], counts[4]) == (0, COUNT)
    for count, probability in zip(counts[1:4], p.tolist()[1:4], strict=True):
        assert stats.binomtest(int(count), COUNT, probability).pvalue > RARE


def test_permutations_are_equally_frequent():
    g = generator()
    found = [tuple(ng.randperm(4, generator=g).tolist()) for _ in range(6000)]
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > RARE


def test_samples_without_replacement_have_the_probabilities_of_one_after_the_other():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    found = ng.multinomial(ng.tensor(weights).expand(COUNT, 4), 2, generator=generator()).numpy()
    assert (found[:, 0] != found[:, 1]).all()
    p = weights / weights.sum()
    expected = np.array([[0.0 if i == j else p[i] * p[j] / (1 - p[i]) for j in range(4)] for i in range(4)])
    counts = np.zeros((4, 4))
    np.add.at(counts, (found[:, 0], found[:, 1]), 1)
    apart = ~np.eye(4, dtype=bool)
    assert stats.chisquare(counts[apart], expected[apart] * COUNT).pvalue > RARE


def test_uniform_reaches_neither_bound_in_any_dtype():
    for dtype in ("float16", "float32", "float64", "bfloat16"):
        if dtype == "bfloat16":
            ml_dtypes = pytest.importorskip("ml_dtypes")
            numpy_dtype = np.dtype(ml_dtypes.bfloat16)
        else:
            numpy_dtype = np.dtype(dtype)
        found = draws.items("uniform", numpy_dtype, COUNT, 11, 0).astype(np.float64)
        assert 0 <= found.min() < found.max() < 1
        assert abs(found.mean() - 0.5) < 5 * np.sqrt(1 / 12 / COUNT) + 2.0**-9  # the step of bfloat16, halved


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_normals_have_variance_one(dtype):
    found = draws.items("normal", np.dtype(dtype), COUNT, 11, 0)
    assert found.dtype == dtype
    for part in (found.real, found.imag):
        assert stats.kstest(part.astype(np.float64), stats.norm(0, np.sqrt(0.5)).cdf).pvalue > RARE
    assert abs(np.corrcoef(found.real, found.imag)[0, 1]) < 5 / np.sqrt(COUNT)


def test_exponentials_are_positive_and_geometrics_at_least_one():
    assert float(ng.zeros(COUNT).exponential_(generator=generator()).min()) > 0
    assert float(ng.zeros(COUNT).geometric_(0.99, generator=generator()).min()) == 1


def test_in_place_draws_reach_every_layout():
    base = ng.zeros(4, 6)
    base.t()[1:3].uniform_(1, 2, generator=generator())
    inside = base.numpy()[:, 1:3]
    assert ((inside >= 1) & (inside < 2)).all()
    assert len(np.unique(inside)) == 8
    assert base.sum().item() == pytest.approx(inside.sum())


def test_complex_tensors_are_filled_part_by_part():
    """As PyTorch: bounds and mean hold for both parts, and the variance is shared between them."""
    uniform = ng.zeros(COUNT, dtype=ng.complex64).uniform_(1, 2, generator=generator()).numpy()
    normal = ng.zeros(COUNT, dtype=ng.complex128).normal_(5, 2, generator=generator()).numpy()
    for part in ("real", "imag"):
        assert stats.kstest(getattr(uniform, part).astype(np.float64), stats.uniform(1, 1).cdf).pvalue > RARE
        assert stats.kstest(getattr(normal, part), stats.norm(5, np.sqrt(2)).cdf).pvalue > RARE
