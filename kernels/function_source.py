"""Finds the source of a function: in its file, in a notebook cell, or at a prompt that keeps what was typed."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import types
from typing import Any

from .scalar_function import error_at

_PACKAGE = os.path.dirname(__file__)


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@functools.lru_cache(maxsize=64)
def _codes(text: str) -> dict[tuple[str, int], list[types.CodeType]]:
    """The code objects of all functions in a text, by name and first line."""
    found: dict[tuple[str, int], list[types.CodeType]] = {}
    rest = [compile(text, "<source>", "exec", dont_inherit=True)]
    while rest:
        code = rest.pop()
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        rest += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return found


def _is_source_of(text: str, code: types.CodeType) -> bool:
    """Whether a file still says what a function was compiled from: it may have been edited since it was imported."""

    def essence(code: types.CodeType) -> Any:
        constants = [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
        return code.co_code, code.co_names, code.co_varnames, constants

    same_place = _codes(text).get((code.co_name, code.co_firstlineno), ())
    return any(essence(code) == essence(other) for other in same_place)


def _source_text(function: Any) -> str:
    """The text of the file or cell that defines a function; "" when there is none."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        try:  # the interactive prompt of newer Pythons keeps its lines elsewhere
            lines, _ = inspect.findsource(function)
        except (OSError, TypeError):
            return ""
    return "".join(lines)


def definition(function: Any) -> ast.FunctionDef | ast.Lambda:
    """The syntax tree of a function, from its file: line numbers are then the file's own.

    Raises:
        DifferentiationError: there is no source, or it is no longer that of the function.
    """
    code = function.__code__
    text = _source_text(function)
    if not text:
        raise error_at(
            f"the source of '{function.__qualname__}' is not available: define it in a file or a notebook cell, not by "
            "exec() or at a prompt that keeps no source",
            code.co_filename,
            code.co_firstlineno,
        )
    found: list[ast.FunctionDef | ast.Lambda] = []
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno and isinstance(node, ast.AsyncFunctionDef):
                raise error_at("'async def' cannot be a scalar function", code.co_filename, node.lineno)
            found += [node] * (first == code.co_firstlineno)  # type: ignore[list-item]
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            found.append(node)
    if len(found) > 1:  # several lambdas on one line: the columns tell which
        positions = set(code.co_positions())
        found = [node for node in found if isinstance(node, ast.Lambda) and _span(node.body) in positions]
    own = code.co_filename.startswith(_PACKAGE)  # saves compiling our own files again
    if not found or not (own or _is_source_of(text, code)):
        raise error_at(
            f"the source of '{function.__qualname__}' has changed since it was defined: define it again",
            code.co_filename,
            code.co_firstlineno,
        )
    return found[0]


def _span(node: ast.expr) -> tuple[int | None, int | None, int | None, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
