"""Conditions on the values of a message: what they may say, and what they make of values as messages print them."""

import json

import pytest

from kb.templates.conditions import ConditionError, check_condition, read_conditions
from kb.templates.value_conditions import cause_of_values

VALUES = {
    "left": "torch.Size([32, 784])",
    "right": "28x10",
    "got": "0",
    "loss": "1e-05",
    "asked": "20.00 MiB",
    "free": "1.5 GiB",
    "dtype": "Half",
    "key": "'conv1.weight'",
    "scalar": "[]",
}


def told(causes, values):
    """Return the cause that the values tell, of conditions that went through an index."""
    return cause_of_values(json.loads(json.dumps(read_conditions(causes))), values)


@pytest.mark.parametrize(
    "condition",
    [
        "got == 0",
        "left[1] % right[0] == 0",
        "left[1] == 28 * right[0]",
        "left[-1] // right[0] == 28",
        "len(left) == 2 and len(scalar) == 0",
        "-1 < got < 1",
        "not got > 0",
        "got != 0 or dtype == 'Half'",
        "got in (0, 3)",
        "dtype in ('half', 'bfloat16')",
        "'conv1' in key",
        "'fc' not in key",
        "loss < 0.001",
        "asked < free",
        "free - asked > asked",
    ],
)
def test_a_condition_holds(condition):
    check_condition(condition, VALUES)
    assert told({condition: 2}, VALUES) == 2
    opposite = f"not ({condition})"
    check_condition(opposite, VALUES)
    assert told({opposite: 2}, VALUES) == 0


@pytest.mark.parametrize(
    "condition",
    ["left[2] == 1", "got[0] > 0 and scalar[0] == 1", "got % got == 0", "dtype < 3", "missing == 1", "3 in got"],
    ids=["no third number", "no number", "division by zero", "a text", "not captured", "no container"],
)
def test_values_of_another_kind_fulfil_nothing(condition):
    assert told({condition: 2, "got == 0": 1}, VALUES) == 1


def test_the_first_that_holds_decides():
    assert told({"got > 0": 3, "got == 0": 2, "got < 1": 1}, VALUES) == 2


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("got", "compares nothing"),
        ("left[0] % 2", "compares nothing"),
        ("1 == 1", "uses none"),
        ("size == 0", "uses size"),
        ("got ==", "no Python expression"),
        ("got == 0 " + "or got == 0 " * 20, "at most 200"),
        ("got.real == 0", "no comparison"),
        ("print(got) == 0", "uses print"),
        ("got ** 9 == 0", "no comparison"),
        ("left[got] == 0", "no comparison"),
        ("left[0:1] == 0", "no comparison"),
        ("[x for x in left] == 0", "uses x"),
        ("(lambda: got)() == 0", "no comparison"),
        ("got == 0 and left[0].imag", "no comparison"),
        ("got is 0", "no comparison"),
        ("f'{got}' == ''", "no comparison"),
        ("got == True", "no comparison"),
        ("got == None", "no comparison"),
        ("0 < got != got", "with itself"),
        ("len == 1 and got == 0", "no comparison"),
    ],
)
def test_what_is_no_comparison_of_values_is_refused(condition, words):
    with pytest.raises(ConditionError, match=words):
        check_condition(condition, VALUES)


@pytest.mark.parametrize("condition", ["got ==", "got == 0 " + "or got == 0 " * 20, "print(got) == 0"])
def test_nothing_fulfils_what_is_no_condition(condition):
    assert told({condition: 2}, {"got": "0"}) == 0
