"""numgrad and PyTorch side by side: `python benchmarks/compare.py`, with --quick or --only NAME to make it shorter.

Each case is written once, against the interface that both libraries share. The two take turns, block by block in one
process, so that a machine that slows down slows both; once with one thread and once with two. The ratios are printed
last. The exit status is 1 when a number that must be met is missed.

A ratio is numgrad's time divided by PyTorch's. There are two, of the minima and of the medians of the blocks, and the
worse one has to meet the limit.
"""

import argparse
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

Step = Callable[[], object]


# Cases: `library` is numgrad or torch ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Something to time in both libraries."""

    name: str
    make: Callable[[Any], Step]
    at_most: float | None = None  # the ratio that must be met
    on_threads: tuple[int, ...] = (1, 2)  # where it must be met


def chain(library: Any, factor_requires_grad: bool) -> Step:
    """100 multiplies of a (32, 16) tensor, forward and backward."""
    x = library.ones(32, 16, requires_grad=True)
    factor = library.full((32, 16), 1.001, requires_grad=factor_requires_grad)
    ones = library.ones(32, 16)

    def step() -> None:
        x.grad = factor.grad = None
        y = x
        for _ in range(100):
            y = y * factor
        y.backward(ones)

    return step


def tiny_network(library: Any) -> Step:
    """One training step of a 2-16-16-1 network on a batch of 32: tanh, squared error, SGD with momentum."""
    nn = library.nn
    library.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = library.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = library.randn(32, 2), library.randn(32, 1)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step


def digits_network(library: Any) -> Step:
    """One training step of the network of examples/digits.py on a batch of 64."""
    nn = library.nn
    library.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = library.optim.Adam(model.parameters(), lr=1e-3)
    x, y = library.randn(64, 64), library.randint(0, 10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def lorenz_fit(library: Any) -> Step:
    """Lorenz's equations through 50 steps of Runge and Kutta's method, and the gradient of a fit by their parameters."""
    sigma, rho, beta = (library.tensor(value, requires_grad=True) for value in (9.0, 27.0, 2.5))
    library.manual_seed(0)
    start, measured, dt = library.randn(3), library.randn(3), 0.01

    def velocity(state: Any) -> Any:
        x, y, z = state.unbind(-1)
        return library.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z], -1)

    def step() -> None:
        sigma.grad = rho.grad = beta.grad = None
        state = start
        for _ in range(50):
            k1 = velocity(state)
            k2 = velocity(state + dt / 2 * k1)
            k3 = velocity(state + dt / 2 * k2)
            k4 = velocity(state + dt * k3)
            state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        library.nn.functional.mse_loss(state, measured).backward()

    return step


def mnist_network(library: Any) -> Step:
    """One training step of a 784-256-128-10 network on a batch of 128: ReLU, cross entropy, SGD."""
    nn = library.nn
    library.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = library.optim.SGD(model.parameters(), lr=0.01)
    x, y = library.randn(128, 784), library.randint(0, 10, (128,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def lstm_layer(library: Any) -> Step:
    """An LSTM of 64 over a batch of 32 sequences of 50 steps of 16, forward and backward."""
    library.manual_seed(0)
    module, x = library.nn.LSTM(16, 64, batch_first=True), library.randn(32, 50, 16)

    def step() -> None:
        module.zero_grad()
        module(x)[0].sum().backward()

    return step


def recurrence(library: Any, with_cell: bool) -> Step:
    """50 steps of a recurrent network of 64 on a batch of 32, by a module or by the formula, forward and backward."""
    library.manual_seed(0)
    cell, x = library.nn.RNNCell(16, 64), library.randn(50, 32, 16)
    w, u, b = (p.detach().t().clone().requires_grad_() for p in (cell.weight_ih, cell.weight_hh, cell.bias_ih))

    def step() -> None:
        cell.zero_grad()
        w.grad = u.grad = b.grad = None
        h = library.zeros(32, 64)
        for t in range(50):
            h = cell(x[t], h) if with_cell else library.tanh(x[t] @ w + h @ u + b)
        h.sum().backward()

    return step


def gpt(library: Any) -> Step:
    """One training step of a transformer of 4 layers and 4 heads, 128 wide, on 12 texts of 64 of 65 letters."""
    nn = library.nn
    functional = nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.proj = nn.Linear(128, 3 * 128), nn.Linear(128, 128)
            self.mlp = nn.Sequential(nn.Linear(128, 4 * 128), nn.GELU(), nn.Linear(4 * 128, 128))

        def forward(self, x: Any) -> Any:
            batch, steps, width = x.shape
            heads = (t.view(batch, steps, 4, 32).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(width, dim=2))
            y = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(batch, steps, width))
            return x + self.mlp(self.norm2(x))

    library.manual_seed(0)
    tokens, places = nn.Embedding(65, 128), nn.Embedding(64, 128)
    rest = nn.Sequential(*(Block() for _ in range(4)), nn.LayerNorm(128), nn.Linear(128, 65, bias=False))
    optimizer = library.optim.AdamW(nn.ModuleList([tokens, places, rest]).parameters(), lr=3e-4)
    x, y = library.randint(0, 65, (12, 64)), library.randint(0, 65, (12, 64))

    def step() -> None:
        optimizer.zero_grad()
        logits = rest(tokens(x) + places(library.arange(64)))
        functional.cross_entropy(logits.view(-1, 65), y.view(-1)).backward()
        optimizer.step()

    return step


def adam_step(library: Any) -> Step:
    """A step of Adam on 100 parameters of 64 x 64."""
    params = [library.randn(64, 64).requires_grad_() for _ in range(100)]
    for param in params:
        param.grad = library.randn(64, 64)
    optimizer = library.optim.Adam(params)
    return lambda: optimizer.step()


def function_of(library: Any, name: str) -> Callable[..., Any]:
    """A function by its name, in the namespace of the library or of its `nn.functional`."""
    return getattr(library, name, None) or getattr(library.nn.functional, name)


def sample(library: Any, size: int) -> Any:
    """Items in [0.1, 3), where every function of the table is defined."""
    library.manual_seed(0)
    return library.rand(size) * 2.9 + 0.1


def elementwise(library: Any, name: str, size: int, operands: int = 1) -> Step:
    """A function of tensors of `size` items, without a graph."""
    function, arguments = function_of(library, name), [sample(library, size) for _ in range(operands)]
    return lambda: function(*arguments)


def elementwise_backward(library: Any, name: str, size: int) -> Step:
    """The same with its gradient."""
    function, x, ones = function_of(library, name), sample(library, size).requires_grad_(), library.ones(size)

    def step() -> None:
        x.grad = None
        function(x).backward(ones)

    return step


def reduction(library: Any, name: str, dim: int) -> Step:
    """A reduction of a (1024, 1024) tensor along one dimension, without a graph."""
    function, x = getattr(library, name), library.randn(1024, 1024)
    return lambda: function(x, dim)


def black_scholes(library: Any) -> Step:
    """Prices of 10^6 call options and their gradients by all five inputs: eager in PyTorch, one kernel in numgrad."""
    library.manual_seed(0)
    size = 10**6
    spot, strike = library.rand(size) * 50 + 75, library.rand(size) * 50 + 75
    years, rate, volatility = library.rand(size) + 0.5, library.rand(size) * 0.05, library.rand(size) * 0.3 + 0.1
    inputs = [x.requires_grad_() for x in (spot, strike, years, rate, volatility)]
    price, ones = call_price_function(library), library.ones(size)

    def step() -> None:
        for x in inputs:
            x.grad = None
        price(*inputs).backward(ones)

    return step


def call_price_function(library: Any) -> Callable[..., Any]:
    """The Black-Scholes formula, as each library's users would write it."""
    if library.__name__ == "numgrad":
        return library.elementwise(call_price)

    def eager(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * years.sqrt()
        d1 = ((spot / strike).log() + (rate + 0.5 * volatility**2) * years) / spread
        d2 = d1 - spread
        discounted = strike * (-rate * years).exp()
        return spot * 0.5 * (1 + (d1 * ROOT_HALF).erf()) - discounted * 0.5 * (1 + (d2 * ROOT_HALF).erf())

    return eager


def call_price(spot, strike, years, rate, volatility):  # type: ignore[no-untyped-def]  # a scalar function
    """Black and Scholes (1973): the price of a European call option."""
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * math.exp(-rate * years)
    return spot * 0.5 * (1 + math.erf(d1 * ROOT_HALF)) - discounted * 0.5 * (1 + math.erf(d2 * ROOT_HALF))


def square_matmul(library: Any, n: int) -> Step:
    """A product of two (n, n) matrices, without a graph."""
    a, b = library.randn(n, n), library.randn(n, n)
    return lambda: a @ b


def loader(library: Any) -> Step:
    """A pass over 10,000 rows of 64 in shuffled batches of 128."""
    data = library.utils.data
    rows = data.TensorDataset(library.randn(10_000, 64), library.arange(10_000))
    batches = data.DataLoader(rows, batch_size=128, shuffle=True)
    return lambda: list(batches)


def own_dataset(library: Any) -> Step:
    """A pass over a dataset with a `__getitem__` of its own."""

    class Rows(library.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.inputs = library.randn(2000, 64)

        def __len__(self) -> int:
            return 2000

        def __getitem__(self, index: int) -> Any:
            return self.inputs[index], index % 10

    batches = library.utils.data.DataLoader(Rows(), batch_size=128)
    return lambda: list(batches)


def iterate(library: Any) -> Step:
    """A loop over the 20,000 rows of a tensor."""
    x = library.randn(20_000, 8)

    def step() -> None:
        for _ in x:
            pass

    return step


def checkpoint(library: Any) -> Step:
    """The state of a network of 40 tensors, written to memory and read again."""
    state = library.nn.Sequential(*[library.nn.Linear(64, 64) for _ in range(20)]).state_dict()

    def step() -> None:
        file = io.BytesIO()
        library.save(state, file)
        file.seek(0)
        library.load(file)

    return step


def class_scores(library: Any) -> Step:
    """softmax and cross entropy of 4096 rows of 1024 scores, forward and backward."""
    library.manual_seed(0)
    x, classes = library.randn(4096, 1024).requires_grad_(), library.randint(0, 1024, (4096,))

    def step() -> None:
        x.grad = None
        library.nn.functional.cross_entropy(x, classes).backward()

    return step


def convolution(library: Any, channels: int, outputs: int, padding: int) -> Step:
    """A 3x3 convolution of 32 images and its backward."""
    x = library.ones(32, channels, 28, 28, requires_grad=channels > 1)
    layer = library.nn.Conv2d(channels, outputs, 3, padding=padding)

    def step() -> None:
        layer(x).sum().backward()

    return step


def max_pool(library: Any) -> Step:
    """Max pooling of 32 images and its backward."""
    x = (library.arange(float(32 * 64 * 28 * 28)) % 97).reshape(32, 64, 28, 28).requires_grad_()

    def step() -> None:
        library.nn.functional.max_pool2d(x, 2).sum().backward()

    return step


def normalized_gelu(library: Any) -> Step:
    """layer_norm and gelu of 2048 rows of 1024, forward and backward."""
    library.manual_seed(0)
    x, layer = library.randn(2048, 1024).requires_grad_(), library.nn.LayerNorm(1024)
    ones = library.ones(2048, 1024)

    def step() -> None:
        x.grad = layer.weight.grad = layer.bias.grad = None
        library.nn.functional.gelu(layer(x)).backward(ones)

    return step


def normalized_images(library: Any) -> Step:
    """Batch normalization of (32, 64, 28, 28) in training, forward and backward."""
    library.manual_seed(0)
    x, layer = library.randn(32, 64, 28, 28).requires_grad_(), library.nn.BatchNorm2d(64)
    ones = library.ones(32, 64, 28, 28)

    def step() -> None:
        x.grad = layer.weight.grad = layer.bias.grad = None
        layer(x).backward(ones)

    return step


def embedding(library: Any) -> Step:
    """8192 rows looked up in a table of 50,000 x 64, and the gradient of the table."""
    library.manual_seed(0)
    table, indices = library.nn.Embedding(50_000, 64), library.randint(0, 50_000, (8192,))
    ones = library.ones(8192, 64)

    def step() -> None:
        table.weight.grad = None
        table(indices).backward(ones)

    return step


FUNCTIONS = ("exp", "log", "tanh", "erf", "sigmoid", "gelu", "softplus", "sin")
ROOT_HALF = math.sqrt(0.5)

CASES = [
    Case("chain, constant factor", lambda library: chain(library, False), at_most=0.8),
    Case("chain, factor with gradient", lambda library: chain(library, True), at_most=0.8),
    Case("tiny MLP step", tiny_network, at_most=0.8),
    Case("digits MLP step", digits_network),
    Case("LSTM, 50 steps", lstm_layer, 1.5, (2,)),
    Case("RNN cell, 50 steps", lambda library: recurrence(library, True), 0.8, (2,)),
    Case("RNN formula, 50 steps", lambda library: recurrence(library, False), 0.8, (2,)),
    Case("GPT step", gpt, 1.2, (2,)),
    Case("Lorenz, 50 RK4 steps", lorenz_fit, at_most=0.8, on_threads=(2,)),
    Case("MNIST MLP step", mnist_network, 1.0, (2,)),
    Case("layer_norm + gelu 2048x1024", normalized_gelu, 1.0, (2,)),
    Case("batch_norm 32x64x28x28", normalized_images),
    Case("Adam, 100 of 64x64", adam_step, 1.0, (2,)),
    *(
        Case(f"{name} 2^20", lambda library, name=name: elementwise(library, name, 2**20), at_most=0.5)
        for name in FUNCTIONS
    ),
    *(
        Case(f"{name} 2^20 + backward", lambda library, name=name: elementwise_backward(library, name, 2**20), at_most=1.0)
        for name in FUNCTIONS
    ),
    *(
        Case(f"{name} 2^20", lambda library, name=name: elementwise(library, name, 2**20, operands=2), 1.0, (2,))
        for name in ("add", "mul")
    ),
    Case("Black-Scholes, 5 gradients", black_scholes, at_most=0.25),
    *(
        Case(f"{name} {label} axis", lambda library, name=name, dim=dim: reduction(library, name, dim), at_most=1.0)
        for name in ("sum", "max")
        for label, dim in (("inner", 1), ("outer", 0))
    ),
    *(
        Case(f"{name} of {label}", lambda library, name=name, size=size: elementwise(library, name, size))
        for name, label, size in (("exp", "1024", 1024), ("sum", "1024", 1024), ("sum", "2^20", 2**20))
    ),
    Case("TensorDataset, 10,000 rows", loader, 1.0),
    Case("own dataset, 2,000 rows", own_dataset),
    Case("iterate 20,000 rows", iterate),
    Case("save and load 40 tensors", checkpoint),
    Case("cross_entropy 4096x1024", class_scores, 1.0, (2,)),
    Case("conv2d 1 to 8 channels", lambda library: convolution(library, 1, 8, 0), on_threads=(2,)),
    Case("conv2d 32 to 64 channels", lambda library: convolution(library, 32, 64, 1), on_threads=(2,)),
    Case("max_pool2d of 64 channels", max_pool, on_threads=(2,)),
    Case("Embedding, 8192 of 50000x64", embedding, 1.0, (2,)),
    *(Case(f"matmul {n}x{n}", lambda library, n=n: square_matmul(library, n)) for n in (64, 512)),
]


# Timing in turns ------------------------------------------------------------------------------------------------------


def seconds_per_call(step: Step, calls: int) -> float:
    """The mean over one block of calls."""
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - start) / calls


def calls_in(step: Step, seconds: float) -> int:
    """How many calls fill a block of this length; runs the step a few times, which also warms it up."""
    step()
    step()
    estimate = min(seconds_per_call(step, 1) for _ in range(5))
    return max(1, min(10_000, round(seconds / estimate)))


def take_turns(steps: dict[str, Step], rounds: int, block: float) -> dict[str, list[float]]:
    """Seconds per call of every step, one number a round; within a round the steps take turns.

    The threads of a library poll for work after its turn, those of OpenMP for some milliseconds. Before the next turn they
    are left to fall asleep; else the other library would be measured on half a core.
    """
    calls = {name: calls_in(step, block) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name in sorted(steps, reverse=bool(number % 2)):
            time.sleep(0.02)
            steps[name]()
            times[name].append(seconds_per_call(steps[name], calls[name]))
    return times


def run_cases(threads: int, names: list[str], quick: bool) -> None:
    """The part that runs in a process of its own for each number of threads; prints one line of JSON for each case."""
    import torch

    import numgrad

    torch.set_num_threads(threads)
    if hasattr(numgrad, "set_num_threads"):
        numgrad.set_num_threads(threads)
    rounds, block = (5, 0.01) if quick else (15, 0.03)
    for case in CASES:
        if case.name in names:
            steps = {"numgrad": case.make(numgrad), "torch": case.make(torch)}
            print(json.dumps({"name": case.name, **take_turns(steps, rounds, block)}), flush=True)


# Rows of the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the final table, and whether it is as it must be (None: nothing is demanded)."""

    text: str
    met: bool | None

    def __str__(self) -> str:
        return f"{self.text}  {'' if self.met is None else 'ok' if self.met else 'MISSED'}".rstrip()


_BYTECODE = tempfile.TemporaryDirectory()  # as installed: a checkout may be forbidden to keep its own


def python(*arguments: str | Path, **environment: str) -> str:
    """Run this Python on the arguments in a process of its own and return what it prints."""
    command = [sys.executable, *map(str, arguments)]
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _BYTECODE.name}
    result = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"failed: {' '.join(command)}")
    return result.stdout


def side_by_side(threads: int, names: list[str], quick: bool) -> list[Row]:
    """The rows of the chosen cases for one number of threads."""
    limit = str(threads)
    flags = ["--quick"] if quick else []
    output = python(
        __file__, "--threads", limit, *flags, *(f"--only={name}" for name in names),
        OMP_NUM_THREADS=limit, OPENBLAS_NUM_THREADS=limit, MKL_NUM_THREADS=limit, NUMBA_NUM_THREADS=limit,
    )  # fmt: skip
    at_most = {case.name: case.at_most if threads in case.on_threads else None for case in CASES}
    return [ratio_row(threads, result, at_most[result["name"]]) for result in map(json.loads, output.splitlines())]


def ratio_row(threads: int, result: dict[str, Any], at_most: float | None) -> Row:
    """Format one measured case."""
    least = [min(result[library]) * 1e6 for library in ("numgrad", "torch")]
    middle = [statistics.median(result[library]) * 1e6 for library in ("numgrad", "torch")]
    ratios = least[0] / least[1], middle[0] / middle[1]
    columns = f"{least[0]:10.1f} {middle[0]:10.1f} {least[1]:10.1f} {middle[1]:10.1f} {ratios[0]:8.2f} {ratios[1]:8.2f}"
    demand = "" if at_most is None else f"<= {at_most}"
    met = None if at_most is None else max(ratios) <= at_most
    return Row(f"{result['name']:28} {threads:7d} {columns}  {demand:7}", met)


RATIO_HEADER = (
    f"{'':28} {'':7} {'numgrad, us':>21} {'PyTorch, us':>21} {'numgrad / PyTorch':>17}\n"
    f"{'case':28} {'threads':>7} {'min':>10} {'median':>10} {'min':>10} {'median':>10} {'min':>8} {'median':>8}  must"
)


def import_rows(quick: bool) -> list[Row]:
    """`import numgrad` against `import numba`, in fresh processes that take turns."""
    program = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    times: dict[str, list[float]] = {"numba": [], "numgrad": [], "torch": []}
    for _ in range(3 if quick else 9):
        for module, seconds in times.items():
            seconds.append(float(python("-c", program.format(module))))
    numba, numgrad, torch = (statistics.median(seconds) for seconds in times.values())
    extra = numgrad - numba
    text = f"import: numba {numba:.3f} s, numgrad {extra:+.3f} s (must be <= +0.15); for comparison torch {torch:.3f} s"
    return [Row(text, extra <= 0.15)]


def first_step_rows(quick: bool) -> list[Row]:
    """The first step of the digits network in a fresh process: no kernel on disk yet, then all of them."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for label, repeats, at_most in (("empty cache", 1, 8.0), ("warm cache", 3 if quick else 7, 1.0)):
            runs = [json.loads(python(HERE / "first_step.py", NUMGRAD_CACHE_DIR=cache)) for _ in range(repeats)]
            run = sorted(runs, key=lambda run: run["total"])[len(runs) // 2]
            seconds = run["total"]
            text = f"first step, {label}: {seconds:.2f} s (must be <= {at_most:g}), of it {run['import']:.2f} s import"
            rows.append(Row(text, seconds <= at_most))
    return rows


def long_chain_rows(quick: bool) -> list[Row]:
    """100,000 operations in a row: no recursion, and the memory comes back to within a tenth of what the graph took."""
    run = json.loads(python(HERE / "long_chain.py"))
    margin = max(8.0, (run["peak_mib"] - run["before_mib"]) / 10)
    after = max(run["after_backward_mib"], run["after_unused_mib"])
    text = (
        f"100,000 operations: forward, backward and destruction {run['backward_s']:.2f} s; resident before "
        f"{run['before_mib']:.0f} MiB, with the graph {run['peak_mib']:.0f}, after {after:.0f} "
        f"(must be within {margin:.0f} of before)"
    )
    return [Row(text, after - run["before_mib"] <= margin)]


PROCESS_CASES = {"import": import_rows, "first step": first_step_rows, "long chain": long_chain_rows}


def main() -> int:
    """Run what was chosen and print the table."""
    names = [case.name for case in CASES] + list(PROCESS_CASES)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repeats")
    parser.add_argument("--only", action="append", metavar="NAME", help="cases whose name begins so; may be repeated")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)  # how this file calls itself
    options = parser.parse_args()
    chosen = [name for name in names if not options.only or name.startswith(tuple(options.only))]
    if not chosen:
        parser.error(f"no such case; there are: {', '.join(names)}")
    if options.threads:
        run_cases(options.threads, chosen, options.quick)
        return 0

    in_turns = [name for name in chosen if name not in PROCESS_CASES]
    started = [row for name in chosen if name in PROCESS_CASES for row in PROCESS_CASES[name](options.quick)]
    ratios = [row for threads in (1, 2) if in_turns for row in side_by_side(threads, in_turns, options.quick)]
    if started:
        print(*started, "", sep="\n")
    if ratios:
        print(RATIO_HEADER, *ratios, sep="\n")
    missed = sum(row.met is False for row in started + ratios)
    print(f"\n{missed} missed of {sum(row.met is not None for row in started + ratios)} that must be met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
