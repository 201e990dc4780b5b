"""The page of all rules: `python -m kb.lint.rules > docs/rules.md`."""

from kb.lint.rules import NUMBERING, all_sentences, load_rules


def page() -> str:
    """Return the page of all rules, in Markdown."""
    lines = [
        "# The rules for entries",
        "",
        "`kb check` reports what breaks them as `file:line: rule what; what to do`. Made by `python -m kb.lint.rules`; do not edit.",
        "",
        "A rule that must be broken for once is named in `entries/exemptions.yaml`, with the reason. `kb check --fix` repairs KB031, KB040 and most of KB032.",
        "",
        *(f"* {numbers}: {subject}" for numbers, subject in NUMBERING.items()),
        "",
    ]
    for name, sentence in all_sentences().items():
        lines += [f"**{name}** {sentence}"]
        if name in load_rules():
            lines += [f"<br>{load_rules()[name].explanation}"]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - it is a program that prints a page
