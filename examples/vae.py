"""A variational autoencoder of handwritten digits (Kingma and Welling, 2014), and digits that it makes up.

The encoder gives each digit a normal distribution in a space of eight dimensions, from which the decoder has to draw it
again; the loss is the negative of the evidence's lower bound.

Run it with `python examples/vae.py`.
"""

from pathlib import Path

import numpy as np

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional as F

HIDDEN, LATENT, BATCH, EPOCHS = 256, 8, 64, 60


class VAE(nn.Module):
    """Encoder, noise, decoder."""

    def __init__(self, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x, noise):
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        code = mean + noise * torch.exp(0.5 * log_variance)
        return self.decoder(code), mean, log_variance


def make_model(hidden=HIDDEN, latent=LATENT):
    return VAE(hidden, latent)


def load_images():
    with np.load(Path(__file__).parent / "data" / "digits.npz") as archive:
        return archive["images"].reshape(-1, 64) / 16.0


def batches(rng, images, epochs=EPOCHS, latent=LATENT):
    """Images, and the noise of their codes."""
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for first in range(0, len(order) - BATCH + 1, BATCH):
            yield images[order[first : first + BATCH]], rng.standard_normal((BATCH, latent))


def tensor(array):
    return torch.tensor(array, dtype=torch.get_default_dtype())


def loss_of(model, x, noise):
    """What drawing the images costs, and how far their codes are from a standard normal distribution, per image."""
    scores, mean, log_variance = model(x, noise)
    drawing = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    distance = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (drawing + distance) / len(x)


def train(model, stream):
    """The loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for x, noise in stream:
        loss = loss_of(model, tensor(x), tensor(noise))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(epochs=EPOCHS):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    model, images = make_model(), load_images()
    losses = train(model, batches(rng, images, epochs))
    print(f"loss {losses[0]:.2f} -> {np.mean(losses[-20:]):.2f} in {len(losses)} steps")
    with torch.no_grad():
        made = torch.sigmoid(model.decoder(tensor(rng.standard_normal((6, LATENT))))).numpy().reshape(6, 8, 8)
    print("\ndigits that never were:")
    for row in range(8):
        print("  ".join("".join(" .:*#"[int(4.99 * v)] * 2 for v in image[row]) for image in made))


if __name__ == "__main__":
    main()
