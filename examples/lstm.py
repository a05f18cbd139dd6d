"""Teach an LSTM to go on with a sequence: an oscillation with an overtone.

Trained on the next value only, the network then runs on its own output for two hundred steps.

Run it with `python examples/lstm.py`.
"""

import numpy as np

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional as F

HIDDEN, LENGTH, BATCH, STEPS = 32, 80, 32, 500


class Forecaster(nn.Module):
    """The next value of each step, and the state to go on with."""

    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        hidden, state = self.lstm(x, state)
        return x + self.out(hidden), state  # what is learned is the change


def make_model(hidden=HIDDEN):
    return Forecaster(hidden)


def sequence(start, length):
    """The values at `length` times from each start."""
    t = np.asarray(start)[..., None] + np.arange(length)
    return 0.6 * np.sin(0.31 * t) + 0.4 * np.sin(0.62 * t + 1.0)


def batches(rng, steps=STEPS, size=BATCH, length=LENGTH):
    """Pieces of the sequence with noise on them, and the true values one step on."""
    for _ in range(steps):
        values = sequence(rng.uniform(0, 1000, size), length + 1)[..., None]
        yield values[:, :-1] + 0.005 * rng.standard_normal((size, length, 1)), values[:, 1:]


def tensor(array):
    return torch.tensor(array, dtype=torch.get_default_dtype())


def train(model, stream, steps=STEPS):
    """The loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    losses = []
    for x, y in stream:
        predicted, _ = model(tensor(x))
        loss = F.mse_loss(predicted, tensor(y))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def go_on(model, start, count):
    """`count` values after those of `start`, each made from the one before."""
    found = []
    with torch.no_grad():
        predicted, state = model(tensor(start)[None, :, None])
        for _ in range(count):
            value = predicted[:, -1:]
            found.append(value.item())
            predicted, state = model(value, state)
    return np.array(found)


def main(steps=STEPS):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    model = make_model()
    losses = train(model, batches(rng, steps), steps)
    print(f"mean squared error {losses[0]:.4f} -> {np.mean(losses[-20:]):.6f} in {len(losses)} steps")
    whole = sequence(0.0, LENGTH + 200)
    found = go_on(model, whole[:LENGTH], 200)
    error = np.sqrt(np.mean((found - whole[LENGTH:]) ** 2))
    print(f"error of its own 200 steps: {error:.4f} (the sequence: {whole.std():.2f})")
    for step in range(0, 60, 3):
        line = [" "] * 61
        line[round(30 + 28 * whole[LENGTH + step])] = "."
        line[round(30 + 28 * float(np.clip(found[step], -1, 1)))] = "o"
        print("".join(line).rstrip())


if __name__ == "__main__":
    main()
