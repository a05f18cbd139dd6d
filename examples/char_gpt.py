"""Train a small GPT, letter by letter, on two founding documents of the United States, and let it go on writing.

The architecture is that of GPT-2 (Radford et al., 2019): blocks of causal self-attention and a perceptron, each behind a
layer norm. A few minutes of training on two cores give text of the time's spelling and tone.

Run it with `python examples/char_gpt.py`, with a number of steps if you like.
"""

import math
import sys
from pathlib import Path

import numpy as np

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional as F

TEXT = (Path(__file__).parent / "data" / "constitution.txt").read_text(encoding="utf-8")
ALPHABET = sorted(set(TEXT))
LAYERS, HEADS, WIDTH, CONTEXT = 3, 4, 96, 64
BATCH, STEPS = 16, 1500


class Block(nn.Module):
    """Every letter looks back at the letters before it, then thinks by itself."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.mix(seen.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Scores of every next letter."""

    def __init__(self, letters, layers, heads, width, context):
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)
        self.apply(self._start)

    def _start(self, module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, letters):
        x = self.letters(letters) + self.places(torch.arange(letters.shape[1]))
        return self.scores(self.norm(self.blocks(x)))


def make_model(layers=LAYERS, heads=HEADS, width=WIDTH, context=CONTEXT):
    return GPT(len(ALPHABET), layers, heads, width, context)


def batches(rng, steps=STEPS, size=BATCH, context=CONTEXT):
    """Pieces of the text as numbers, and the same one letter on."""
    numbers = np.array([ALPHABET.index(letter) for letter in TEXT])
    for _ in range(steps):
        pieces = numbers[rng.integers(0, len(numbers) - context, size)[:, None] + np.arange(context + 1)]
        yield pieces[:, :-1], pieces[:, 1:]


def learning_rate(step, steps):
    """A warm-up, then half a cosine down to a tenth."""
    if step < 50:
        return (step + 1) / 50
    return 0.55 + 0.45 * math.cos(math.pi * (step - 50) / max(1, steps - 50))


def train(model, stream, steps, report=None):
    """The loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, steps))
    losses = []
    for x, y in stream:
        scores = model(torch.tensor(x))
        loss = F.cross_entropy(scores.flatten(0, 1), torch.tensor(y).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if report is not None:
            report(losses)
    return losses


def sample(model, start, count, rng, temperature=0.7):
    """The text that the model goes on with, letter by letter."""
    numbers = [ALPHABET.index(letter) for letter in start]
    context = model.places.num_embeddings
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([numbers[-context:]]))[0, -1]
            chances = F.softmax(scores.double() / temperature, dim=-1).numpy()
            numbers.append(int(rng.choice(len(ALPHABET), p=chances / chances.sum())))
    return "".join(ALPHABET[number] for number in numbers)


def main(steps=STEPS, layers=LAYERS, letters=500):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    model = make_model(layers)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(TEXT)} letters, {len(ALPHABET)} different ones")

    def report(losses):
        if len(losses) % 100 == 0:
            print(f"step {len(losses)}: loss {np.mean(losses[-100:]):.3f}", flush=True)

    train(model, batches(rng, steps), steps, report)
    print("\n" + sample(model, "The President ", letters, rng))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
