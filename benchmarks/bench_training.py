"""Whole training steps."""

import numgrad as ng
from numgrad import nn


class TinyNetwork:
    """2-16-16-1, batch 32, tanh, squared error, SGD with momentum: little but overhead."""

    def setup(self):
        ng.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = ng.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.x, self.y = ng.randn(32, 2), ng.randn(32, 1)
        for _ in range(2):
            self.time_step()

    def time_step(self):
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(self.x), self.y).backward()
        self.optimizer.step()


class DigitsNetwork:
    """The network of examples/digits.py, batch 64, Adam."""

    def setup(self):
        ng.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
        self.optimizer = ng.optim.Adam(self.model.parameters(), lr=1e-3)
        self.x, self.y = ng.randn(64, 64), ng.randint(0, 10, (64,))
        for _ in range(2):
            self.time_step()

    def time_step(self):
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(self.x), self.y).backward()
        self.optimizer.step()
