"""Train a small network to read handwritten digits: `make demo`, or `python examples/digits.py`.

Three trainings from three seeds, each with its own stratified 80/20 split, weights and noise. Prints the test accuracy
of each, and draws the loss curves and twelve test digits with their predictions. The exit status is 1 if any of the
accuracies is under 97 %.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # draw into files: no display is needed

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import numgrad as ng
from numgrad import nn
from numgrad.nn import functional as F

HERE = Path(__file__).parent
DATA = HERE / "data" / "digits.npz"
PICTURE = HERE / "output" / "digits.png"

SEEDS = (0, 1, 2)
EPOCHS = 60
BATCH = 64
LEARNING_RATE = 4e-3  # falls linearly to zero over the training
NOISE = 0.4  # standard deviation added to the training pixels, which lie in [-1, 1]
REQUIRED_ACCURACY = 0.97


@dataclass
class Split:
    """Pixels (one row per image) and labels of the training and test sets, as NumPy arrays."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


@dataclass
class Result:
    """What one training leaves behind."""

    seed: int
    losses: list[float]  # one per step
    predictions: np.ndarray
    split: Split
    seconds: float

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.predictions == self.split.test_y))


def load_split(rng: np.random.Generator, test_share: float = 0.2) -> Split:
    """The digits scaled to [-1, 1], split so that every class gives the same share to the test set."""
    with np.load(DATA) as archive:
        pixels = (archive["images"].reshape(-1, 64) / 8.0 - 1.0).astype(np.float32)
        labels = archive["labels"].astype(np.int64)
    train, test = [], []
    for digit in range(10):
        rows = rng.permutation(np.flatnonzero(labels == digit))
        cut = round(test_share * len(rows))
        test.append(rows[:cut])
        train.append(rows[cut:])
    train_rows, test_rows = np.concatenate(train), np.concatenate(test)
    return Split(pixels[train_rows], labels[train_rows], pixels[test_rows], labels[test_rows])


def make_model() -> nn.Sequential:
    """A perceptron with two hidden layers."""
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))


def noisy_epoch(split: Split, rng: np.random.Generator, device: str) -> tuple[ng.Tensor, ng.Tensor]:
    """The training set in a new order, with new noise, on the device."""
    order = rng.permutation(len(split.train_y))
    pixels = split.train_x[order]
    pixels = pixels + NOISE * rng.standard_normal(pixels.shape, dtype=np.float32)
    return ng.from_numpy(pixels).to(device), ng.from_numpy(split.train_y[order]).to(device)


def train(seed: int, device: str, progress: tqdm) -> Result:
    """Train from `seed`, advancing `progress` by one an epoch, and predict the test set."""
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    ng.manual_seed(seed)
    split = load_split(rng)
    model = make_model().to(device)
    optimizer = ng.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    losses = []
    for epoch in range(EPOCHS):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - epoch / EPOCHS)
        x, y = noisy_epoch(split, rng, device)
        for first in range(0, len(split.train_y), BATCH):
            loss = F.cross_entropy(model(x[first : first + BATCH]), y[first : first + BATCH])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        progress.set_postfix(seed=seed, loss=f"{losses[-1]:.4f}", refresh=False)
        progress.update()

    with ng.no_grad():
        scores = model(ng.from_numpy(split.test_x).to(device))
        predictions = scores.argmax(dim=1).to("cpu").numpy()
    return Result(seed, losses, predictions, split, time.perf_counter() - start)


def draw(results: list[Result], path: Path) -> None:
    """Loss curves of all trainings on the left; on the right twelve test digits of the last one, its mistakes first."""
    figure = plt.figure(figsize=(11, 5), layout="constrained")
    figure.set_layout_engine("constrained", hspace=0.12)  # a title belongs to the digit below it
    curves, gallery = figure.subfigures(1, 2, width_ratios=(1, 1.1))

    axes = curves.subplots()
    for result in results:
        by_epoch = np.array(result.losses).reshape(EPOCHS, -1).mean(axis=1)
        label = f"seed {result.seed}: {result.accuracy:.1%} of test digits right"
        axes.semilogy(np.arange(1, EPOCHS + 1), by_epoch, label=label)
    axes.set(xlabel="epoch", ylabel="training loss (mean of the epoch)")
    axes.grid(alpha=0.3)
    axes.legend()

    last = results[-1]
    wrong = np.flatnonzero(last.predictions != last.split.test_y)[:4]
    right = np.flatnonzero(last.predictions == last.split.test_y)
    evenly = right[np.linspace(0, len(right) - 1, 12 - len(wrong)).astype(int)]  # the test set is sorted by class
    for axes, row in zip(gallery.subplots(3, 4).flat, np.concatenate([wrong, evenly]), strict=True):
        predicted, label = last.predictions[row], last.split.test_y[row]
        axes.imshow(last.split.test_x[row].reshape(8, 8), cmap="gray_r", interpolation="nearest")
        axes.set_title(f"{predicted}" if predicted == label else f"{predicted}, not {label}",
                       color="black" if predicted == label else "crimson")  # fmt: skip
        axes.set_axis_off()
    gallery.suptitle(f"test digits and their predictions (seed {last.seed})")

    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    device = "cuda" if ng.cuda.is_available() else "cpu"
    print(f"device: {device}")
    with tqdm(total=len(SEEDS) * EPOCHS, unit="epoch", mininterval=0.5) as progress:
        results = [train(seed, device, progress) for seed in SEEDS]
    for result in results:
        steps = len(result.losses)
        last_epoch = np.mean(result.losses[-steps // EPOCHS :])
        print(
            f"seed {result.seed}: test accuracy {result.accuracy:.2%}, loss {result.losses[0]:.2f} -> "
            f"{last_epoch:.3f} in {steps} steps, {result.seconds:.2f} s"
            + (" (first use compiles the kernels)" if result is results[0] else "")
        )
    draw(results, PICTURE)
    print(f"picture: {PICTURE}")

    failed = [result.seed for result in results if result.accuracy < REQUIRED_ACCURACY]
    if failed:
        print(f"FAILED: under {REQUIRED_ACCURACY:.0%} with seeds {failed}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
