"""Layers and losses, forward and backward."""

from typing import Any

from benchmarks.case import Case, Step


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


CASES = [
    Case("layer_norm + gelu 2048x1024", normalized_gelu, 1.0, (2,)),
    Case("batch_norm 32x64x28x28", normalized_images),
    Case("cross_entropy 4096x1024", class_scores, 1.0, (2,)),
    Case("conv2d 1 to 8 channels", lambda library: convolution(library, 1, 8, 0), on_threads=(2,)),
    Case("conv2d 32 to 64 channels", lambda library: convolution(library, 32, 64, 1), on_threads=(2,)),
    Case("max_pool2d of 64 channels", max_pool, on_threads=(2,)),
    Case("Embedding, 8192 of 50000x64", embedding, 1.0, (2,)),
]
