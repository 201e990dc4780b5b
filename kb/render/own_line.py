"""The change on the reader's own line, where the cause is certain and the change is one expression.

The line is only shown, never written. What cannot be told for certain is left out: the message matches exactly, the paste does not speak for another cause,
and the pattern of the entry matches in one place.
"""

from __future__ import annotations

from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EditDocument, EntryDocument
    from kb.inspection.crash_context import CrashContext
    from kb.inspection.operands import Operand
    from kb.search.answer import Answer
    from kb.search.cause_choice import CauseChoice
    from kb.templates.code_change import CodeChange

__all__ = ["OwnLine", "own_line_change"]


class OwnLine(NamedTuple):
    """A place in the reader's code, its lines as they are and as they would be, and the case of the entry that shows the change."""

    file: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    case: str

    @property
    def diff(self) -> list[str]:
        """The change as a difference."""
        return [*(f"-{line}" for line in self.before), *(f"+{line}" for line in self.after)]


def own_line_change(
    answer: Answer, document: EntryDocument, choice: CauseChoice, context: CrashContext | None = None
) -> OwnLine | None:
    """Return the change of the line at which the reader's program failed, or None where none is certain.

    A context without a file is what somebody else says of the operands: where the expression begins and ends on the line is not known then.
    """
    if not answer.matches[0].evidence.is_whole or not document["edits"]:
        return None
    items = document["items"]["en"]
    cases = items[choice.item]["cases"] if choice.clue else [case for item in items for case in item["cases"]]
    for edit in document["edits"]:
        if edit["case"] in cases and edit["message"] in answer.matches[0].evidence.template:
            is_running = context and context.expression.file
            change = _in_program(edit, answer, context) if context and is_running else _in_paste(edit, answer, context)
            if change is not None:
                return change
    return None


def _in_paste(edit: EditDocument, answer: Answer, context: CrashContext | None) -> OwnLine | None:
    """Return the change of the line that the traceback shows. What its names are cannot be told from it, only from a context."""
    frame = next((error.frame for error in answer.errors if error.frame), None)
    if frame is None or not frame.code or (edit["where"] and context is None):
        return None
    from kb.templates.code_change import change_code, compile_pattern

    pattern = compile_pattern(edit["before"], edit["after"])
    change = change_code(pattern, frame.code, answer.matches[0].evidence.values)
    if change is None or not _fits(edit, change, context):
        return None
    return OwnLine(frame.file, frame.line, (frame.code,), tuple(change.code.split("\n")), edit["case"])


def _in_program(edit: EditDocument, answer: Answer, context: CrashContext) -> OwnLine | None:
    """Return the change of the lines of the expression that failed, which has to be what matches."""
    from textwrap import dedent

    from kb.templates.code_change import change_code, compile_pattern

    expression = context.expression
    pattern = compile_pattern(edit["before"], edit["after"])
    values = answer.matches[0].evidence.values
    lines = "\n".join(expression.lines)
    change = change_code(pattern, lines, values, (expression.start, expression.end))
    if change is None or not _fits(edit, change, context):
        return None
    both = dedent(f"{lines}\n{change.code}").split("\n")
    count = len(expression.lines)
    return OwnLine(expression.file, expression.line, tuple(both[:count]), tuple(both[count:]), edit["case"])


def _fits(edit: EditDocument, change: CodeChange, context: CrashContext | None) -> bool:
    """Tell whether the names that the change is about are what it needs them to be."""
    operands = {operand.name: operand for operand in context.everything} if context else {}
    return all(_is(kind, operands.get(change.names[name])) for name, kind in edit["where"].items())


def _is(kind: str, operand: Operand | None) -> bool:
    """Tell whether an operand is what a change needs it to be."""
    if operand is None:
        return False
    if kind in ("integer", "floating"):
        return operand.kind == "tensor" and ("float" in operand.dtype) == (kind == "floating")
    if kind == "layer":
        return operand.has_weight
    return operand.kind == kind
