"""Declarations of views: `@view` enters an op in the table that is a pure function of a layout; no data moves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .registry import Op, Rule, Sample, declared, make_rule


class ViewOp(Op):
    """An op that only changes the layout: `function(shape, strides, offset, *attributes) -> (shape, strides, offset)`.

    `dtype`, where declared, gives the dtype of the view from that of the input; strides and offset then count its items.
    `inverse_view`, where declared, says that the gradient is a view too: it gives `(op, attributes)`, which the graph
    layer runs on tensors or, when no graph is being built, on bare layouts.
    """

    is_view = True

    def __init__(
        self, function: Callable[..., Any], *, dtype: Callable[[Any], Any] | None = None, **options: Any
    ) -> None:
        name = options.pop("name", None) or function.__name__
        parameters = dict(inspect.signature(function).parameters)
        for layout in ("shape", "strides", "offset"):
            parameters.pop(layout)
        attributes = {n: p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for n, p in parameters.items()}
        source = {"input": inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD)}
        super().__init__(name, {**source, **attributes}, doc=function.__doc__ or "", **options)
        self.layout = function
        self.dtype = dtype
        self.inverse_view: Rule | None = None

    def grad(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare the gradient as Python over tensors, of `g`, the input's shape, strides and offset, and attributes."""
        self._rule_target("input")
        readable = ("g", "gs", "input_shape", "input_strides", "input_offset", "input_meta", *self.attributes)
        self.rules["input"] = make_rule(self, function, True, readable)
        return function

    def inverse(self, function: Callable[..., tuple[ViewOp, tuple[Any, ...]]]) -> Callable[..., Any]:
        """Declare the gradient as another view: a function of `input_shape` and the attributes it names."""
        names = tuple(inspect.signature(function).parameters)
        self.inverse_view = Rule(function, names)

        def rule(g: Any, **facts: Any) -> Any:
            view, attributes = function(**facts)
            return view(g, **dict(zip(view.attributes, attributes, strict=True)))

        self._rule_target("input")
        self.rules["input"] = Rule(rule, ("g", *names), True)
        return function


class SeveralViewsOp(ViewOp):
    """An op that gives several views at once: `function(shape, strides, offset, *attributes)` is a list of layouts.

    Its gradient reads `gs`: for each view a gradient, or None.
    """

    outputs = 0  # as many as the layouts

    @property
    def layouts(self) -> Callable[..., list[Any]]:
        """The function that gives the layouts."""
        return self.layout


def view(
    *, samples: Sequence[Sample], reference: Callable[..., Any], several: bool = False, **options: Any
) -> Callable[..., ViewOp]:
    """Declare a view op as a pure function of the layout, shared by all devices; with `several` it gives a list of them."""
    options.setdefault("memory_bound", True)

    def declare(function: Callable[..., Any]) -> ViewOp:
        made = (SeveralViewsOp if several else ViewOp)(function, samples=samples, reference=reference, **options)
        return declared(made)

    return declare
