"""The history of a package as the lines of its file, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from kb.record.history import PackageHistory
from kb.record.ranges import encode
from kb.record.rows import (
    CLASS,
    FUNCTION,
    IMPORT,
    MESSAGES_PER_GROUP,
    MessageRow,
    NameRow,
    message_key,
    parse_message,
    parse_module,
    parse_name,
)
from kb.record.store import RecordFile, write_record

__all__ = ["load_history", "save_history"]


def save_history(path: str, history: PackageHistory) -> None:
    """Write the file of a package."""
    head = {"package": history.package, "versions": history.versions, "archives": history.archives}
    sections = {
        "names": _name_groups(history),
        "symbols": _symbol_groups(history),
        "users": _user_groups(history),
        "messages": _message_groups(history),
    }
    write_record(path, head, sections)


def load_history(path: str) -> PackageHistory:
    """Read back everything that a file holds."""
    file = RecordFile(path)
    history = PackageHistory(file.head["package"], list(file.head["versions"]), list(file.head["archives"]))
    count = len(history.versions)
    for block in file.all_blocks("names"):
        for group in block.removeprefix("@").split("\n@"):
            head, *lines = group.split("\n")
            module, mask, dynamic = parse_module(head, count)
            history.modules[module] = mask, dynamic
            for line in lines:
                history.names[(module, line.partition("\t")[0])] = parse_name(line, count, mask)
    for block in file.all_blocks("messages"):
        for line in block.split("\n"):
            key, row = parse_message(line, count)
            history.messages[key] = row
    return history


def _name_groups(history: PackageHistory) -> Iterator[tuple[str, str]]:
    count = len(history.versions)
    rows = sorted(history.names.items())
    by_module = {module: list(group) for module, group in groupby(rows, lambda item: item[0][0])}
    for module in sorted(history.modules):
        mask, dynamic = history.modules[module]
        lines = [f"@{module}\t{encode(mask, count)}\t{encode(dynamic, count)}"]
        lines += [_name_line(name, row, count, mask) for (_, name), row in by_module.get(module, ())]
        yield module, "\n".join(lines)


def _name_line(name: str, row: NameRow, count: int, module_mask: int) -> str:
    signatures = ";".join(
        signature if mask == row.mask else f"{signature}@{encode(mask, count)}"
        for signature, mask in sorted(row.signatures.items(), key=lambda item: item[1])
    )
    ranges = "" if row.mask == module_mask else encode(row.mask, count)
    notice = " ".join(row.notice.split())
    deprecated, removed = encode(row.deprecated, count), encode(row.removed, count)
    what = f"{name}\t{row.kind}\t{ranges}\t{row.target}\t{signatures}"
    return f"{what}\t{deprecated}\t{notice}\t{removed}\t{row.removal}".rstrip("\t")


def _symbol_groups(history: PackageHistory) -> Iterator[tuple[str, str]]:
    """Yield for every class and function the modules that define it, whatever the release."""
    modules: dict[str, list[str]] = {}
    for (module, name), row in sorted(history.names.items()):
        if row.kind in (CLASS, FUNCTION) and "." not in name:
            modules.setdefault(name, []).append(module)
    for name in sorted(modules):
        yield name, f"{name}\t{' '.join(modules[name])}"


def _user_groups(history: PackageHistory) -> Iterator[tuple[str, str]]:
    """Yield for every name that the package imports from another one the releases that do so."""
    users: dict[str, int] = {}
    own = {module.partition(".")[0] for module in history.modules}
    for row in history.names.values():
        source, colon, name = row.target.partition(":")
        if row.kind == IMPORT and colon and source.partition(".")[0] not in own:
            users[f"{source}:{name}"] = users.get(f"{source}:{name}", 0) | row.mask
    for target in sorted(users):
        yield target, f"{target}\t{encode(users[target], len(history.versions))}"


def _message_groups(history: PackageHistory) -> Iterator[tuple[str, str]]:
    lines = list(_message_lines(history))
    for number in range(0, len(lines), MESSAGES_PER_GROUP):
        yield message_key(number), "\n".join(lines[number : number + MESSAGES_PER_GROUP])


def _message_lines(history: PackageHistory) -> Iterable[str]:
    count = len(history.versions)
    for (template, type_), group in groupby(sorted(history.messages.items()), lambda item: item[0][:2]):
        for function, row in _covering([(key[2], row) for key, row in group]):
            condition = " ".join(row.condition.split())
            yield "\t".join([template, type_, function, encode(row.mask, count), condition, str(row.line or "")])


def _covering(places: list[tuple[str, MessageRow]]) -> list[tuple[str, MessageRow]]:
    """Return the fewest of the functions that print a message which together have all of its releases, by the greedy algorithm.

    Hundreds of models print the same message, and one of them says as much as all.
    """
    missing = 0
    for _, row in places:
        missing |= row.mask
    chosen = []
    while missing:
        function, row = max(places, key=lambda place: ((place[1].mask & missing).bit_count(), place[1].mask, place[0]))
        chosen.append((function, row))
        missing &= ~row.mask
    return sorted(chosen, key=lambda place: place[0])
