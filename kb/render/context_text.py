"""What the program had in its hands where it failed, as lines of text: one for each tensor, module or loader, and which of them does not fit."""

from __future__ import annotations

from kb.render.strings import STRINGS
from kb.render.terminal import columns, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EntryDocument
    from kb.inspection.crash_context import CrashContext
    from kb.inspection.mismatch import Mismatch
    from kb.inspection.operands import Operand
    from kb.text.languages import Lang

__all__ = ["entry_mismatch", "operand_lines", "operand_text"]

_MAX_OPERANDS = 6
_MAX_CODE = 60


def entry_mismatch(document: EntryDocument, context: CrashContext | None) -> Mismatch | None:
    """Return which operand does not fit in the respect that the entry is about."""
    if context is None or not document["inspect"]:
        return None
    from kb.inspection.mismatch import find_mismatch  # a paste has no context

    return find_mismatch(document["inspect"], context)


def operand_lines(context: CrashContext | None, mismatch: Mismatch | None, aspect: str, lang: Lang) -> list[str]:
    """Return a heading with the failing expression, and a line for each operand; those that do not fit are marked `!` and come first.

    `aspect` is what the entry's message is about.
    """
    if context is None or not context.everything:
        return []
    marked = mismatch.names if mismatch else ()
    operands = sorted(context.everything, key=lambda operand: operand.name not in marked)[:_MAX_OPERANDS]
    code = " ".join(context.expression.code.split())
    heading = STRINGS[lang]["failed"].format(code if len(code) <= _MAX_CODE else code[: _MAX_CODE - 1] + "…")
    names = [operand.quoted(lang).replace("`", "") for operand in operands]
    width = max(map(columns, names))
    lines = [visible(heading)]
    for name, operand in zip(names, operands, strict=True):
        mark = "!" if operand.name in marked else " "
        text = operand_text(operand, lang, with_mode=aspect == "mode")
        lines.append(visible(f" {mark} {name}{' ' * (width - columns(name))}  {text}"))
    return lines


def operand_text(operand: Operand, lang: Lang, *, with_mode: bool = False) -> str:
    """Return what is known of an operand, such as `[2, 8] float32 on cpu`. What is as usual is left out."""
    words = STRINGS[lang]
    settings = ", ".join(f"{key}={value}" for key, value in operand.settings)
    if operand.kind == "sequence":
        return words["items"].format(operand.type, dict(operand.settings)["len"])
    if operand.kind == "loader":
        return f"{operand.type}({settings})"
    where = f"{operand.dtype} {words['on'].format(operand.device)}" if operand.device else operand.dtype
    if operand.kind == "module":
        mode = (
            "" if operand.training is None or not with_mode else words["training" if operand.training else "evaluation"]
        )
        frozen = words["frozen"] if operand.parameters and not operand.trainable else ""
        return words["comma"].join(filter(None, [f"{operand.type}({settings})", where, mode, frozen]))
    marks = [
        words["requires_grad"] if operand.requires_grad else "",
        "" if operand.is_contiguous else words["not_contiguous"],
    ]
    kind = f"{operand.type} " if operand.type not in ("Tensor", "Parameter") else ""
    shape = "[…]" if operand.shape is None else str(list(operand.shape))
    return words["comma"].join(filter(None, [f"{kind}{shape} {where}", *marks]))
