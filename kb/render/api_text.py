"""The history of a name, and releases that fit together, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.record.name_history import NameHistory
from kb.record.ranges import VersionRange
from kb.record.sentences import range_text
from kb.render.strings import NAME_STRINGS
from kb.render.terminal import BOLD, DIM, GREEN, Style, wrap
from kb.text.languages import Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.record.compatibility import CompatibleSet

__all__ = ["fits_lines", "history_lines", "timeline"]


def history_lines(history: NameHistory, limit: int, style: Style, lang: Lang) -> list[str]:
    """Return the history of a name in lines of `limit` columns: since, until, deprecated, moved, the parameters that came and went."""
    return list(_history(history, limit, style, lang))


def _history(history: NameHistory, limit: int, style: Style, lang: Lang) -> Iterator[str]:
    words = NAME_STRINGS[lang]
    yield f"{style(history.name, BOLD)}  {style(words[history.kind], DIM)}"
    yield style(timeline(history.versions, history.ranges, limit), GREEN)
    yield from wrap(words["in"].format(package=history.package, ranges=range_text(history.ranges, lang)), limit)
    if (
        history.defined_in
        and not history.name.startswith(f"{history.defined_in}.")
        and history.defined_in != history.name
    ):
        yield from wrap(words["defined"].format(module=history.defined_in), limit)
    if history.deprecated:
        yield from wrap(words["deprecated"].format(ranges=range_text(history.deprecated, lang)), limit)
        yield from wrap(words["notice"].format(notice=history.notice), limit, "  ")
    if history.removed:
        yield from wrap(words["removed"].format(ranges=range_text(history.removed, lang)), limit)
        yield from wrap(words["notice"].format(notice=history.removal), limit, "  ")
    if history.replacement:
        is_address = history.replacement_source not in ("", "notice")
        source = words["curated"].format(source=history.replacement_source) if is_address else ""
        yield from wrap(words["replacement"].format(name=history.replacement) + source, limit)
    if history.moved_to:
        yield from wrap(words["moved"].format(modules=words["comma"].join(history.moved_to)), limit)
    yield from _parameters(history, limit, style, lang)
    if history.is_dynamic:
        yield from (style(line, DIM) for line in wrap(words["dynamic"], limit))
    yield style(
        words["read"].format(count=len(history.versions), first=history.versions[0], last=history.versions[-1]), DIM
    )


def _parameters(history: NameHistory, limit: int, style: Style, lang: Lang) -> Iterator[str]:
    if not history.parameters:
        return
    words = NAME_STRINGS[lang]
    yield style(words["parameters"], BOLD)
    same = [parameter.name for parameter in history.parameters if parameter.ranges == history.ranges]
    if same:
        yield from wrap(words["same"].format(names=words["comma"].join(same)), limit, "  ", "    ")
    for parameter in history.parameters:
        if parameter.ranges != history.ranges:
            yield from wrap(
                words["came"].format(name=parameter.name, ranges=range_text(parameter.ranges, lang)),
                limit,
                "  ",
                "    ",
            )


def timeline(versions: Sequence[str], ranges: Sequence[VersionRange], limit: int) -> str:
    """Return a line such as `1.0 ███████░░░ 2.15`: a mark for each release, or for several where there is no room."""
    first, last = versions[0], versions[-1]
    room = max(10, limit - len(first) - len(last) - 2)
    position = {version: number for number, version in enumerate(versions)}
    has = [False] * len(versions)
    for part in ranges:
        for number in range(position[part.since], position[part.until] + 1):
            has[number] = True
    step = -(-len(versions) // room)
    marks = "".join("█" if any(has[start : start + step]) else "░" for start in range(0, len(has), step))
    return f"{first} {marks} {last}"


def fits_lines(sets: Sequence[CompatibleSet], limit: int, style: Style, lang: Lang) -> list[str]:
    """Return the sets of releases that fit together, as requirements to copy, with the Pythons and systems that have wheels for all of them."""
    words = NAME_STRINGS[lang]
    if not sets:
        return [words["nothing"]]
    lines: list[str] = []
    for fitting in sets:
        pins = [f"{name}=={version}" for name, version in fitting.versions.items()]
        lines += [style(line, BOLD) for line in wrap(" ".join(pins), limit)]
        pythons = "–".join(dict.fromkeys((*fitting.pythons[:1], *fitting.pythons[-1:])))
        notes = [f"{words['python']} {pythons}"] if pythons else []
        if fitting.cuda:
            notes.append(words["cuda"].format(cuda=fitting.cuda))
        notes.append(words["systems"].format(systems=words["comma"].join(fitting.platforms)))
        lines += wrap("; ".join(notes), limit, "  ")
        for key, names in (("unknown", fitting.unknown), ("source_only", fitting.source_only)):
            if names:
                lines += wrap(words[key].format(names=words["comma"].join(names)), limit, "  ")
    return lines
