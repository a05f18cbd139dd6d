"""The base class of everything that has parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NoReturn, Self

from ..ops.inspection import typename
from ..tensor import Tensor
from .conversion import ConversionMethods
from .hooks import HookMethods, hook_tables, registered
from .parameter import Buffer, Parameter
from .state_dict import StateDictMethods

__all__ = ["Module"]


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Compute the result; every subclass defines it, and callers call the module itself so that hooks run."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(HookMethods, StateDictMethods, ConversionMethods):
    """A piece of a network: parameters, buffers and further modules under attribute names.

    Assigning a `Parameter` or a `Module` to an attribute registers it; `register_buffer` adds a tensor that is part of
    the state but is not trained. Calling the module runs its hooks around `forward`.

    >>> class Net(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = Linear(2, 3)
    ...
    ...     def forward(self, x):
    ...         return self.hidden(x).relu()
    >>> Net()
    Net(
      (hidden): Linear(in_features=2, out_features=3, bias=True)
    )
    >>> [name for name, parameter in Net().named_parameters()]
    ['hidden.weight', 'hidden.bias']
    """

    training: bool
    call_super_init: ClassVar[bool] = False
    """Whether `__init__` hands its arguments to the next class, for modules that also derive from others."""
    dump_patches: ClassVar[bool] = False
    """Without effect, as in PyTorch, which no longer keeps sources with pickles."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if kwargs and not self.call_super_init:
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if args and not self.call_super_init:
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # Past __setattr__, which needs these tables to be there.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
            **hook_tables(),
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle of an older version may lack tables.
        self.__dict__.update({"_non_persistent_buffers_set": set(), **hook_tables(), **state})

    forward: Callable[..., Any] = _forward_unimplemented

    # Registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state without being trained.

        A buffer that is not `persistent` moves and converts with the module but is left out of `state_dict()`.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None keeps the name for one that the module does without."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = registered("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = registered("module", self, name, module)

    register_module = add_module

    def _check_name(self, kind: str, name: str, members: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in members:
            raise KeyError(f"attribute '{name}' already exists")

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Reached only when ordinary lookup fails, perhaps before __init__ made the tables.
        state = self.__dict__
        parameters = state.get("_parameters", ())
        if name in parameters:
            return parameters[name]
        for table in ("_modules", "_buffers"):
            if table in state and name in state[table]:
                return state[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            self._free_name(name, "_parameters", "parameters")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._free_name(name, "_modules", "module")
            state["_modules"][name] = registered("module", self, name, value)
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            state["_modules"][name] = registered("module", self, name, None)
        elif isinstance(value, Buffer) or name in state.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            is_persistent = (
                value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
            )
            self.register_buffer(name, value, is_persistent)
        else:
            super().__setattr__(name, value)

    def _free_name(self, name: str, table: str, kind: str) -> None:
        """Take a name out of every other table, before a member of `kind` goes into `table` under it."""
        state = self.__dict__
        if table not in state:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        state.pop(name, None)
        for other in {"_parameters", "_buffers", "_modules"} - {table}:
            state[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # Walking through members

    def _named_members(
        self,
        members_of: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str,
        recurse: bool,
        remove_duplicate: bool,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_name, module in modules:
            for name, member in members_of(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{module_name}.{name}" if module_name else name), member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names; shared ones once, under the first name."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The modules directly below this one, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below this one with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module (named '') and all below it with their dotted names; shared ones once, under the first name."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """The module with a dotted name ('' is this one). Raises AttributeError where the path ends early."""
        module = self
        for name in target.split(".") if target else ():
            module = module._get_member(name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module under a dotted name; with `strict` only in the place of another.

        Raises ValueError for an empty name or what is no module, AttributeError where the path ends early.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(parent._get_member(name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name. Raises AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        parameter = self.get_submodule(path)._get_member(name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name. Raises AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = module._get_member(name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def _get_member(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    # Changing all at once

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every module below this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode (or evaluation mode), for modules that behave differently in the two."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (False) or unfreeze all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros in place."""
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()

    def compile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not there: raises NotImplementedError. Kernels are compiled as they are first used."""
        raise NotImplementedError(
            "Module.compile() is not supported: numgrad compiles each kernel when it is first used; call the module as "
            "it is"
        )

    # Text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of this module besides its children: one line or several."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [f"({name}): {indent_after_first_line(repr(child))}" for name, child in self._modules.items()]
        return format_module(self._get_name(), extra_lines, children)


def format_module(name: str, extra_lines: list[str], children: list[str]) -> str:
    """`Name(...)`, on one line where there is nothing but one line of extra information."""
    if len(extra_lines) <= 1 and not children:
        return f"{name}({''.join(extra_lines)})"
    return f"{name}(\n  " + "\n  ".join(extra_lines + children) + "\n)"


def indent_after_first_line(text: str) -> str:
    """Indent a child's text by two spaces, leaving empty lines empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])
