"""kb api: the history of a name over the releases of its package."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kb.cli.common import Failure, Style, language, make_parser, width
from kb.record.name_history import NameHistory, name_history
from kb.record.query import open_record, recorded_packages
from kb.text.languages import LANGUAGES, Lang

_EPILOG = """\
  kb api torch.symeig
  kb api torch.optim.Adam
  kb api huggingface_hub.cached_download
"""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    form = make_parser(
        "api", "Show since when and until when a name exists, its parameters, and where it moved.", _EPILOG
    )
    form.add_argument("name", help="a dotted name, such as torch.symeig or pytorch_lightning.Trainer")
    form.add_argument("--package", help="the package, where it does not follow from the name")
    form.add_argument(
        "--lang", choices=LANGUAGES, help="the language (default: KB_LANG, a Chinese locale, else English)"
    )
    form.add_argument("--json", action="store_true", help="print as JSON")
    return form


def run(arguments: argparse.Namespace) -> int:
    """Print the history; a name that no release has is a failure."""
    history = name_history(arguments.name, arguments.package) or _by_bare_name(arguments.name)
    if history is None:
        raise Failure(_missing(arguments.name, language(arguments.lang) or "en"))
    if arguments.json:
        print(json.dumps(history_data(history), ensure_ascii=False))
        return 0
    from kb.render.api_text import history_lines

    print("\n".join(history_lines(history, width(), Style(), language(arguments.lang) or "en")))
    return 0


def _missing(name: str, lang: Lang) -> str:
    """Return what can be said of a name that no release has."""
    from kb.record.name_errors import explain_missing_name
    from kb.record.sentences import answer_sentences

    answer = explain_missing_name(name)
    if answer is not None:
        return ("" if lang == "zh" else " ").join(answer_sentences(answer, lang))
    return f"no release that kb has read has {name!r}; the packages are {', '.join(recorded_packages())}"


def history_data(history: NameHistory) -> dict[str, Any]:
    """Return a history as plain data."""
    data = history._asdict()
    data["ranges"] = [part._asdict() for part in history.ranges]
    data["deprecated"] = [part._asdict() for part in history.deprecated]
    data["removed"] = [part._asdict() for part in history.removed]
    data["parameters"] = {
        parameter.name: [part._asdict() for part in parameter.ranges] for parameter in history.parameters
    }
    return data


def _by_bare_name(name: str) -> NameHistory | None:
    """Return the history of a class or function given by its bare name, if one package defines it in a public module."""
    if "." in name:
        return None
    for package in ("torch", *recorded_packages()):
        record = open_record(package)
        modules = record.definitions(name) if record else ()
        public = sorted(
            (module for module in modules if "._" not in module), key=lambda module: (module.count("."), module)
        )
        if public:
            return name_history(f"{public[0]}.{name}", package)
    return None
