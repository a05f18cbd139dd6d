"""Chains of small operations and whole training steps."""

from typing import Any

from benchmarks.case import Case, Step


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
    Case("Adam, 100 of 64x64", adam_step, 1.0, (2,)),
]
