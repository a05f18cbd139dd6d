"""Train a convolutional network to read handwritten digits, save it, load it again, and use it.

Part of `make demo`. The exit status is 1 if the loaded network reads less than 98 % of the test digits.
"""

import sys
from pathlib import Path

import numpy as np

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional as F

HERE = Path(__file__).parent
FILE = HERE / "output" / "digits_conv.npz"
EPOCHS, BATCH = 40, 64
HIDDEN, KEPT = 128, 0.7  # units before the last layer, and the share of them that a mask keeps
REQUIRED_ACCURACY = 0.98


class ConvNet(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.hidden = nn.Linear(32 * 4 * 4, HIDDEN)
        self.scores = nn.Linear(HIDDEN, 10)

    def forward(self, x, mask=None):
        hidden = F.relu(self.hidden(self.features(x)))
        return self.scores(hidden if mask is None else hidden * mask)


def make_model():
    return ConvNet()


def load_split(rng, test_share=0.2):
    """Images in [-1, 1] and labels of the training and of the test set; every digit gives the same share to both."""
    with np.load(HERE / "data" / "digits.npz") as archive:
        images, labels = (archive["images"] / 8.0 - 1.0)[:, None], archive["labels"].astype(np.int64)
    rows = [rng.permutation(np.flatnonzero(labels == digit)) for digit in range(10)]
    test = np.concatenate([r[: round(test_share * len(r))] for r in rows])
    train = np.concatenate([r[round(test_share * len(r)) :] for r in rows])
    return images[train], labels[train], images[test], labels[test]


def batches(rng, images, labels, epochs=EPOCHS):
    """Batches of shifted and noisy images, their labels, and the hidden units to keep: all that is random."""
    for _ in range(epochs):
        order = rng.permutation(len(labels))
        for first in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[first : first + BATCH]
            padded = np.pad(images[rows], ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-1.0)
            down, right = rng.integers(0, 3, 2)
            shifted = padded[:, :, down : down + 8, right : right + 8]
            noisy = shifted + 0.2 * rng.standard_normal(shifted.shape)
            yield noisy, labels[rows], (rng.random((BATCH, HIDDEN)) < KEPT) / KEPT


def tensor(array):
    """An array as a tensor; floats in the default dtype."""
    return torch.tensor(array, dtype=torch.get_default_dtype() if array.dtype.kind == "f" else None)


def train(model, stream, steps):
    """The loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    losses = []
    model.train()
    for x, y, mask in stream:
        loss = F.cross_entropy(model(tensor(x), tensor(mask)), tensor(y), label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def predict(model, images):
    model.eval()
    with torch.no_grad():
        return model(tensor(images)).argmax(dim=1).numpy()


def main(epochs=EPOCHS):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    train_x, train_y, test_x, test_y = load_split(rng)
    model = make_model()
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(train_y)} digits to learn from")
    losses = train(model, batches(rng, train_x, train_y, epochs), epochs * (len(train_y) // BATCH))
    print(f"loss {losses[0]:.3f} -> {np.mean(losses[-20:]):.3f} in {len(losses)} steps")

    FILE.parent.mkdir(exist_ok=True)
    torch.save(model.state_dict(), FILE)
    loaded = make_model()
    loaded.load_state_dict(torch.load(FILE))
    predictions = predict(loaded, test_x)
    accuracy = np.mean(predictions == test_y)
    print(f"saved to {FILE}, loaded: {accuracy:.2%} of {len(test_y)} test digits read right")
    for row in np.linspace(0, len(test_y) - 1, 3).astype(int):
        print(f"\na {test_y[row]}, read as {predictions[row]}")
        for line in test_x[row, 0]:
            print("".join(" .:*#"[round(2 * v + 2)] * 2 for v in line))
    return 0 if accuracy >= REQUIRED_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
