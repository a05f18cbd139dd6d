"""PyTorch's own table of modules, `module_db`: its sample inputs run through both libraries, and what differs.

Both modules are made from the same arguments and given the same state. What is compared: what a module shows of itself
(repr, attributes, names of its state), results, gradients of inputs and parameters, the state afterwards, and for calls
that are refused the exception's type and text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import op_db
import torch
from side_by_side import neutral
from torch.nn.attention import SDPBackend, sdpa_kernel

import numgrad as ng

PLAIN = (bool, int, float, str, tuple, list, type(None))


def numgrad_class(cls: type) -> Any:
    """numgrad's module of the name; None while there is none."""
    return getattr(ng.nn, cls.__name__, None)


def samples(info: Any, dtype: torch.dtype, training: bool) -> list[Any]:
    """PyTorch's sample inputs of a module, in a fixed order with fixed values."""
    torch.manual_seed(0)
    with _noting_arguments(torch.nn.TransformerEncoderLayer):
        return list(info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training))


def error_samples(info: Any, dtype: torch.dtype) -> list[Any]:
    """Sample inputs that PyTorch refuses."""
    torch.manual_seed(0)
    return list(info.module_error_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=False))


@contextmanager
def _noting_arguments(cls: Any) -> Iterator[None]:
    """Modules of a class remember what they are made from: samples of others take them as arguments."""
    original = cls.__init__

    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.__dict__["_made_from"] = args, kwargs

    cls.__init__ = noting
    try:
        yield
    finally:
        cls.__init__ = original


def _converted_argument(value: Any) -> Any:
    if isinstance(value, torch.nn.Module):
        args, kwargs = value.__dict__["_made_from"]
        return _twin(value, type(value), args, kwargs)
    if inspect.isroutine(value):
        return getattr(ng.nn.functional, value.__name__)
    return op_db.converted(value)


def _made(cls: type, args: Any, kwargs: dict[str, Any]) -> Any:
    """numgrad's module of a class, made from PyTorch's arguments."""
    own = {name: _converted_argument(value) for name, value in kwargs.items()}
    return numgrad_class(cls)(*map(_converted_argument, args), **own)


def _twin(module: Any, cls: type, args: Any, kwargs: dict[str, Any]) -> Any:
    """numgrad's module with the same arguments, state and dtype as one of PyTorch's."""
    twin = _made(cls, args, kwargs).to(op_db.converted(kwargs.get("dtype") or torch.get_default_dtype()))
    _copy_state(module, twin)
    return twin


def _copy_state(module: Any, twin: Any) -> None:
    state = module.state_dict()
    assert list(twin.state_dict()) == list(state), f"state_dict {list(twin.state_dict())}, expected {list(state)}"
    initialized = [n for n, v in state.items() if not torch.nn.parameter.is_lazy(v)]
    if len(initialized) == len(state):
        twin.load_state_dict({name: op_db.converted(value) for name, value in state.items()})


def check_sample(info: Any, sample: Any, dtype: torch.dtype, training: bool) -> None:
    """One sample in both libraries; AssertionError tells what differs."""
    given = sample.constructor_input
    module = info.module_cls(*given.args, **given.kwargs).to(dtype).train(training)
    twin = _made(info.module_cls, given.args, given.kwargs).to(op_db.converted(dtype)).train(training)
    compare_modules(twin, module)
    forward = sample.forward_input
    arguments = op_db.fresh(forward.args), op_db.fresh(forward.kwargs)
    theirs = list(op_db.leaves_of(arguments))
    mine: list[Any] = []
    own_args, own_kwargs = op_db.converted(arguments[0], mine), op_db.converted(arguments[1], mine)
    if info.is_lazy:  # a call gives the parameters their shapes
        module(*arguments[0], **arguments[1])
        twin(*own_args, **own_kwargs)
        compare_modules(twin, module)
    _copy_state(module, twin)
    with sdpa_kernel(SDPBackend.MATH):  # the other ways of PyTorch's attention have no second gradients
        expected = module(*arguments[0], **arguments[1])
    got = twin(*own_args, **own_kwargs)
    op_db.compare(got, expected, "forward")
    for name, value in module.state_dict().items():
        op_db.compare(twin.state_dict()[name], value, f"state {name} after forward")
    theirs += [p for p in module.parameters() if p.requires_grad]
    mine += [p for p in twin.parameters() if p.requires_grad]
    op_db.check_gradients(got, expected, mine, theirs, info.supports_gradgrad)


def compare_modules(twin: Any, module: Any) -> None:
    """What two modules show of themselves is the same."""
    assert repr(twin) == repr(module), f"repr {twin!r}, expected {module!r}"
    for kind in ("named_parameters", "named_buffers", "named_modules"):
        found, wanted = ([_facts(*item) for item in getattr(m, kind)()] for m in (twin, module))
        assert found == wanted, f"{kind} {found}, expected {wanted}"
    assert list(twin.state_dict()) == list(module.state_dict())
    assert twin.state_dict()._metadata == module.state_dict()._metadata
    assert list(dict(twin.named_children())) == list(dict(module.named_children()))
    for one, other in zip(twin.modules(), module.modules(), strict=True):
        found, wanted = _attributes(one), _attributes(other)
        assert found == wanted, f"attributes of {type(other).__name__} {found}, expected {wanted}"


def _facts(name: str, member: Any) -> tuple[Any, ...]:
    if isinstance(member, (torch.nn.Module, ng.nn.Module)):
        return name, type(member).__name__, member.training
    kind = type(member).__name__
    if kind.startswith("Uninitialized"):
        return name, kind
    return name, kind, tuple(member.shape), str(member.dtype).split(".")[-1], member.requires_grad


def _attributes(module: Any) -> dict[str, Any]:
    """Plain public attributes of a module."""
    return {k: v for k, v in vars(module).items() if not k.startswith("_") and isinstance(v, PLAIN)}


def refusal(call: Callable[[], Any]) -> str:
    """The exception that a call raises, as text; 'nothing' if none."""
    try:
        call()
    except Exception as error:
        return neutral(f"{type(error).__name__}: {error}")
    return "nothing"


def check_error(info: Any, sample: Any) -> None:
    """A sample that is refused, when it is made or called: the same exception with the same text."""
    made, called = sample.module_error_input.constructor_input, sample.module_error_input.forward_input

    def theirs() -> None:
        info.module_cls(*made.args, **made.kwargs)(*called.args, **called.kwargs)

    def mine() -> None:
        module = _made(info.module_cls, made.args, made.kwargs)
        module(*op_db.converted(called.args), **op_db.converted(called.kwargs))

    found, expected = refusal(mine), refusal(theirs)
    assert found == expected, f"{found}, expected {expected}"


def signature(function: Callable[..., Any]) -> list[tuple[str, str, str]] | None:
    """Names, kinds and defaults of a function's parameters; None where Python does not know them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    return [(p.name, p.kind.name, neutral(repr(p.default))) for p in parameters]
