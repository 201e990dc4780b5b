"""Open one issue for each entry that failed in any of the JUnit files given, unless one is open already.

Every entry has one issue, found by its title; the issue says which torch versions fail and how. Needs `gh` and GH_TOKEN.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

LABEL = "drift"


def failures(paths: list[Path]) -> dict[str, dict[str, str]]:
    """Return, by entry and then by run (the file's name), what failed; raises ValueError for a file in which no case ran."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        cases = ET.parse(path).getroot().findall("testcase")  # noqa: S314 - written by the job before
        if not cases:
            raise ValueError(f"{path}: no case ran")
        for case in cases:
            failure = case.find("failure")
            if failure is not None:
                text = f"{case.get('name')}: {failure.get('message')}"
                entry = found.setdefault(case.get("classname", ""), {})
                entry[path.stem] = "\n".join(filter(None, [entry.get(path.stem), text]))
    return found


def title(entry: str) -> str:
    """Return the title by which an entry's issue is found again."""
    return f"Drift: {entry}"


def body(runs: dict[str, str]) -> str:
    """Return the issue's text."""
    parts = ["The nightly run no longer proves this entry.", ""]
    for run, text in sorted(runs.items()):
        parts += [f"**{run}**", "", "```text", text.replace("```", "'''"), "```", ""]
    return "\n".join(parts)


def gh(*arguments: str) -> str:
    """Return what the GitHub command line prints."""
    return subprocess.run(["gh", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S607


def main(paths: list[Path], call: Callable[..., str] = gh) -> int:
    """Open the issues that are not open yet; return 0."""
    drifted = failures(paths)
    listed = json.loads(call("issue", "list", "--state", "open", "--label", LABEL, "--limit", "500", "--json", "title"))
    known = {issue["title"] for issue in listed}
    for entry, runs in sorted(drifted.items()):
        if title(entry) not in known:
            call("issue", "create", "--title", title(entry), "--label", LABEL, "--body", body(runs))
    print(f"{len(drifted)} entries drifted")  # noqa: T201 - the job's log
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
