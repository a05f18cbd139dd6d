"""Train the network of `digits.py` through Burn's door: `python examples/digits_burn.py`.

The module is a value, and so are the gradients: a step gives another module, nothing is set to zero, and evaluation uses
a copy without autodiff. Prints the test accuracy; the exit status is 1 if it is under 97 %.
"""

import sys

import numpy as np
from digits import BATCH, EPOCHS, LEARNING_RATE, NOISE, REQUIRED_ACCURACY, Split, load_split

import numgrad as ng
from numgrad import Device
from numgrad.burn import (
    AdamConfig,
    GradientsParams,
    IntTensor,
    LinearConfig,
    Module,
    ModuleOptimizer,
    Tensor,
    activation,
)


class Classifier(Module):
    """A perceptron with two hidden layers."""

    def __init__(self, device: Device) -> None:
        self.hidden = [LinearConfig(64, 256).init(device), LinearConfig(256, 64).init(device)]
        self.output = LinearConfig(64, 10).init(device)

    def forward(self, pixels: Tensor) -> Tensor:
        for layer in self.hidden:
            pixels = activation.relu(layer(pixels))
        return self.output(pixels)


def train_epoch(
    model: Classifier, optimizer: ModuleOptimizer, rate: float, split: Split, rng: np.random.Generator
) -> tuple[Classifier, float]:
    """The model after one pass over the training set, in a new order and with new noise; and its mean loss."""
    (device,) = model.devices()
    order = rng.permutation(len(split.train_y))
    pixels = split.train_x[order]
    pixels = pixels + NOISE * rng.standard_normal(pixels.shape, dtype=np.float32)
    labels = split.train_y[order]
    losses = []
    for first in range(0, len(order), BATCH):
        batch = slice(first, first + BATCH)
        scores = model(Tensor.from_data(pixels[batch], device))
        loss = activation.cross_entropy(scores, IntTensor.from_data(labels[batch], device))
        gradients = GradientsParams.from_grads(loss.backward(), model)
        model = optimizer.step(rate, model, gradients)
        losses.append(loss.into_scalar())
    return model, float(np.mean(losses))


def accuracy(model: Classifier, split: Split) -> float:
    """The share of test digits that are read right."""
    scores = model.valid()(Tensor.from_data(split.test_x, Device.flex()))
    return float(np.mean(scores.argmax(1).to_data()[:, 0] == split.test_y))


def main() -> int:
    rng = np.random.default_rng(0)
    ng.manual_seed(0)
    split = load_split(rng)
    model, optimizer = Classifier(Device.flex().autodiff()), AdamConfig().init()
    for epoch in range(EPOCHS):
        model, loss = train_epoch(model, optimizer, LEARNING_RATE * (1 - epoch / EPOCHS), split, rng)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss:.4f}, test accuracy {accuracy(model, split):.2%}")
    return 0 if accuracy(model, split) >= REQUIRED_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
