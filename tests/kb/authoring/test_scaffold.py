"""kb new proposes what can be known and leaves empty what a person must write."""

import pytest

from kb.authoring.scaffold import draft, template_of
from kb.cli import main
from kb.corpus.loader import Corpus
from kb.corpus.parser import parse_text
from kb.index.manager import open_index
from kb.search.lookup import lookup
from kb.templates.matcher import match
from kb.templates.template import compile_template
from kb.text.lexer import lex
from kb.text.tracebacks import PastedError

pytestmark = pytest.mark.torch


def error(message, type_="RuntimeError"):
    return PastedError(type=type_, message=message, line_number=1, frame=None)


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("grid of torch.Size([2, 3]) on cuda:0", "grid of {shape} on {device}"),
        ("expected 3D input but got 4 values of 20.00 MiB", "expected 3D input but got {int} values of {size}"),
        ("no kernel 'foo_cpu' for dtype Long", "no kernel '{name}' for dtype {dtype}"),
        ("scale 0.5 of a 0-dim tensor\nand more", "scale {num} of a 0-dim tensor"),
        ("weird {braces} here", "weird (braces) here"),
    ],
)
def test_what_varies_becomes_a_placeholder(message, template):
    made = template_of(error(message))
    assert made == f"RuntimeError: {template}"
    assert match(compile_template(made).pieces, lex(message.replace("{", "(").replace("}", ")"))) is not None


def test_the_draft_is_an_entry_once_it_is_filled_in(corpus):
    answer = lookup("RuntimeError: the frobnicator of 3 elements is not aligned", index=open_index())
    begun = draft(answer, corpus)
    assert begun.slug == "frobnicator-elements-aligned"
    assert '- "RuntimeError: the frobnicator of {int} elements is not aligned"' in begun.text
    assert "answer:\n  en: TODO\n  zh: TODO\n" in begun.text
    assert begun.text.endswith(
        "\n### first-case\n\n```python repro\nimport torch\n```\n\n```python fix\nimport torch\n```\n"
    )


def test_what_is_to_be_written_is_reported_at_once_and_nothing_else(corpus, tmp_path):
    answer = lookup("RuntimeError: the frobnicator of 3 elements is not aligned", index=open_index())
    text = draft(answer, corpus).text
    _, faults = parse_text(text, tmp_path / "tensors" / "new-entry.md")
    rules = {(fault.rule, text.split("\n")[fault.line - 1].strip()) for fault in faults}
    todo = [line for rule, line in rules if rule == "KB006"]
    assert sorted(line.partition(" ")[0] for line in todo) == ["###", "###", "-", "-", "en:", "zh:"]
    assert {rule for rule, _ in rules} == {"KB004", "KB006"}


def test_a_draft_whose_gaps_are_filled_is_whole(tmp_path):
    answer = lookup("RuntimeError: the frobnicator of 3 elements is not aligned", index=open_index())
    text = draft(answer, Corpus({})).text
    for empty, filled in [
        ('""', "Words"),
        ("TODO", "Give"),
        ("[]", "[words]"),
        ("sources: [words]", "sources: ['000#1']"),
    ]:
        text = text.replace(empty, filled)
    for heading in ("### Why it happens\n", "### 原因\n"):
        text = text.replace(heading, f"{heading}\nBecause.\n")
    entry, faults = parse_text(text, tmp_path / "tensors" / "new-entry.md")
    assert faults == []
    assert [case.name for case in entry.cases] == list(entry.guidance["en"].items[0].cases) == ["first-case"]


def test_no_error_no_draft(corpus):
    with pytest.raises(ValueError, match="no error was found"):
        draft(lookup("how are you", index=open_index()), corpus)


def test_an_error_that_has_an_entry_is_not_written_again(tmp_path, capsys):
    status = main(
        [
            "new",
            "--into",
            str(tmp_path),
            "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 2])",
        ]
    )
    assert status == 1
    assert capsys.readouterr().out.strip().endswith("entries/nn/batchnorm-one-value-per-channel.md")
    assert list(tmp_path.iterdir()) == []


def test_a_script_is_run_and_becomes_the_repro(tmp_path, capsys):
    script = tmp_path / "fails.py"
    script.write_text("import torch\n\ntorch.ones(3).as_strided((4,), (-1,))\n")
    assert (
        main(["new", "--from", str(script), "--into", str(tmp_path), "--slug", "negative-stride", "--topic", "tensors"])
        == 0
    )
    path = tmp_path / "tensors" / "negative-stride.md"
    said = capsys.readouterr()
    assert said.out.strip() == str(path)
    assert f"kb --entries {tmp_path} verify negative-stride" in said.err
    text = path.read_text("utf-8")
    assert "Negative strides are not supported" in text
    assert script.read_text() in text
    assert main(["check", str(path)]) == 1
    assert "there is nothing under '### 原因'" in capsys.readouterr().out


def test_a_script_that_runs_through_has_nothing_to_explain(tmp_path, capsys):
    (tmp_path / "fine.py").write_text("import torch\n")
    assert main(["new", "--from", str(tmp_path / "fine.py")]) == 1
    assert "ran through" in capsys.readouterr().err


@pytest.mark.parametrize("slug", ["../../etc/passwd", "Upper", "a b"])
def test_a_slug_is_no_path(slug, capsys):
    assert main(["new", "--slug", slug, "RuntimeError: the frobnicator of 3 elements is not aligned"]) == 2
    assert "--slug takes" in capsys.readouterr().err


def test_a_failing_assert_begins_the_entry_of_a_silent_mistake(tmp_path):
    script = tmp_path / "silent.py"
    script.write_text(
        "import torch\n\nscores = torch.tensor([0.2, 0.8])\nscores.sort(descending=True)\nassert scores[0] == 0.8\n"
    )
    assert main(["new", "--from", str(script), "--into", str(tmp_path), "--slug", "sort-returns-a-copy"]) == 0
    text = (tmp_path / "tensors" / "sort-returns-a-copy.md").read_text("utf-8")
    assert "kind: silent" in text
    assert "messages:" not in text
    assert "related:" not in text


def test_a_script_that_needs_another_package_is_told_so_instead_of_becoming_an_entry_about_it(tmp_path, capsys):
    script = tmp_path / "fails.py"
    script.write_text("import torch\nimport no_such_vision_package\n\nno_such_vision_package.ops(torch.ones(3))\n")
    assert main(["new", "--from", str(script), "--into", str(tmp_path / "entries")]) == 1
    said = capsys.readouterr()
    assert (said.out, (tmp_path / "entries").exists()) == ("", False)
    assert "needs no_such_vision_package, which no environment has" in said.err
    assert "docs/own-entries.md" in said.err


def test_with_force_an_answered_error_is_written_all_the_same_and_only_its_path_is_printed(tmp_path, capsys):
    message = "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 2])"
    assert main(["new", "--force", "--into", str(tmp_path), "--slug", "again", message]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'nn' / 'again.md'}\n"
