"""Transformers against PyTorch's: values, gradients twice, what they show, texts and warnings."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of ops needs it")

import op_db  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

LIBRARIES = (numgrad, torch)
IGNORED = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True", "ignore:The PyTorch API of nested tensors")


def values(library: ModuleType, *shape: int, seed: int = 0) -> Any:
    """The same items in both libraries."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(shape, generator=generator, dtype=torch.float64)
    return made if library is torch else numgrad.from_numpy(made.numpy())


def with_state(library: ModuleType, module: Any) -> Any:
    """The module with the same parameters in both libraries, in float64."""
    module = module.to(library.float64)
    with library.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(values(library, *parameter.shape, seed=number) / 2)
    return module


def compare(run: Any, twice: bool = False) -> None:
    """What `run(library)` gives, results and leaves, agrees with gradients and second gradients."""
    with sdpa_kernel(SDPBackend.MATH):  # the other ways of PyTorch's attention have no second gradients
        (got, mine), (expected, theirs) = (run(library) for library in LIBRARIES)
    op_db.compare(got, expected, "forward")
    op_db.check_gradients(got, expected, mine, theirs, twice)


def masks_of(library: ModuleType, kinds: str, prefix: str, steps: int) -> dict[str, Any]:
    """Arguments of a layer: a padding mask, a causal one, a float one."""
    given = {}
    if "padding" in kinds:
        given[f"{prefix}_key_padding_mask"] = library.tensor([[False] * steps, [False] + [True] * (steps - 1)])
    if "causal" in kinds:
        given[f"{prefix}_mask"] = library.ones(steps, steps, dtype=library.bool).triu(1)
    if "hint" in kinds:
        given[f"{prefix}_mask"] = library.nn.Transformer.generate_square_subsequent_mask(steps, dtype=library.float64)
        given["is_causal" if prefix == "src" else f"{prefix}_is_causal"] = True
    return given


LAYERS = {
    "plain": {},
    "norm first": {"norm_first": True, "activation": "gelu"},
    "batch first, no bias": {"batch_first": True, "bias": False},
    "a function": {"activation": "tanh", "layer_norm_eps": 0.1},
}


def layer(library: ModuleType, kind: str, options: str) -> Any:
    given = dict(LAYERS[options])
    if given.get("activation") == "tanh":
        given["activation"] = library.tanh
    return with_state(library, getattr(library.nn, kind)(4, 2, 6, 0.0, **given))


@pytest.mark.parametrize("masks", ["", "padding", "causal", "padding causal", "hint"])
@pytest.mark.parametrize("options", LAYERS)
def test_encoder_layer(options: str, masks: str) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        module = layer(library, "TransformerEncoderLayer", options)
        x = values(library, 2, 3, 4).requires_grad_()
        given = x if "batch_first" in LAYERS[options] else x.transpose(0, 1)
        return module(given, **masks_of(library, masks, "src", 3)), [x, *module.parameters()]

    compare(run)


@pytest.mark.parametrize("masks", ["", "padding causal", "hint"])
@pytest.mark.parametrize("options", LAYERS)
def test_decoder_layer(options: str, masks: str) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        module = layer(library, "TransformerDecoderLayer", options)
        x, memory = values(library, 2, 3, 4).requires_grad_(), values(library, 2, 5, 4, seed=1).requires_grad_()
        given = [x, memory] if "batch_first" in LAYERS[options] else [x.transpose(0, 1), memory.transpose(0, 1)]
        call = masks_of(library, masks, "tgt", 3) | masks_of(library, "padding" if masks else "", "memory", 5)
        return module(*given, **call), [x, memory, *module.parameters()]

    compare(run)


def test_second_gradients() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        x = values(library, 2, 1, 4).requires_grad_()
        return layer(library, "TransformerEncoderLayer", "norm first")(x), [x]

    compare(run, twice=True)


@IGNORED
@pytest.mark.parametrize("masks", ["", "padding", "causal", "hint"])
@pytest.mark.parametrize("mode", ["training", "evaluation", "without gradients"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_encoder(batch_first: bool, mode: str, masks: str) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        nn = library.nn
        made = nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=batch_first)
        module = with_state(library, nn.TransformerEncoder(made, 2, nn.LayerNorm(4)))
        x = values(library, 2, 3, 4).requires_grad_(mode != "without gradients")
        call = {k.removeprefix("src_") if k == "src_mask" else k: v for k, v in masks_of(library, masks, "src", 3).items()}
        given = x if batch_first else x.transpose(0, 1)
        if mode == "training":
            return module(given, **call), [x, *module.parameters()]
        module.eval()
        if mode == "evaluation":
            return module(given, **call), [x]
        with library.no_grad():
            return module(given, **call), []

    compare(run)


@IGNORED
def test_padding_in_the_middle_is_not_left_out() -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        nn = library.nn
        module = with_state(library, nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=True), 1))
        padding = library.tensor([[False, True, False], [False, False, True]])
        with library.no_grad():
            return module.eval()(values(library, 2, 3, 4), src_key_padding_mask=padding), []

    compare(run)


@IGNORED
@pytest.mark.parametrize("is_batched", [True, False])
def test_transformer(is_batched: bool) -> None:
    def run(library: ModuleType) -> tuple[Any, list[Any]]:
        module = with_state(library, library.nn.Transformer(4, 2, 1, 2, 6, 0.0))
        lead = (2,) if is_batched else ()
        src = values(library, 5, *lead, 4).requires_grad_()
        tgt = values(library, 3, *lead, 4, seed=1).requires_grad_()
        mask = module.generate_square_subsequent_mask(3, dtype=library.float64)
        padding = library.tensor([[False] * 5, [False] * 3 + [True] * 2]) if is_batched else None
        found = module(src, tgt, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return found, [src, tgt, *module.parameters()]

    compare(run)


PRELUDE = """
R = torch.ones
E, D = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
"""

SNIPPETS = snippets("""
out = E(4, 2, 8), D(4, 2, 8, 0.5, bias=False)
out = E(4, 2, 8, activation="gelu").activation is F.gelu, E(4, 2, activation=nn.ReLU()), E(4, 2, activation=nn.GELU("tanh"))
out = list(E(4, 2).state_dict()), list(D(4, 2, bias=False).state_dict())
out = [E(4, 2, activation=a).activation_relu_or_gelu for a in ("relu", "gelu", F.relu, nn.GELU(), nn.ReLU(), torch.tanh)]
E(4, 2, activation="tanh")
E(4, 3)
E(4, 2)(R(1, 1, 1, 4))
E(4, 2)(R(3, 2, 5))
E(4, 2)(R(3, 2, 4), src_mask=R(2, 2))
E(4, 2)(R(3, 2, 4), src_mask=R(3, 3, dtype=torch.int64))
E(4, 2)(R(3, 2, 4), is_causal=True)
out = E(4, 2, 8, 0.0)(R(3, 2, 4), R(3, 3), R(2, 3) > 2).shape
out = nn.TransformerEncoder(E(4, 2), 2)
out = nn.TransformerEncoder(E(4, 2, batch_first=True), 2, nn.LayerNorm(4)), nn.TransformerDecoder(D(4, 2), 1)
out = nn.TransformerEncoder(E(4, 2, batch_first=True, norm_first=True), 1).use_nested_tensor
out = nn.TransformerEncoder(E(3, 3, batch_first=True), 1).use_nested_tensor
out = nn.TransformerEncoder(E(4, 2, batch_first=True, bias=False), 1).use_nested_tensor
out = nn.TransformerEncoder(E(4, 2, batch_first=True, activation=torch.tanh), 1).use_nested_tensor
out = nn.TransformerEncoder(E(4, 2), 1, enable_nested_tensor=False).use_nested_tensor
m = nn.TransformerEncoder(E(4, 2, batch_first=True), 2); out = m.layers[0] is m.layers[1], torch.equal(m.layers[0].linear1.weight, m.layers[1].linear1.weight)
m = nn.Transformer(4, 2, 1, 1, 8); out = m, m.encoder.use_nested_tensor, bool(m.encoder.layers[0].linear1.weight.abs().max() < 0.7072)
m = nn.Transformer(4, 2, 1, 1, 8, custom_encoder=nn.Identity(), custom_decoder=nn.Identity()); out = m
m = nn.Transformer(4, 2, 1, 1, 8); m(R(3, 2, 4), R(3, 3, 4))
m = nn.Transformer(4, 2, 1, 1, 8, batch_first=True); m(R(3, 2, 4), R(2, 2, 4))
m = nn.Transformer(4, 2, 1, 1, 8); m(R(3, 2, 5), R(3, 2, 4))
out = nn.Transformer.generate_square_subsequent_mask(3), nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64)
out = nn.GELU(), nn.GELU("tanh")(torch.arange(3.0)), nn.GELU()(torch.arange(3.0))
nn.GELU("x")(R(1))
""")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_same_lines_show_the_same(snippet: str) -> None:
    line = PRELUDE.strip().replace("\n", "⏎") + "⏎" + snippet
    assert shown(numgrad, line) == shown(torch, line)
