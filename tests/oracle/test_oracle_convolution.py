"""Convolutions against PyTorch's: the same lines run in both libraries and must show, raise and warn the same."""

import warnings

import pytest
from side_by_side import shown, snippets

import numgrad

torch = pytest.importorskip("torch")

PRELUDE = """
from math import prod
def grid(*shape):
    return (torch.arange(float(prod(shape))) % 7 - 3).reshape(shape).requires_grad_()
def all_of(out, *leaves):
    weights = (torch.arange(float(out.numel())) % 5 - 2).reshape(out.shape)
    first = torch.autograd.grad(out, leaves, weights, create_graph=True)
    total = sum((g * g).sum() for g in first)
    second = torch.autograd.grad(total, leaves, allow_unused=True)
    return type(out.grad_fn).__name__, out.detach(), [g.detach() for g in first], second
""".replace("\n", "⏎").removeprefix("⏎")

VALUES = """
x, w, b = grid(2, 3, 6, 5), grid(4, 3, 3, 2), grid(4); out = all_of(F.conv2d(x, w, b), x, w, b)
x, w = grid(2, 3, 6, 5), grid(4, 3, 3, 2); out = all_of(F.conv2d(x, w, stride=(2, 1), padding=(1, 2)), x, w)
x, w = grid(2, 4, 6), grid(4, 2, 3); out = all_of(F.conv1d(x, w, groups=2, dilation=2, padding=1), x, w)
x, w = grid(2, 6), grid(4, 2, 3); out = all_of(F.conv1d(x, w, stride=2), x, w)
x, w, b = grid(1, 2, 3, 4, 3), grid(2, 2, 2, 2, 1), grid(2); out = all_of(F.conv3d(x, w, b, padding=1), x, w, b)
x, w = grid(2, 3, 6, 5), grid(6, 1, 3, 3); out = all_of(F.conv2d(x, w, groups=3, padding="same"), x, w)
x, w = grid(1, 1, 6, 7), grid(1, 1, 3, 3); out = all_of(F.conv2d(x, w, padding="same", dilation=(2, 3)), x, w)
x, w = grid(1, 2, 6), grid(1, 2, 3); out = all_of(F.conv1d(x, w, padding="valid"), x, w)
x, w, b = grid(2, 3, 4, 3), grid(3, 2, 3, 2), grid(2); out = all_of(F.conv_transpose2d(x, w, b), x, w, b)
x, w = grid(1, 2, 4, 3), grid(2, 2, 3, 2); out = all_of(F.conv_transpose2d(x, w, None, 2, 1, 1), x, w)
x, w = grid(1, 4, 3), grid(4, 1, 3); out = all_of(F.conv_transpose1d(x, w, groups=2, dilation=2, output_padding=1), x, w)
x, w = grid(1, 2, 2, 3, 2), grid(2, 1, 2, 2, 2); out = all_of(F.conv_transpose3d(x, w, stride=2, groups=2), x, w)
x, w = grid(3, 5), grid(3, 2, 2); out = all_of(F.conv_transpose1d(x, w), x, w)
x, w = grid(0, 3, 6, 5), grid(4, 3, 3, 2); out = F.conv2d(x, w).shape, torch.autograd.grad(F.conv2d(x, w).sum(), (x, w))
x, w, b = grid(0, 2, 3), grid(2, 3, 3), grid(3); out = torch.autograd.grad(F.conv_transpose1d(x, w, b).sum(), (x, w, b))
out = torch.conv2d(grid(1, 2, 4, 4).half(), grid(1, 2, 3, 3).half()).dtype
out = F.conv2d(grid(1, 2, 4, 4).bfloat16(), grid(1, 2, 3, 3).bfloat16(), padding=1)
out = F.conv2d(grid(1, 2, 4, 4).detach().long(), grid(1, 2, 3, 3).detach().long())
x, w = grid(1, 2, 5, 4), grid(1, 2, 2, 2); out = all_of(F.conv2d(x.transpose(2, 3), w[..., ::2]), x, w)
out = torch.convolution(grid(1, 2, 4), grid(2, 2, 2), None, [1], [0], [1], False, [0], 1)
out = torch.conv_tbc(grid(4, 2, 3), grid(2, 3, 2), grid(2), 1).detach()
out = F.conv2d(grid(1, 1, 28, 31), grid(1, 1, 3, 5), padding="same", dilation=(2, 3)).shape
"""

ERRORS = """
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 6, 6))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 3, 2, 2))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2))
F.conv2d(torch.ones(2, 5), torch.ones(3, 2, 2, 2))
F.conv1d(torch.ones(1, 1, 2, 5, 5), torch.ones(3, 2, 2))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), torch.ones(4))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), torch.ones(3, 1))
F.conv2d(torch.ones(1, 4, 5, 5), torch.ones(3, 2, 2, 2), groups=2)
F.conv2d(torch.ones(1, 4, 5, 5), torch.ones(4, 2, 2, 2), groups=0)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), stride=0)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), stride=(1, 2, 3))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), padding=-1)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), dilation=0)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), padding="foo")
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), padding="same", stride=2)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), padding=1.5)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), stride=1.5)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2).double())
F.conv2d(torch.ones(1, 2, 5, 5).bool(), torch.ones(3, 2, 2, 2).bool())
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), torch.ones(3).double())
F.conv2d(3, torch.ones(3, 2, 2, 2))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2), 3)
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(0, 2, 2, 2))
F.conv2d(torch.ones(1, 2, 0, 5), torch.ones(3, 2, 2, 2))
F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 0, 2))
F.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 2, 2))
F.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(2, 3, 2, 2), torch.ones(2))
F.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(2, 3, 2, 2), output_padding=1)
F.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(2, 3, 2, 2), output_padding=-1)
F.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(2, 3, 2, 2), padding="same")
F.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(2, 3, 2, 2), padding=5)
F.conv_transpose2d(torch.ones(1, 3, 5, 5), torch.ones(3, 3, 2, 2), groups=2)
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(4, 3, 3, groups=2)
nn.Conv2d(4, 3, 3, groups=0)
nn.Conv2d(4, 3, 3, padding="same", stride=2)
nn.ConvTranspose2d(4, 3, 3, padding_mode="reflect")
nn.ConvTranspose2d(2, 3, 3, stride=2)(torch.ones(1, 2, 4, 4), output_size=(3, 3))
nn.ConvTranspose2d(2, 3, 3, stride=2)(torch.ones(1, 2, 4, 4), output_size=(3,))
nn.Conv2d(2, 3, 3)(torch.ones(1, 3, 4, 4))
"""

MODULES = """
out = nn.Conv1d(2, 3, 3), nn.Conv2d(2, 4, (3, 5), stride=2, padding=(1, 2), dilation=2, groups=2, bias=False)
out = nn.Conv3d(2, 3, 3, padding="same"), nn.Conv2d(2, 3, 1, padding_mode="circular", padding=1)
out = nn.ConvTranspose1d(2, 3, 3, output_padding=1, stride=2), nn.ConvTranspose2d(2, 3, 3), nn.ConvTranspose3d(2, 3, 3)
m = nn.Conv2d(4, 6, (3, 2), groups=2); out = [(k, v.shape) for k, v in m.state_dict().items()]
m = nn.ConvTranspose2d(4, 6, (3, 2), groups=2); out = [(k, v.shape) for k, v in m.state_dict().items()]
m = nn.Conv2d(4, 6, 3, padding=(1, 2)); out = m.kernel_size, m.stride, m.padding, m._reversed_padding_repeated_twice
m = nn.Conv2d(4, 6, (2, 3), padding="same", dilation=2); out = m.padding, m._reversed_padding_repeated_twice, m.transposed
m = nn.ConvTranspose2d(2, 3, 3, stride=2); out = m(torch.ones(1, 2, 4, 4), output_size=(1, 3, 10, 9)).shape
m = nn.ConvTranspose1d(2, 3, 3, stride=2); out = m(torch.ones(2, 4), output_size=[10]).shape
out = nn.Conv2d(1, 1, 1, dtype=torch.float64, device="cpu").weight.dtype, nn.Conv2d(2, 3, 3)(torch.ones(2, 4, 4)).shape
out = isinstance(nn.Conv2d(1, 1, 1), nn.modules.conv._ConvNd)
"""


@pytest.mark.parametrize("snippet", snippets(VALUES + ERRORS + MODULES))
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, PRELUDE + snippet) == shown(torch, PRELUDE + snippet)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [1, (2, 1), "same"])
def test_padding_modes_with_the_same_weights(mode: str, padding: object) -> None:
    modules = [library.nn.Conv2d(2, 3, (3, 4), padding=padding, padding_mode=mode) for library in (numgrad, torch)]
    rows = torch.randn(1, 2, 5, 6, generator=torch.Generator().manual_seed(0)).tolist()
    modules[0].load_state_dict({name: numgrad.tensor(p.tolist()) for name, p in modules[1].state_dict().items()})
    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using padding='same' with even kernel")
        for library, module in zip((numgrad, torch), modules, strict=True):
            out = module(library.tensor(rows))
            out.square().sum().backward()
            found.append([x.reshape(-1).tolist() for x in (out, module.weight.grad, module.bias.grad)])
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-4)


def test_even_windows_with_same_padding_warn_as_in_pytorch() -> None:
    """PyTorch warns once in a process, so its text is given here."""
    x, w = numgrad.ones(1, 1, 4), numgrad.ones(1, 1, 2)
    with pytest.warns(UserWarning, match="Using padding='same' with even kernel lengths and odd dilation may require"):
        out = numgrad.conv1d(x, w, padding="same")
    assert out.tolist() == [[[2.0, 2.0, 2.0, 1.0]]]  # the extra item of padding is at the end


@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "ConvTranspose2d"])
def test_initial_weights_have_pytorchs_bounds(name: str) -> None:
    for library in (numgrad, torch):
        library.manual_seed(0)
        module = getattr(library.nn, name)(8, 64, 3, groups=2)
        bound = module.weight[0].numel() ** -0.5
        for parameter in (module.weight, module.bias):
            assert 0.85 * bound < parameter.abs().max().item() <= bound
