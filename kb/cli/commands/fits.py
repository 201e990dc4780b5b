"""kb fits: which releases fit together."""

from __future__ import annotations

import argparse
import json

from kb.cli.common import Failure, Style, language, make_parser, width
from kb.text.languages import LANGUAGES

_EPILOG = """\
  kb fits torch==2.4.1                   everything that is pinned to that release
  kb fits torch==2.4.1 xformers
  kb fits transformers==4.39.3 tokenizers huggingface_hub --python 3.10
"""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    form = make_parser(
        "fits", "Show which releases of packages fit together, from what they require of each other.", _EPILOG
    )
    form.add_argument("requirement", nargs="+", help="a package, with or without a version: torch==2.4.1")
    form.add_argument("--python", default="", help="only releases with wheels for this Python, such as 3.10")
    form.add_argument(
        "--lang", choices=LANGUAGES, help="the language (default: KB_LANG, a Chinese locale, else English)"
    )
    form.add_argument("--json", action="store_true", help="print as JSON")
    return form


def run(arguments: argparse.Namespace) -> int:
    """Print the sets of releases; none at all is a failure."""
    from kb.record.compatibility import UnknownPackageError, fits

    try:
        sets = fits(arguments.requirement, arguments.python)
    except UnknownPackageError as error:
        raise Failure(str(error), 2) from error
    if arguments.json:
        print(json.dumps([versions._asdict() for versions in sets], ensure_ascii=False))
    else:
        from kb.render.api_text import fits_lines

        print("\n".join(fits_lines(sets, width(), Style(), language(arguments.lang) or "en")))
    return 0 if sets else 1
