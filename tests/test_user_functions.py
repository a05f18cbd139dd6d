"""Where users' scalar functions come from, what they may call, what is refused, and what else is made of them."""

from __future__ import annotations

import itertools
import linecache
import math
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numba
import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels import OPS, cache, scalar_ir
from numgrad.testing import gradcheck, gradgradcheck


# ---------------------------------------------------------------------------------------------------- functions
@ng.elementwise
def huber(pred, target, delta=1.0):
    a = abs(pred - target)
    return 0.5 * a * a if a < delta else delta * (a - 0.5 * delta)


@ng.elementwise
def product(x, y):
    return x * y


@ng.elementwise
def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


@ng.elementwise
def gcd(a: int, b: int):
    while b != 0:
        a, b = b, a % b
    return a


def leaf(*values: Any) -> Any:
    return ng.tensor(values, dtype=ng.float64, requires_grad=True)


# ---------------------------------------------------------------------------------------------------- helpers
def plain_helper(x, scale=2.0):
    return scale * x


@numba.njit
def compiled_helper(x):
    return x * x


def test_helpers_of_three_kinds():
    @ng.elementwise
    def calls(x):
        return plain_helper(x) + compiled_helper(x) + huber(x, 0.0) + huber(0.0, delta=0.5, target=x)

    @ng.elementwise
    def unpacks(x):
        r, phi = polar(x, 2 * x)
        return r * phi

    assert calls(3.0).item() == pytest.approx(6 + 9 + 2.5 + 1.375)
    assert unpacks(3.0).item() == pytest.approx(math.hypot(3, 6) * math.atan2(6, 3), rel=1e-6)
    assert gradcheck(calls, leaf(3.0, 0.2))


# ---------------------------------------------------------------------------------------------------- registered
def test_a_registered_derivative_of_a_compiled_function():
    @numba.njit
    def opaque(a):
        table = np.zeros(2)  # arrays are outside the language
        table[0] = math.sin(a)
        return table[0]

    @ng.elementwise
    def before(x):
        return compiled_helper(x)

    with pytest.raises(ng.DifferentiationError, match=r"no derivative is known for 'np.zeros'"):
        ng.elementwise(lambda x: opaque(x))
    ng.register_derivative(opaque, "cos(a)")

    @ng.elementwise
    def calls(x, y):
        return opaque(x * y) * y

    x, y = leaf(0.3, 1.2), leaf(0.5, -0.4)
    assert gradcheck(calls, (x, y))
    assert gradgradcheck(calls, (x, y))
    single = calls(x.detach().to(ng.float32), 0.5)
    assert single.dtype is ng.float32
    assert calls.scalar(0.3, 0.5) == pytest.approx(math.sin(0.15) * 0.5)
    assert not scalar_ir.is_cacheable(calls.op.scalar)
    assert scalar_ir.is_cacheable(before.op.scalar)
    with pytest.raises(NotImplementedError, match="'opaque' is compiled code with a registered derivative"):
        calls.source(device="cuda")


def test_registered_derivatives_by_result_number_and_function():
    @numba.njit
    def growth(rate, time):
        return math.exp(rate * time)

    def by_time(rate, r):
        return rate * r

    ng.register_derivative(growth, "time * r", by_time)
    f = ng.elementwise(lambda a, b: growth(a, b))
    assert gradcheck(f, (leaf(0.3, 1.0), leaf(2.0, 0.5)))
    assert gradgradcheck(f, (leaf(0.3, 1.0), leaf(2.0, 0.5)))
    ng.register_derivative(math.degrees, 180 / math.pi, args="a")
    g = ng.elementwise(lambda a: math.degrees(a) * a)
    assert gradcheck(g, leaf(0.3))
    assert "math.degrees" in g.source()
    assert scalar_ir.is_cacheable(g.op.scalar)


def test_registering_again_does_not_change_functions_that_exist():
    @numba.njit
    def f(a):
        return 2 * a

    def helper(x):
        return f(x)

    ng.register_derivative(f, "2.0")
    first = ng.elementwise(lambda x: helper(x))
    ng.register_derivative(f, "5.0")
    second = ng.elementwise(lambda x: helper(x))
    assert [ng.autograd.grad(g(x), x)[0].item() for g in (first, second) for x in [leaf(1.0)]] == [2.0, 5.0]


@pytest.mark.parametrize(
    ("register", "error", "text"),
    [
        (lambda: ng.register_derivative(math.exp, "r"), ValueError, "derivative of 'exp' is known already"),
        (lambda: ng.register_derivative(math.fmod, "1.0", "0.0", args="a b"), TypeError, "Numba cannot compile math.fmod"),
        (lambda: ng.register_derivative(huber, "1.0"), TypeError, r"declare its gradient with @huber.grad"),
        (lambda: ng.register_derivative(print, "1.0"), TypeError, "neither compiled by numba.njit nor a function of math"),
        (lambda: ng.register_derivative(compiled_helper), ValueError, r"takes 1 arguments \(x\), but 0 derivatives"),
        (lambda: ng.register_derivative(compiled_helper, "2 * y"), ng.DifferentiationError, "name 'y' is not defined"),
        (lambda: ng.register_derivative(compiled_helper, "2 *"), ng.DifferentiationError, "is no expression"),
        (lambda: ng.register_derivative(compiled_helper, lambda y: y), ValueError, "reads 'y', which is none of"),
        (lambda: ng.register_derivative(compiled_helper, "1.0", args="r"), ValueError, "'r' is the result"),
    ],
)
def test_registrations_that_are_refused(register, error, text):
    with pytest.raises(error, match=text):
        register()


# ---------------------------------------------------------------------------------------------------- other forms
def test_the_scalar_function():
    assert huber.scalar(3.0, 0.0) == 2.5
    assert huber.scalar(3.0, 0.0, 2.0) == 4.0
    assert huber.scalar is huber.scalar
    assert hasattr(huber.scalar, "py_func")

    @numba.njit
    def total(values):
        s = 0.0
        for i in range(values.shape[0]):
            s += huber(values[i], 0.0, delta=2.0)
        return s

    assert total(np.array([1.0, 3.0])) == 4.5
    assert isinstance(huber.scalar(np.float64(1), np.float64(2), np.float64(3)), float)


def test_the_source_says_what_is_compiled():
    assert "def kernel(x0, x1, x2, out0):" in huber.source()
    assert "_T = np.float64" in huber.source(dtype=ng.float64)
    assert "def kernel(x0, x1, x2, x3, out0, out1, out2):" in huber.source(order=1)  # g, and all three gradients
    assert "def numgrad_kernel(n, x0, x1, x2, y0):" in huber.source(device="cuda", dtype="float32")
    assert huber.source(order=3)
    for wrong in ({"order": -1}, {"dtype": "int64"}, {"device": "tpu"}):
        with pytest.raises(ValueError, match=r"order|dtype|tpu"):
            huber.source(**wrong)
    with pytest.raises(ValueError, match=r"gcd\(\) has no derivative of order 1"):
        gcd.source(1)


def test_the_source_is_what_runs(tmp_path):
    """Compile the printed text by itself and compare: it needs nothing that it does not say."""
    module = cache.load_module(product.source(dtype="float64"))
    x, out = np.array([1.0, 2.0, 3.0]), np.empty(3)
    module.kernel(x, x, out)
    assert out.tolist() == [1.0, 4.0, 9.0]


def test_ufuncs_of_users():
    u = huber.ufunc
    assert u.types == ["fff->f", "ddd->d"]
    assert u(np.ones((2, 1)), np.zeros(3), 0.5).tolist() == [[0.375] * 3] * 2
    out = np.zeros(3)
    assert u(np.array([3.0, 3.0, 3.0]), 0.0, 1.0, out=out, where=np.array([True, False, True])) is out
    assert out.tolist() == [2.5, 0.0, 2.5]
    assert gcd.ufunc.reduce(np.array([12, 18, 27])) == 3
    assert gcd.ufunc.types == ["ll->l"]
    with pytest.raises(NotImplementedError, match="2 outputs"):
        _ = polar.ufunc


@pytest.mark.parametrize("name", ["sigmoid", "maximum", "where"])
def test_ufuncs_of_the_table_agree_with_the_engine(name):
    """The ufunc broadcasts by NumPy's own code, the engine by ours."""
    op = OPS[name]
    rng = np.random.default_rng(0)
    shapes = [(2, 1, 3), (4, 1), (3,)][: len(op.inputs)]
    arrays = [rng.normal(size=shape) for shape in shapes]
    if name == "where":
        arrays[0] = arrays[0] > 0
    got = op(*map(ng.from_numpy, arrays)).numpy()
    np.testing.assert_array_equal(op.ufunc(*arrays), got)
    if name == "maximum":
        assert op.ufunc.reduce(np.arange(5)) == 4
        assert op.ufunc(np.arange(3), 1).dtype == np.int64


# ---------------------------------------------------------------------------------------------------- captured numbers
FACTOR = 2.0


def reads_a_global(x):
    return FACTOR * x


def test_captured_numbers_are_frozen_when_the_function_is_decorated(monkeypatch):
    first = ng.elementwise(lambda x: FACTOR * reads_a_global(x))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert first(1.0).item() == 4.0  # first used after the change
    second = ng.elementwise(lambda x: FACTOR * reads_a_global(x))
    assert second(1.0).item() == 9.0  # the helper's number, too
    assert first(2.0).item() == 8.0
    assert ng.autograd.grad(first(x := leaf(1.0)), x)[0].item() == 4.0


CONSTANTS = """
import numgrad as ng
def make(k):
    @ng.elementwise
    def scaled(x):
        return k * x
    return scaled
x = ng.tensor([1.0, 2.0], requires_grad=True)
results = []
for k in {order}:
    f = make(k)
    y = f(x)
    results.append((k, y.tolist(), ng.autograd.grad(y.sum(), x)[0].tolist()))
print(sorted(results))
"""


def test_one_name_and_different_constants_in_several_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    wanted = str([(k, [k, 2 * k], [k, k]) for k in (2.0, 3.0)])
    for order in ("(2.0, 3.0)", "(3.0, 2.0)"):
        script = tmp_path / "constants.py"
        script.write_text(CONSTANTS.format(order=order))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == wanted


def test_uncached_functions_leave_nothing_on_disk(monkeypatch):
    factor = np.random.default_rng().random()  # so that no earlier run has left the kernel there
    written = []
    monkeypatch.setattr(cache.entries, "write", lambda directory, key, result: written.append(key))
    x = leaf(1.0)
    for kept in (False, True):
        f = ng.elementwise(cache=kept)(lambda x: factor * x + x * x)
        assert ng.autograd.grad(f(x), x)[0].item() == pytest.approx(factor + 2)
        assert bool(written) == kept


# ---------------------------------------------------------------------------------------------------- where functions live
_cells = itertools.count()


def run_cell(source: str, scope: dict[str, Any], name: str | None = None) -> None:
    """What IPython does with a cell: its lines go to linecache under a name that is no file, then it is compiled."""
    name = name or f"/tmp/ipykernel_4711/{next(_cells)}.py"
    source = textwrap.dedent(source)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)


def test_notebook_cells():
    scope: dict[str, Any] = {"ng": ng}
    run_cell("def helper(x):\n    return 2 * x\n", scope)
    cell = "@ng.elementwise\ndef f(x):\n    return helper(x) + {}\n"
    run_cell(cell.format(1), scope)
    first = scope["f"]
    assert first(3.0).item() == 7.0
    run_cell(cell.format(5), scope)  # the cell is edited and run again, under another name
    assert scope["f"](3.0).item() == 11.0
    run_cell("def helper(x):\n    return 10 * x\n", scope)
    run_cell(cell.format(5), scope)  # its helper was defined anew
    assert scope["f"](3.0).item() == 35.0
    assert first(3.0).item() == 7.0
    same = "<cell>"
    for factor in (2, 3):
        run_cell(f"@ng.elementwise\ndef f(x):\n    return {factor} * x\n", scope, same)
        assert scope["f"](1.0).item() == factor


def test_an_edited_source_is_refused():
    """The text under a helper's file name is no longer what the helper was compiled from."""
    scope: dict[str, Any] = {"ng": ng}
    run_cell("def helper(x):\n    return 2 * x\n", scope, "<edited>")
    linecache.cache["<edited>"] = (1, None, ["def helper(x):\n", "    return 3 * x\n"], "<edited>")
    with pytest.raises(ng.DifferentiationError, match="'helper' has changed since it was defined") as caught:
        run_cell("@ng.elementwise\ndef f(x):\n    return helper(x)\n", scope)
    assert '  File "<edited>", line 1' in str(caught.value)


def test_functions_without_source_are_refused():
    scope: dict[str, Any] = {"ng": ng}
    with pytest.raises(ng.DifferentiationError, match="the source of 'f' is not available: define it in a file"):
        exec("@ng.elementwise\ndef f(x):\n    return x\n", scope)


def test_a_running_cell_that_fails_leaves_the_old_function():
    scope: dict[str, Any] = {"ng": ng}
    run_cell("@ng.elementwise\ndef f(x):\n    return x\n", scope)
    with pytest.raises(ng.DifferentiationError, match="'f' calls itself: recursion is not supported"):
        run_cell("@ng.elementwise\ndef f(x):\n    return f(x) + 1\n", scope)  # not a call of the older f
    assert scope["f"](1.0).item() == 1.0


# ---------------------------------------------------------------------------------------------------- refusals
VECTOR, NUMBERS, TEXT, ANYTHING, COMPLEX, TENSOR = np.zeros(3), [1, 2], "text", object(), 1j, ng.ones(2)

REFUSED = {
    "return x[0]": "indexing cannot be used in a scalar function: pass the item as an argument",
    "return VECTOR * x": "'VECTOR' is a ndarray: only real numbers can be captured",
    "return NUMBERS": "'NUMBERS' is a list: only real numbers can be captured",
    "return TEXT": "'TEXT' is a str",
    "return ANYTHING": "'ANYTHING' is a object",
    "return COMPLEX * x": "'COMPLEX' is a complex",
    "return TENSOR * x": "'TENSOR' is a Tensor: only real numbers can be captured; pass it as an argument",
    "return x * 1j": "the constant 1j is not a real number",
    "return f'{x}'": "an f-string cannot be used",
    "print(x)\nreturn x": "this expression has no effect",
    "with x:\n    return x": "with cannot be used",
    "try:\n    return x\nfinally:\n    pass": "try/except cannot be used in .*: return a number on every path",
    "raise ValueError": "raise cannot be used",
    "assert x > 0\nreturn x": "assert cannot be used",
    "if (y := x) > 0:\n    return y\nreturn x": "an assignment expression cannot be used in .*: assign on a line of its own",
    "global G\nG = x\nreturn x": "global cannot be used in a scalar function: return the value instead",
    "def g(y):\n    return y\nreturn g(x)": "a nested function cannot be used in a scalar function: define it outside",
    "return (lambda y: y)(x)": "a nested function cannot be used",
    "yield x": "yield cannot be used",
    "return [x for i in range(3)]": "a comprehension cannot be used in a scalar function: write a loop",
    "import math\nreturn x": "import cannot be used in a scalar function: import at the top",
    "match x:\n    case 1:\n        return x\nreturn x": "match cannot be used in a scalar function: use if and elif",
    "return refused(x)": "'refused' calls itself: recursion is not supported, write a loop",
    "return later(x)": "'later' is not a function that can be called here: it must be defined before this one",
    "return x.sin()": "'x.sin' is not a function .* a method, and 'x' a number: use a function of math",
    "return ng.exp(x)": "'ng.exp' takes tensors: use the function of math of that name",
    "return np.where(x > 0, x, 0)": "'np.where' is for arrays: write 'a if condition else b'",
    "return np.clip(x, 0, 1)": "'np.clip' is for arrays: write",
    "return math.comb(x)": "no derivative is known for 'math.comb': .* register_derivative",
    "return x & 1": "'&' needs integers or booleans",
    "while x > 0:\n    x -= 1\n    z = x\nreturn z": "local variable 'z' may be read before it is assigned",
    "for i in range(int(x)):\n    z = x\nreturn z": "local variable 'z' may be read before it is assigned",
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=lambda text: text.replace("\n", "; "))
def test_refusals_come_at_the_decorator_and_show_the_line(body, message):
    source = f"@ng.elementwise\ndef refused(x):\n{textwrap.indent(body, '    ')}\n"
    with pytest.raises(ng.DifferentiationError, match=message) as caught:
        run_cell(source, {**globals()})
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    file, line = lines[1].removeprefix('  File "').split('", line ')
    assert lines[2].strip() == linecache.getline(file, int(line)).strip()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("*x", "name each parameter"),
        ("**x", "name each parameter"),
        ("", "takes no numbers"),
        ("x, y=None", "the default of 'y' must be a number, not None"),
        ("x, k: int = 1.5", "the default of 'k' must be an int, not 1.5"),
        ("x, out", "a parameter cannot be called 'out'"),
        ("self, x", "'self' is no number: .* put @staticmethod above @ng.elementwise"),
    ],
)
def test_parameters_that_are_refused(parameters, message):
    with pytest.raises(ng.DifferentiationError, match=message) as caught:
        run_cell(f"@ng.elementwise\ndef refused({parameters}):\n    return 1.0\n", {"ng": ng})
    assert f"line 2\n    def refused({parameters}):" in str(caught.value)


@pytest.mark.parametrize("thing", [math.exp, print, 3, ng.exp, np.exp, "f".upper, staticmethod(plain_helper)])
def test_things_that_are_no_scalar_functions(thing):
    with pytest.raises(ng.DifferentiationError, match=r"not a Python function|takes tensors already|staticmethod"):
        ng.elementwise(thing)


def test_logarithms_to_a_base():
    f = ng.elementwise(lambda x, b: math.log(x, b))
    assert f(8.0, 2).item() == pytest.approx(3.0)
    assert gradcheck(f, (leaf(8.0), leaf(3.0)))


def test_bound_assignments_are_accepted():
    @ng.elementwise
    def bound(x, n: int):
        for i in range(3):
            last = x * i
        while True:
            y = last + 1
            if y > n:
                break
            last = y
        if x > 0:
            z = y
        else:
            return y
        return z

    assert bound(2.0, 1).item() == 5.0


# ---------------------------------------------------------------------------------------------------- processes, threads
DECORATING = """
import sys
import numgrad as ng
before = set(sys.modules)
@ng.elementwise
def f(x):
    return x * x
ng.register_derivative(f.__wrapped__, "2 * x")
print(sorted(m for m in set(sys.modules) - before if m.split(".")[0] in ("numba", "llvmlite")))
"""


def test_decorating_imports_no_compiler(tmp_path):
    script = tmp_path / "decorating.py"
    script.write_text(DECORATING)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_decorate_and_call_at_once():
    source = "@ng.elementwise\ndef f(x, y):\n    return {k} * x * y + helper(x)\n"
    failures = []

    def work(k: int) -> None:
        try:
            for _ in range(3):
                scope = {"ng": ng, "helper": plain_helper}
                run_cell(source.format(k=k % 2), scope)
                x = leaf(2.0)
                y = scope["f"](x, 3.0)
                (g,) = ng.autograd.grad(y, x)
                assert (y.item(), g.item()) == (6.0 * (k % 2) + 4.0, 3.0 * (k % 2) + 2.0)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
