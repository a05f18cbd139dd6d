"""Parameters that are functions of others: `register_parametrization` and what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, NoReturn

from ...autograd.grad_mode import no_grad
from ...tensor import Tensor
from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Any] = {}
_caching = 0  # how many `cached()` are running
_UNLESS = "of the tensor, unless {the}`unsafe` flag is enabled.\n"
_NO_PICKLE = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)


@contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed once, when it is first asked for."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors that they are functions of.

    These are `original`, or `original0`, `original1`, ... where the last `right_inverse` gives several.
    `register_parametrization` makes it.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = self._inverted(original)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            self._check(shape, dtype)

    def _inverted(self, value: Any) -> Any:
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                with suppress(NotImplementedError):
                    value = module.right_inverse(value)
        return value

    def _keep_one(self, original: Any, new: Tensor) -> None:
        for name in ("dtype", "device"):
            old, given = getattr(original, name), getattr(new, name)
            if old != given:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {name}.\n"
                    f"original.{name}: {old}\nright_inverse(original).{name}: {given}"
                )
        original.data = new.detach()
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for position, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {position} of the sequence with type {type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            _register(self, f"original{position}", part.requires_grad_(original.requires_grad))

    def _check(self, shape: Any, dtype: Any) -> None:
        found = self()
        if not isinstance(found, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
        for name, old, new in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
            if old != new:
                raise ValueError(
                    f"Registering a parametrization may not change the {name} {_UNLESS.format(the='')}"
                    f"unparametrized {name}: {old}\nparametrized {name}: {new}"
                )

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrized tensor becomes `value`.

        Raises RuntimeError for a parametrization without an inverse, ValueError for one that returns what does not fit.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        original: Any = self.original
        if value.dtype != original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                f"{original.dtype}"
            )
        original.data = value.detach()

    def _set_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                f"{len(values)}."
            )
        for position, value in enumerate(values):
            original = getattr(self, f"original{position}")
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. Got element "
                    f"{position} of type {type(value).__name__}."
                )
            if original.dtype != value.dtype:
                raise ValueError(
                    f"Tensor {position} returned by `right_inverse` has dtype {value.dtype} while "
                    f"`original{position}` has dtype {original.dtype}"
                )
            original.data = value.detach()

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *others = self
        names = ["original"] if self.is_tensor else [f"original{position}" for position in range(self.ntensors)]
        found = first(*(getattr(self, name) for name in names))
        for module in others:
            found = module(found)
        return found


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer of a module the result of `parametrization`, whenever it is read.

    The tensor that was there becomes `module.parametrizations[tensor_name].original`, which the optimizer trains; with a
    method `right_inverse` its value is what that gives, which may be several tensors. Further parametrizations of the same
    tensor follow each other. Without `unsafe` shape and dtype must stay.

    >>> class Symmetric(Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True

    Raises ValueError for a name that the module does not have, and for a parametrization that does not fit.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        found: Any = module.parametrizations[tensor_name]
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        found.append(parametrization)
        found.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        found = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _derive_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = found
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def _check_further(module: Module, tensor_name: str, parametrization: Any) -> None:
    before = getattr(module, tensor_name)
    after = parametrization(before)
    own = f"module.{tensor_name}"
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for name in ("dtype", "shape"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {name} {_UNLESS.format(the='the ')}"
                f"{own}.{name}: {old}\nparametrization({own}).{name}: {new}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for name in ("dtype", "shape"):
        old, new = getattr(before, name), getattr(inverse, name)
        if old != new:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {name} as {own}, unless the "
                f"`unsafe` flag is enabled.\n{own}.{name}: {old}\nreturned {name}: {new}"
            )


def _derive_class(module: Module) -> None:
    """Give a module a class of its own, for the properties in place of its tensors."""
    cls = type(module)

    def getstate(self: Module) -> NoReturn:
        raise RuntimeError(_NO_PICKLE)

    def copied(self: Module, memo: dict[int, Any]) -> Module:
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__.update(deepcopy(self.__dict__, memo))
        return replica

    members: dict[str, Any] = {"__getstate__": getstate, "__deepcopy__": getattr(cls, "__deepcopy__", copied)}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _property(tensor_name: str) -> property:
    def compute(self: Any) -> Any:
        function: Callable[[], Any] = self.parametrizations[tensor_name]
        if not _caching:
            return function()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = function()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    return property(compute, assign)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module, or any of them, is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor an ordinary one: with the value that it has, or the original.

    Raises ValueError for a tensor that is not parametrized, and where there are several originals to go back to.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
            "of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = _type_before(module)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized."""
    return _type_before(module) if is_parametrized(module) else type(module)


def _type_before(module: Module) -> type:
    """The class that a parametrized module's own class was derived from."""
    return type(module).__bases__[0]


def _register(module: Module, name: str, tensor: Tensor) -> None:
    """Register a parameter as such, another tensor as a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)
