"""What a case changes, and apart from it the asserts that prove it."""

from kb.documents.making import changed_lines
from kb.documents.remedy import assert_lines, comparable, remedy, without_asserts

BEFORE = "import torch\n\nx = torch.ones(3)\ny = x + 1\nprint(y)\n"
AFTER = "import torch\n\nx = torch.ones(4)\ny = x + 1\nprint(y)\nassert y.shape == (\n    4,  # not )\n)\n"


def test_the_asserts_are_apart_from_the_change():
    shown = remedy(changed_lines(BEFORE, AFTER), AFTER)
    assert [line for line in shown["diff"] if line[0] in "+-"] == ["-x = torch.ones(3)", "+x = torch.ones(4)"]
    assert shown["check"] == "assert y.shape == (\n    4,  # not )\n)"


def test_the_change_does_not_end_in_lines_that_only_led_to_the_asserts():
    assert remedy(changed_lines(BEFORE, AFTER), AFTER)["diff"][-1] == " y = x + 1"


def test_a_change_of_asserts_alone_is_shown():
    before, after = "x = 1\nassert x == 2\n", "x = 1\nassert x == 1\n"
    assert "+assert x == 1" in remedy(changed_lines(before, after), after)["diff"]


def test_brackets_in_texts_do_not_open_a_statement():
    assert assert_lines(["assert s == '(['", "x = 1"]) == {0}
    assert without_asserts("x = 1\n\nassert x\n") == ("x = 1\n", "assert x")


def test_a_line_that_the_fix_asserts_on_is_not_removed():
    before = "x = torch.ones(3)\nmodel(x).backward()\n"
    after = "x = torch.ones(4)\nassert model(x).backward() is None\n"
    assert [line for line in remedy(changed_lines(before, after), after)["diff"] if line[0] in "+-"] == [
        "-x = torch.ones(3)",
        "+x = torch.ones(4)",
    ]
    assert comparable(before, after) == ("x = torch.ones(3)\n", "x = torch.ones(4)\n")
