"""Find the three parameters of Lorenz's equations (1963) from noisy measurements of their chaotic path.

The path is cut into short pieces. From the measurement at the start of each piece the equations are integrated by the
method of Runge and Kutta, with the gradient going back through all of its steps, and the parameters are moved until the
pieces end where they were measured.

Run it with `python examples/lorenz.py`.
"""

import numpy as np

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional as F

TRUE = (10.0, 28.0, 8.0 / 3.0)
DT, PIECE, PIECES, STEPS = 0.01, 15, 64, 150


def velocity(state, sigma, rho, beta):
    """How (x, y, z), along the first dimension, changes."""
    x, y, z = state
    return torch.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def runge_kutta(state, dt, parameters):
    """One step of the classical method of fourth order."""
    k1 = velocity(state, *parameters)
    k2 = velocity(state + dt / 2 * k1, *parameters)
    k3 = velocity(state + dt / 2 * k2, *parameters)
    k4 = velocity(state + dt * k3, *parameters)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class Lorenz(nn.Module):
    """The states after a number of steps."""

    def __init__(self, sigma, rho, beta):
        super().__init__()
        self.sigma = nn.Parameter(torch.tensor(sigma, dtype=torch.get_default_dtype()))
        self.rho = nn.Parameter(torch.tensor(rho, dtype=torch.get_default_dtype()))
        self.beta = nn.Parameter(torch.tensor(beta, dtype=torch.get_default_dtype()))

    def forward(self, state, steps):
        for _ in range(steps):
            state = runge_kutta(state, DT, (self.sigma, self.rho, self.beta))
        return state


def make_model():
    return Lorenz(5.0, 20.0, 1.0)


def measure(rng, pieces=PIECES, noise=0.02):
    """Measurements of the true path at the ends of the pieces, of shape (3, pieces + 1)."""
    states = [torch.tensor([1.0, 1.0, 20.0], dtype=torch.float64)]
    for _ in range(PIECE * pieces):
        states.append(runge_kutta(states[-1], DT, TRUE))
    path = torch.stack(states[::PIECE], dim=1).numpy()
    return path + noise * rng.standard_normal(path.shape)


def train(model, measured, steps=STEPS):
    """The loss of every step."""
    measured = torch.tensor(measured, dtype=torch.get_default_dtype())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
    losses = []
    for _ in range(steps):
        loss = F.mse_loss(model(measured[:, :-1], PIECE), measured[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(steps=STEPS):
    model = make_model()
    losses = train(model, measure(np.random.default_rng(0)), steps)
    print(f"mean squared error {losses[0]:.2f} -> {losses[-1]:.4f} in {len(losses)} steps")
    for (name, parameter), true in zip(model.named_parameters(), TRUE, strict=True):
        print(f"{name:5} = {parameter.item():.3f} (in truth {true:.3f})")


if __name__ == "__main__":
    main()
