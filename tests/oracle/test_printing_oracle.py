"""The text of tensors against PyTorch's own, over generated dtypes, shapes, magnitudes and print options."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import numgrad
from numgrad import printing

torch = pytest.importorskip("torch")

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
SHAPES = [(), (1,), (7,), (2, 3), (3, 1, 4), (0,), (0, 2), (2, 0, 3), (1, 1, 1, 2), (23,), (5, 30), (1200,), (40, 60)]
OPTIONS: list[dict[str, Any]] = [
    {"precision": 2},
    {"precision": 0},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 30},
    {"linewidth": 1},
    {"threshold": 5, "edgeitems": 2},
    {"threshold": 0, "edgeitems": 0},
    {"profile": "short"},
    {"profile": "full"},
]


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    for library in (torch, printing):
        library.set_printoptions(profile="default")


def ours(tensor: Any, **keywords: Any) -> str:
    plain = tensor.detach()
    if tensor.is_complex():
        kind = "complex"
    elif tensor.is_floating_point():
        kind = "float"
    else:
        kind = "bool" if tensor.dtype == torch.bool else "int"
    return printing.tensor_repr(
        lambda index: plain[index].tolist(),
        shape=tuple(tensor.shape),
        dtype_name=str(tensor.dtype).removeprefix("torch."),
        kind=kind,
        requires_grad=tensor.requires_grad,
        grad_fn_name=None if tensor.grad_fn is None else tensor.grad_fn.name(),
        **keywords,
    )


def with_specials(tensor: Any, generator: Any) -> Any:
    """Strew zeros of both signs, infinities and NaN over a tensor."""
    specials = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan], dtype=tensor.dtype)
    picked = specials[torch.randint(len(specials), tensor.shape, generator=generator)]
    return torch.where(torch.rand(tensor.shape, generator=generator) < 0.3, picked, tensor)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floating(dtype: Any, shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(len(shape) + sum(shape))
    for exponent in (-6, -3, 0, 2, 4, 9):
        tensor = (torch.randn(shape, generator=generator, dtype=torch.float64) * 10.0**exponent).to(dtype)
        for numbers in (tensor, tensor.round()):
            for sample in (numbers, with_specials(numbers, generator)):
                assert ours(sample) == repr(sample)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_complex(dtype: Any, shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(sum(shape))
    real, imag = (with_specials(torch.randn(shape, generator=generator), generator) for _ in range(2))
    for scale_real, scale_imag in ((1.0, 1.0), (1e-6, 1.0), (1.0, 1e10)):
        tensor = torch.complex(real * scale_real, imag * scale_imag).to(dtype)
        assert ours(tensor) == repr(tensor)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_and_bool(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(sum(shape))
    for low, high, dtype in ((-9, 10, torch.int64), (-(10**12), 10**12, torch.int64), (-99, 99, torch.int8)):
        tensor = torch.randint(low, high, shape, generator=generator).to(dtype)
        assert ours(tensor) == repr(tensor)
    for dtype in (torch.uint8, torch.int16, torch.int32, torch.bool):
        tensor = torch.randint(0, 2, shape, generator=generator).to(dtype)
        assert ours(tensor) == repr(tensor)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options(options: dict[str, Any]) -> None:
    for library in (torch, printing):
        library.set_printoptions(**options)
    generator = torch.Generator().manual_seed(0)
    for shape, scale in itertools.product([(), (7,), (4, 9), (3, 4, 5), (40, 30)], (1e-5, 1.0, 1e6)):
        tensor = torch.randn(shape, generator=generator) * scale
        for sample in (tensor, with_specials(tensor.round(), generator), tensor.long(), torch.complex(tensor, -tensor)):
            assert ours(sample) == repr(sample)


def test_suffixes() -> None:
    for count, dtype in itertools.product(range(1, 25), (torch.float32, torch.float64)):
        leaf = torch.full((count,), 1.5, dtype=dtype, requires_grad=True)
        for sample in (leaf, leaf * 2, leaf[None] - 1, leaf[:0], leaf[:0, None].exp()):
            assert ours(sample) == repr(sample)


def test_parameter() -> None:
    parameter = torch.nn.Parameter(torch.eye(3) * 0.5)
    assert ours(parameter, prefix="Parameter containing:\ntensor(") == repr(parameter)


NUMGRAD_DTYPES = [
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "bool"),
]


def twin(tensor: Any) -> Any:
    """The same tensor of numgrad."""
    name = str(tensor.dtype).removeprefix("torch.")
    wide = tensor.detach().float().numpy() if name == "bfloat16" else tensor.detach().numpy()
    return numgrad.tensor(wide, dtype=numgrad.bool if name == "bool" else getattr(numgrad, name))


@pytest.mark.parametrize("name", NUMGRAD_DTYPES)
def test_tensors(name: str) -> None:
    """repr, str and format of numgrad's own tensors: random shapes, magnitudes, layouts, places in the graph."""
    generator = torch.Generator().manual_seed(5)
    dtype = getattr(torch, name)
    for trial in range(30):
        rank = trial % 5
        shape = [int(torch.randint(0 if trial % 7 == 0 else 1, 6, (), generator=generator)) for _ in range(rank)]
        if trial % 10 == 9:
            shape = [40, 30]
        values = torch.randn(shape, generator=generator, dtype=torch.float64) * 10.0 ** (trial % 6 - 2)
        tensor = (values if dtype.is_complex or dtype.is_floating_point else values % 100).to(dtype)
        if dtype.is_complex:
            tensor = tensor * (1 - 0.5j)
        ours, theirs = twin(tensor), tensor.clone()
        for show in (repr, str, "{}".format):
            assert show(ours) == show(theirs)
        if rank > 1:
            assert repr(ours.t() if rank == 2 else ours.transpose(0, 1)) == repr(theirs.transpose(0, 1))
        if dtype.is_complex or dtype.is_floating_point:
            ours, theirs = ours.requires_grad_(), theirs.requires_grad_()
            assert repr(ours) == repr(theirs)
            assert repr(ours * 2) == repr(theirs * 2)
            assert repr(numgrad.nn.Parameter(ours.detach())) == repr(torch.nn.Parameter(theirs.detach()))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options_of_tensors(options: dict[str, Any]) -> None:
    for library in (torch, numgrad):
        library.set_printoptions(**options)
    generator = torch.Generator().manual_seed(1)
    for shape in [(), (7,), (4, 9), (3, 4, 5), (40, 30), (0, 3)]:
        tensor = torch.randn(shape, generator=generator) * 100
        for sample in (tensor, tensor.round(), tensor.long(), tensor > 0, tensor.double()):
            assert repr(twin(sample)) == repr(sample)


def test_the_default_dtype_is_not_named() -> None:
    try:
        for library in (torch, numgrad):
            library.set_default_dtype(library.float64)
        for sample in (torch.ones(2), torch.ones(2, dtype=torch.float32), torch.zeros(0), torch.zeros(0, 2).long()):
            assert repr(twin(sample)) == repr(sample)
    finally:
        for library in (torch, numgrad):
            library.set_default_dtype(library.float32)
