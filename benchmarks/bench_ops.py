"""Single operations over the history of the project: `asv run`. Without a graph; kernels are compiled in `setup`.

asv starts a process for each combination of parameters, so the lists hold one operation of each kind.
"""

import numpy as np

import numgrad as ng

SIZES = [1024, 2**20]


class NumpyControl:
    """Nothing of numgrad: a change here is a change of the machine."""

    def setup(self):
        self.x = np.linspace(-3, 3, 2**20, dtype=np.float32)
        self.out = np.empty_like(self.x)

    def time_exp(self):
        np.exp(self.x, out=self.out)

    def time_multiply(self):
        np.multiply(self.x, self.x, out=self.out)


class Unary:
    """Elementwise functions of one tensor."""

    params = [["neg", "exp", "log", "tanh", "sigmoid"], SIZES]
    param_names = ["name", "size"]

    def setup(self, name, size):
        self.function = getattr(ng, name)
        self.x = ng.rand(size) + 0.5
        self.function(self.x)

    def time_forward(self, name, size):
        self.function(self.x)


class Binary:
    """Elementwise functions of two tensors: of the same shape, and with a row repeated."""

    params = [["add", "div", "pow"], ["flat", "rows"], SIZES]
    param_names = ["name", "layout", "size"]

    def setup(self, name, layout, size):
        self.function = getattr(ng, name)
        self.x = ng.rand(size // 64, 64) + 0.5
        self.y = (ng.rand(64) if layout == "rows" else ng.rand(size // 64, 64)) + 0.5
        self.function(self.x, self.y)

    def time_forward(self, name, layout, size):
        self.function(self.x, self.y)


class Reduction:
    """A sum over everything, over columns, over rows."""

    params = [[None, 0, 1], SIZES]
    param_names = ["dim", "size"]

    def setup(self, dim, size):
        x = ng.rand(size // 64, 64)
        self.call = x.sum if dim is None else lambda: x.sum(dim)
        self.call()

    def time_sum(self, dim, size):
        self.call()


class Matmul:
    """Square matrices."""

    params = [[64, 512]]
    param_names = ["n"]

    def setup(self, n):
        self.a, self.b = ng.rand(n, n), ng.rand(n, n)
        self.a @ self.b

    def time_forward(self, n):
        self.a @ self.b
