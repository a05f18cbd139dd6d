"""Recording graphs and walking them backward, on tensors so small that the kernels hardly count."""

import numgrad as ng


class Shapes:
    """Graphs of a hundred multiplications in different shapes."""

    def setup(self):
        self.x = ng.ones(32, 16, requires_grad=True)
        self.factor = ng.full((32, 16), 1.001)
        for build in (self.chain, self.fan_out_fan_in):
            build().backward()
        self.time_second_derivative()

    def chain(self):
        y = self.x
        for _ in range(100):
            y = y * self.factor
        return y.sum()

    def fan_out_fan_in(self):
        total = self.x
        for _ in range(50):
            total = total + self.x * self.factor
        return total.sum()

    def time_chain_forward(self):
        self.chain()

    def time_chain_forward_backward(self):
        self.x.grad = None
        self.chain().backward()

    def time_fan_out_fan_in(self):
        self.x.grad = None
        self.fan_out_fan_in().backward()

    def time_second_derivative(self):
        y = (self.x * self.x * self.x).sum()
        (first,) = ng.autograd.grad(y, self.x, create_graph=True)
        ng.autograd.grad(first.sum(), self.x)


class LongChain:
    """10,000 operations, backward and destroyed."""

    def setup(self):
        self.x = ng.ones(16, requires_grad=True)
        (self.x * 1.0).sum().backward()

    def run(self):
        self.x.grad = None
        y = self.x
        for _ in range(10_000):
            y = y * 1.0
        y.sum().backward()

    def time_backward_and_destroy(self):
        self.run()

    def peakmem_backward_and_destroy(self):
        self.run()
