"""Answers of the record as sentences in English and Chinese, with code in backticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.record.name_answer import NO_FILE, Asker, NameAnswer
from kb.record.ranges import VersionRange
from kb.text.languages import Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.record.provenance import MessageOrigin
    from kb.record.requirement_errors import RequirementAnswer

__all__ = ["answer_sentences", "origin_sentence", "range_text", "requirement_sentences"]

_SAID = {
    "en": {
        "name": "`{name}`",
        "parameter": "The parameter `{parameter}` of `{name}`",
        "optional": "`{parameter}` of `{name}`",
        "count": "`{name}`",
        "removed": "{thing} was in {package} {ranges} and is gone since {gone}.",
        "disabled": "{thing} works in {package} {ranges}; since {gone} it does nothing but raise an error.",
        "back": "{thing} was in {package} {ranges}, is gone since {gone}, and is back since {back}.",
        "removed required": "{thing} could be left out in {package} {ranges}; since {gone} it must be given.",
        "removed count": "{thing} took {parameter} positional arguments in {package} {ranges}; since {gone} it takes fewer. Give the rest by keyword.",
        "newer": "{thing} exists since {package} {since}; install `{pin}`.",
        "newer than": "{thing} exists since {package} {since}, and you have {version}; install `{pin}`.",
        "newer required": "{thing} may be left out since {package} {since}; install `{pin}`.",
        "newer count": "{thing} takes {parameter} positional arguments since {package} {since}, before that it takes fewer; install `{pin}`.",
        "never": "{thing} was in none of the releases of {package} that kb has read, up to {newest}.",
        "unknown": "kb has read no release of {package} that shows {thing}, but the module makes names while it runs.",
        "submodule": "`{name}` is a module of its own: write `import {name}` before you use it.",
        "circular": "{release} has `{name}`, but was still importing it: two modules import each other, or your own file is named like it.",
        "present": "{release} has {thing}. Python read another file: a second installation, or a file of yours that is named like the package.",
        "has it": "{release} has {thing}.",
        "always has it": "{thing} is in every release of {package} that kb has read.",
        "always present": "{thing} is in every release of {package} that kb has read. Python may read another file, such as a second or broken "
        "installation or a file of yours with the package's name. Some builds and systems leave parts out.",
        "raising": "It does nothing but raise an error {ranges}.",
        "moved": "It is now in {modules}: `from {first} import {last}`.",
        "elsewhere": "It is in {modules}: `from {first} import {last}`.",
        "replacement": "Use `{replacement}` instead.",
        "restore": "To run the old code as it is, install `{pin}`.",
        "nearest": "Did you mean {names}?",
        "asker": "{package}{version} asks for it; its releases {ranges} do.",
        "asker upgrade": "`{upgrade}` no longer asks for it.",
        "asker downgrade": "`{downgrade}` does not ask for it yet.",
        "file": "Python read `{file}`, which is no installed package: rename your file or folder, unless it is a checkout of {package}.",
        "no file": "Python found only a folder of that name without `__init__.py`: a folder of yours, or what is left of an old installation.",
        "found": "`{name}` is now in {modules}: `from {first} import {name}`.",
        "origin": "{verb} this, {ranges}; in {newest} it does so in `{function}`{condition}.",
        "library": "{package} has this text in its compiled library `{library}`, {ranges}.",
        "condition": " when `{condition}`",
        "raises": "{package} raises",
        "warns": "{package} warns with",
        "logs": "{package} logs",
        "fits": "{install} fits `{keep}`.",
        "fits alone": "Keep {package} as it is and install {instead}.",
        "fits instead": "Or keep {package} as it is and install {instead}.",
        "wheels": "pip only sees releases for your Python and your system: {release} has wheels for Python {first} to {last}.",
        "built": "{package} was compiled for another torch.",
        "or": " or ",
        "since": "since {since}",
        "since at the latest": "since {since} at the latest",
        "until": "up to {until}",
        "between": "{since} to {until}",
        "single": "{since}",
        "always": "in every release that kb has read",
        "and": " and ",
        "comma": ", ",
    },
    "zh": {
        "name": "`{name}`",
        "parameter": "`{name}` 的参数 `{parameter}`",
        "optional": "`{name}` 的参数 `{parameter}`",
        "count": "`{name}`",
        "removed": "{thing} 只在 {package} {ranges}里有，{gone} 起被移除。",
        "disabled": "{thing} 只在 {package} {ranges}里能用，{gone} 起调用它只会报错。",
        "back": "{thing} 在 {package} {ranges}里有，{gone} 起被移除，{back} 又加了回来。",
        "removed required": "{package} {ranges}允许不写 {thing}，{gone} 起必须写明。",
        "removed count": "{package} {ranges}的 {thing} 可以接收 {parameter} 个位置参数，{gone} 起收不下这么多，其余的请用关键字传入。",
        "newer": "{thing} 到 {package} {since} 才加入，请安装 `{pin}`。",
        "newer than": "{thing} 到 {package} {since} 才加入，你用的还是 {version}，请安装 `{pin}`。",
        "newer required": "到 {package} {since} 才可以不写 {thing}，请安装 `{pin}`。",
        "newer count": "{thing} 到 {package} {since} 才能接收 {parameter} 个位置参数，请安装 `{pin}`。",
        "never": "kb 读过的 {package} 各版本（最新 {newest}）里都没有 {thing}。",
        "unknown": "kb 读过的 {package} 各版本里都没看到 {thing}，不过这个模块有些名字是运行时才生成的。",
        "submodule": "`{name}` 是子模块，要先写 `import {name}` 才能用。",
        "circular": "{release} 里有 `{name}`，只是出错时还没导入完：要么两个模块互相导入，要么你自己的某个文件和这个包重名。",
        "present": "{release} 里有 {thing}，说明 Python 导入的不是它：可能装了两份，也可能你自己的某个文件和这个包重名。",
        "has it": "{release} 里有 {thing}。",
        "always has it": "kb 读过的每个 {package} 版本里都有 {thing}。",
        "always present": "kb 读过的每个 {package} 版本里都有 {thing}。Python 导入的可能不是它：装了两份、没装完整，或者你自己的某个文件和这个包重名。"
        "另外，有些系统或自编译的版本会少一部分内容。",
        "raising": "不过在 {ranges}里，它只会抛出错误。",
        "moved": "它现在在 {modules} 里：`from {first} import {last}`。",
        "elsewhere": "它在 {modules} 里：`from {first} import {last}`。",
        "replacement": "请改用 `{replacement}`。",
        "restore": "不想改代码的话，可以安装 `{pin}`。",
        "nearest": "是不是想写 {names}？",
        "asker": "用到它的是 {package}{version}（{ranges}）。",
        "asker upgrade": "换成 `{upgrade}` 就不再需要它。",
        "asker downgrade": "退回 `{downgrade}` 也可以，那时还没用到它。",
        "file": "Python 读到的是 `{file}`，不在已安装的包里：如果这不是 {package} 的源码目录，就给你自己的这个文件或文件夹改个名字。",
        "no file": "Python 只找到一个同名文件夹，里面没有 `__init__.py`：可能是你自己的文件夹，也可能是没卸干净的旧包。",
        "found": "`{name}` 现在在 {modules} 里：`from {first} import {name}`。",
        "origin": "{verb}（{ranges}），在 {newest} 里出自 `{function}`{condition}。",
        "library": "这段文字出自 {package} 的编译库 `{library}`（{ranges}）。",
        "condition": "，触发条件是 `{condition}`",
        "raises": "这个错误由 {package} 抛出",
        "warns": "这个警告由 {package} 发出",
        "logs": "这条日志由 {package} 打印",
        "fits": "和 `{keep}` 配套的是 {install}。",
        "fits alone": "{package} 不用动，安装 {instead} 就行。",
        "fits instead": "也可以不动 {package}，改装 {instead}。",
        "wheels": "pip 只列出适合当前 Python 和系统的版本：{release} 的 wheel 支持 Python {first} 到 {last}。",
        "built": "{package} 是针对另一个 torch 版本编译的。",
        "or": " 或 ",
        "since": "{since} 及更高版本",
        "since at the latest": "最晚从 {since} 版起",
        "until": "{until} 及更早版本",
        "between": "{since} 到 {until} 版",
        "single": "{since} 版",
        "always": "kb 读过的所有版本",
        "and": "和",
        "comma": "、",
    },
}


def range_text(ranges: Sequence[VersionRange], lang: Lang) -> str:
    """Return ranges of versions as words: `0.8 to 0.25`, `since 1.13`, `up to 1.12 and since 2.0`."""
    said = _SAID[lang]
    parts = []
    for part in ranges:
        if part.is_unread and not part.gone:
            parts.append(said["since at the latest"].format(since=part.since))
        elif part.is_first and not part.gone:
            parts.append(said["always"])
        elif not part.gone:
            parts.append(said["since"].format(since=part.since))
        elif part.since == part.until:
            parts.append(said["single"].format(since=part.since))
        else:
            parts.append(said["until" if part.is_first else "between"].format(since=part.since, until=part.until))
    return said["comma"].join([*parts[:-2], said["and"].join(parts[-2:])])


def answer_sentences(answer: NameAnswer, lang: Lang) -> list[str]:
    """Return what the record says to an error about a name: what is the case, where the name is now, who asks for it, what to install."""
    return list(_sentences(answer, lang))


def _sentences(answer: NameAnswer, lang: Lang) -> Iterator[str]:
    said = _SAID[lang]
    kinds = {"keyword": "parameter", "required": "optional", "count": "count"}
    thing = said[kinds.get(answer.kind, "name")].format(name=answer.name, parameter=answer.parameter)
    ranges = range_text(answer.ranges, lang) if answer.ranges else ""
    release = f"{answer.package} {answer.version}".rstrip()
    yield said[_verdict_key(answer)].format(**answer._asdict() | {"thing": thing, "ranges": ranges, "release": release})
    if answer.file:
        yield said["no file" if answer.file == NO_FILE else "file"].format(file=answer.file, package=answer.package)
    if answer.raising and answer.verdict == "present":
        yield said["raising"].format(ranges=range_text(answer.raising, lang))
    yield from _place_sentences(answer, lang)
    if answer.asker is not None:
        yield from _asker_sentences(answer, answer.asker, lang)
    if answer.verdict == "removed":
        yield said["restore"].format(pin=answer.pin)


def _verdict_key(answer: NameAnswer) -> str:
    """Return the key of the sentence that says what is the case."""
    key = answer.verdict
    if key in ("removed", "newer") and answer.kind in ("required", "count"):
        return f"{key} {answer.kind}"
    if key == "removed":
        return "disabled" if answer.raising else "back" if answer.back else key
    if key == "newer" and answer.version:
        return "newer than"
    if key == "present" and answer.file:
        return "has it" if answer.version else "always has it"
    return "always present" if key == "present" and not answer.version else key


def _place_sentences(answer: NameAnswer, lang: Lang) -> Iterator[str]:
    """Yield what to use instead: another name, the same elsewhere, one that is spelled like it."""
    said = _SAID[lang]
    if answer.replacement:
        yield said["replacement"].format(replacement=answer.replacement)
    if answer.moved_to:
        modules = said["comma"].join(f"`{module}`" for module in answer.moved_to)
        key = "moved" if answer.verdict == "removed" else "elsewhere"
        yield said[key].format(modules=modules, first=answer.moved_to[0], last=answer.name.rpartition(".")[2])
    for name, places in answer.found:
        modules = said["comma"].join(f"`{module}`" for module in places)
        yield said["found"].format(name=name, modules=modules, first=places[0])
    if answer.nearest and not answer.moved_to:
        yield said["nearest"].format(names=said["comma"].join(f"`{name}`" for name in answer.nearest))


def _asker_sentences(answer: NameAnswer, asker: Asker, lang: Lang) -> Iterator[str]:
    said = _SAID[lang]
    version = f" {asker.version}" if asker.version else ""
    yield said["asker"].format(package=asker.package, version=version, ranges=range_text(asker.ranges, lang))
    if asker.upgrade:
        yield said["asker upgrade"].format(upgrade=asker.upgrade)
    if asker.downgrade and answer.verdict == "newer":
        yield said["asker downgrade"].format(downgrade=asker.downgrade)


def origin_sentence(origin: MessageOrigin, lang: Lang) -> str:
    """Return who prints a message, under which condition, and in which releases. This is a fact and no fix."""
    said = _SAID[lang]
    ranges = range_text(origin.ranges, lang)
    if origin.library:
        return said["library"].format(package=origin.package, library=origin.library, ranges=ranges)
    verb = said["logs" if origin.type == "log" else "warns" if origin.type.endswith("Warning") else "raises"]
    condition = said["condition"].format(condition=origin.condition) if origin.condition else ""
    return said["origin"].format(
        verb=verb.format(package=origin.package),
        function=origin.function,
        condition=condition,
        ranges=ranges,
        newest=origin.ranges[-1].until,
    )


def requirement_sentences(answer: RequirementAnswer, lang: Lang) -> list[str]:
    """Return which releases to install so that packages fit together."""
    said = _SAID[lang]
    install = said["or"].join(f"`{requirement}`" for requirement in answer.install)
    if answer.kind == "not-found":
        return [said["wheels"].format(release=install, first=answer.pythons[0], last=answer.pythons[-1])]
    sentences = [] if answer.kind == "conflict" else [said["built"].format(package=answer.package)]
    if install:
        sentences.append(said["fits"].format(install=install, keep=answer.keep))
    if answer.instead:
        instead = said["or"].join(f"`{requirement}`" for requirement in answer.instead)
        sentences.append(
            said["fits instead" if install else "fits alone"].format(package=answer.package, instead=instead)
        )
    return sentences
