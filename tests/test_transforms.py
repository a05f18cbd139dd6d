"""Transforms clean up after themselves: nothing leaks, threads do not meet, and a function that raises leaves no trace."""

import gc
import threading
import weakref

import numpy as np
import pytest

import numgrad as ng
from numgrad.autograd import forward_ad as fwAD
from numgrad.autograd.grad_mode import mode
from numgrad.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


def f(x):
    return (x.sin() * x).sum()


TRANSFORMS = {
    "grad": lambda x: grad(f)(x),
    "vjp": lambda x: vjp(f, x)[1](ng.ones(())),
    "jvp": lambda x: jvp(f, (x,), (x,)),
    "jacrev": lambda x: jacrev(lambda t: t.sin())(x),
    "jacfwd": lambda x: jacfwd(lambda t: t.sin())(x),
    "hessian": lambda x: hessian(f)(x),
    "vmap": lambda x: vmap(lambda t: t * 2)(x),
    "vmap of grad": lambda x: vmap(grad(f))(x.view(2, 2)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_result_and_its_graph_free_themselves(name):
    """By reference counts alone: the collector is off."""
    gc.collect()
    gc.disable()
    try:
        x = ng.tensor([1.0, 2.0, 3.0, 4.0])
        seen = []

        def noted(t):
            seen.append(weakref.ref(t))
            return f(t)

        grad(noted)(x)
        assert seen[0]() is None
        result = TRANSFORMS[name](x)
        reference = weakref.ref(x)
        del x, result
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("transform", [grad, vmap, jacrev, jacfwd, lambda f: lambda x: jvp(f, (x,), (x,))])
def test_an_error_inside_leaves_no_trace(transform):
    def fails(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        transform(fails)(ng.ones(2))
    assert mode.levels == ()
    assert mode.transforms == 0
    x = ng.ones(2, requires_grad=True)
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_levels_are_a_threads_own():
    found = []

    def other():
        found.append(grad(lambda x: x**2)(ng.tensor(3.0)).item())
        with fwAD.dual_level():
            found.append(fwAD.unpack_dual(fwAD.make_dual(ng.tensor(2.0), ng.tensor(1.0)) ** 2).tangent.item())

    def inside(x):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x * 2

    with fwAD.dual_level():
        assert vmap(inside)(ng.ones(2)).tolist() == [2.0, 2.0]
    assert found == [6.0, 4.0]


def test_many_threads_transform_at_once():
    x = ng.tensor(np.linspace(0.1, 1.0, 6))
    expected = hessian(f)(x).tolist()
    found = []
    threads = [threading.Thread(target=lambda: found.append(hessian(f)(x).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_derivatives_do_not_mix():
    """Perturbation confusion: d/dx (x * d/dy (x + y)) is 1, not 2, whatever the modes."""

    def forward(f, x):
        return jvp(f, (x,), (ng.tensor(1.0),))[1]

    def backward(f, x):
        return grad(f)(x)

    for outer in (forward, backward):
        for inner in (forward, backward):
            found = outer(lambda x, inner=inner: x * inner(lambda y: x + y, ng.tensor(1.0)), ng.tensor(3.0))
            assert found.item() == 1.0


def test_fifth_derivatives_in_every_order_of_modes():
    """Of sin: cos."""

    def forward(f):
        return lambda x: jvp(f, (x,), (ng.ones((), dtype=ng.float64),))[1]

    x = ng.tensor(0.7, dtype=ng.float64)
    for bits in range(32):
        f = ng.sin
        for i in range(5):
            f = forward(f) if bits >> i & 1 else grad(f)
        np.testing.assert_allclose(f(x).item(), np.cos(0.7), rtol=1e-12)


def test_what_is_not_tracked_stays_untracked():
    x = ng.tensor([1.0, 2.0])
    for name, transform in TRANSFORMS.items():
        results = transform(ng.ones(4) if name == "vmap of grad" else x)
        for result in results if isinstance(results, tuple) else (results,):
            assert not result.requires_grad, name


def test_batched_tensors_that_leave_their_vmap_are_refused():
    kept = []
    vmap(lambda x: (kept.append(x), x)[1])(ng.ones(2, 3))
    with pytest.raises(RuntimeError):  # they have no memory to read, by whichever way it is asked for
        kept[0].tolist()
    with pytest.raises(RuntimeError):
        kept[0] * 2


def test_views_of_batches_stay_within_their_memory():
    x = ng.arange(6.0).view(2, 3)
    assert vmap(lambda t: t.as_strided((2,), (2,), 0))(x).tolist() == [[0.0, 2.0], [3.0, 5.0]]
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        vmap(lambda t: t.as_strided((3,), (2,), 0))(x)
