"""What a program that died had in its hands where it failed: the operands of the reader's own expression, and of the layer that failed inside it.

All of it is metadata, and none of it leaves the process. The work is bounded by counts and takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import NamedTuple

from kb.inspection.expression import Expression, failing_expression, named_values
from kb.inspection.operands import Operand, children, describe, is_module
from kb.text.frames import is_library

__all__ = ["CrashContext", "crash_context"]

_MAX_FRAMES = 2000
"""Frames of a traceback that are walked."""
_MAX_CHAIN = 10
"""Exceptions of a chain that are looked at."""
_MAX_OPERANDS = 12
_MAX_NEARBY = 200
"""Local names among which modules are looked for."""
_MAX_NEARBY_MODULES = 4
_MAX_ITEMS = 64
"""Items of a list of tensors that are looked at."""
_SHOWN_ITEMS = 3
"""Items of a list of tensors that are named even if all are alike, and items that differ."""


class CrashContext(NamedTuple):
    """Where the reader's own code failed, what that expression works on, and `nested`, what only the calls inside it work on.

    `layer` names the layer, or the function of torch, that failed inside a call, as the reader could write it, and is empty where there is none.
    `inputs` are that layer and its arguments, under the reader's names where they have some. `nearby` are the modules that have a name in the same
    function. `message` is the error's.
    """

    expression: Expression
    operands: tuple[Operand, ...]
    nested: tuple[Operand, ...] = ()
    layer: str = ""
    inputs: tuple[Operand, ...] = ()
    nearby: tuple[Operand, ...] = ()
    message: str = ""

    @property
    def involved(self) -> tuple[Operand, ...]:
        """What met where it failed: the layer with its arguments, else the operands of the expression."""
        return self.inputs or self.operands

    @property
    def everything(self) -> tuple[Operand, ...]:
        """All operands, each once, those that met where it failed first."""
        return tuple({operand.name: operand for operand in (*self.involved, *self.operands, *self.nested)}.values())


def crash_context(error: BaseException, message: str = "", file: str = "", line: int = 0) -> CrashContext | None:
    """Return what the program had in its hands when it raised the error, or None where nothing is known.

    `message` is what it says. With a file and a line, the error of the chain is meant whose innermost own frame is there.
    """
    own = [place for raised in _chain(error) if (place := _own_frame(raised))]
    if not own:
        return None
    frames, at = next(((frames, at) for frames, at in own if _is_at(frames[at], file, line)), own[0])
    expression = failing_expression(frames[at])
    return _context(expression, message, frames[at], frames[at + 1 :]) if expression else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what caused it, outermost first, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(seen) < _MAX_CHAIN:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _own_frame(error: BaseException) -> tuple[list[TracebackType], int] | None:
    """Return the frames of an error, outermost first, and the position of the innermost one of the reader's own code."""
    frames: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None and len(frames) < _MAX_FRAMES:
        frames.append(traceback)
        traceback = traceback.tb_next
    own = [at for at, frame in enumerate(frames) if not is_library(frame.tb_frame.f_code.co_filename)]
    return (frames, own[-1]) if own else None


def _is_at(frame: TracebackType, file: str, line: int) -> bool:
    return frame.tb_frame.f_code.co_filename == file and frame.tb_lineno == line


def _context(expression: Expression, message: str, frame: TracebackType, inner: list[TracebackType]) -> CrashContext:
    direct: list[Operand] = []
    nested: list[Operand] = []
    modules: list[tuple[str, object]] = []
    names: dict[int, str] = {}
    for name, value, is_direct in named_values(expression.code, frame.tb_frame):
        if id(value) in names:
            continue
        if described := list(_described(name, value)):
            names[id(value)] = name
            (direct if is_direct else nested).extend(described)
        if is_module(value):
            modules.append((name, value))
    layer, inputs = _layer(inner, modules, names)
    if not inputs and inner:
        layer, inputs = _function(inner[0], expression.code, names)
    by_identity = {
        id(value): name for name, value in islice(frame.tb_frame.f_locals.items(), _MAX_NEARBY) if is_module(value)
    }
    nearby = [
        describe(name, frame.tb_frame.f_locals[name]) for name in islice(by_identity.values(), _MAX_NEARBY_MODULES)
    ]
    return CrashContext(
        expression,
        tuple(direct[:_MAX_OPERANDS]),
        tuple(nested[:_MAX_OPERANDS]),
        layer,
        tuple(inputs[:_MAX_OPERANDS]),
        tuple(operand for operand in nearby if operand),
        message,
    )


def _described(name: str, value: object) -> Iterator[Operand]:
    """Yield what is known of a value; of a list of tensors also what is known of its first items and of some that differ from the first."""
    operand = describe(name, value)
    if operand is None or operand.kind != "sequence":
        yield from [operand] if operand else []
        return
    items = enumerate(islice(value, _MAX_ITEMS))  # type: ignore[call-overload]
    tensors = [facts for at, item in items if (facts := describe(f"{name}[{at}]", item)) and facts.kind != "sequence"]
    if not tensors:
        return
    yield operand
    odd = [facts for facts in tensors[_SHOWN_ITEMS:] if _metadata(facts) != _metadata(tensors[0])]
    yield from (*tensors[:_SHOWN_ITEMS], *odd[:_SHOWN_ITEMS])


def _metadata(tensor: Operand) -> tuple[tuple[int, ...] | None, str, str]:
    return tensor.shape, tensor.dtype, tensor.device


def _layer(
    inner: list[TracebackType], modules: list[tuple[str, object]], names: dict[int, str]
) -> tuple[str, list[Operand]]:
    """Return the name of the innermost layer that was called, and the layer with what its `forward` was given."""
    for frame in reversed(inner):
        code, scope = frame.tb_frame.f_code, frame.tb_frame.f_locals
        module = scope.get("self")
        if code.co_name != "forward" or not is_module(module):
            continue
        layer = _name_of(module, modules)
        return layer, [*_described(layer, module), *_arguments(frame, 1, layer, names)]
    return "", []


def _function(frame: TracebackType, expression: str, names: dict[int, str]) -> tuple[str, list[Operand]]:
    """Return the name of the library's function that the expression called, and what it was given."""
    name = frame.tb_frame.f_code.co_name
    return (name, list(_arguments(frame, 0, name, names))) if f"{name}(" in expression else ("", [])


def _arguments(frame: TracebackType, first: int, owner: str, names: dict[int, str]) -> Iterator[Operand]:
    """Yield what a function of the library was given, under the reader's names where they have some."""
    code, scope = frame.tb_frame.f_code, frame.tb_frame.f_locals
    for argument in code.co_varnames[first : code.co_argcount]:
        value = scope.get(argument)
        is_named = id(value) in names
        for operand in _described(names[id(value)] if is_named else argument, value):
            yield operand if is_named else operand._replace(owner=owner)


def _name_of(layer: object, modules: list[tuple[str, object]]) -> str:
    """Return how the reader could write the layer, through a module of the failing expression, else the name of its class."""
    for name, module in modules:
        if module is layer:
            return name
        for path, child in children(module):
            if child is layer:
                return name + path
    return type(layer).__name__
