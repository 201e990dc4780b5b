"""Mutants are fixes that must fail, and no line or size of their texts tells a program which of them it is."""

import ast

import pytest

from kb.corpus.entry import Block, Case
from kb.verify.mutants import mutants

REPRO = "import torch\n\n# three\ntotal = torch.ones(3) + torch.ones(4)\n"
FIX = "import torch\n\n# four\ntotal = torch.ones(4) + torch.ones(4)\nassert total.shape == (4,), 'shape'\n"


def made(repro=REPRO, fix=FIX, kind="error"):
    return mutants(Case("slug", "case", repro=Block(repro, 1), fix=Block(fix, 1)), kind)


def test_each_assert_at_the_top_level_is_turned_round_in_a_mutant_of_its_own():
    fix = FIX + "if total.sum():\n    assert total.sum() == 8\nassert total.sum() == 8\n"
    first, second, _ = made(fix=fix)
    assert "assert not total.shape == (4,), 'shape'" in first.source
    assert second.source.count("assert not total.sum() == 8") == 1
    assert (first.kind, first.about, second.about) == ("negated", 5, 8)


@pytest.mark.parametrize(
    "fix",
    [
        FIX,
        "import torch\nif __name__ == '__main__':\n    total = torch.ones(4)\n    assert total.shape == (4,)\n",
        "import torch\nfor size in (4, 5):\n    total = torch.ones(size)\n    assert total.shape == (size,)\n",
        "import torch\ntotal = torch.ones(4)\nassert (\n    total.shape\n    == (4,)\n)\n",
        "import torch\ntotal = torch.ones(4)\nassert not total.shape == (3,) and total.sum() == 4\n",
    ],
)
def test_the_assert_that_must_fail_is_where_the_mutant_says(fix):
    negated, _ = made(fix=fix)
    ((first, last),) = negated.asserts
    text = "\n".join(negated.source.split("\n")[first - 1 : last])
    (statement,) = ast.parse(text.strip()).body
    assert isinstance(statement, ast.Assert)
    assert isinstance(statement.test, ast.UnaryOp)


def test_a_restored_fix_is_the_repro_with_the_fix_s_asserts_at_its_end():
    *_, restored = made()
    lines = [line for line in restored.source.split("\n") if line and not line.startswith("#")]
    assert lines == ["import torch", "total = torch.ones(3) + torch.ones(4)", "assert total.shape == (4,), 'shape'"]
    assert (restored.kind, restored.asserts) == ("restored", ())


def test_a_restored_silent_fix_must_fail_at_an_assert_that_both_have():
    repro = "import torch\ntotal = torch.ones(3)\nassert total.shape == (4,)\n"
    *_, restored = made(repro=repro, kind="silent")
    assert restored.asserts[0] == (3, 3)
    assert all("total.shape" in restored.source.split("\n")[first - 1] for first, _ in restored.asserts)


@pytest.mark.parametrize("fix", [FIX, FIX + "# much longer than the repro\n" * 50])
def test_a_restored_fix_is_on_the_fix_s_side_of_every_size(fix):
    *_, restored = made(fix=fix)
    assert len(restored.source) > len(fix) > len(REPRO)


def test_a_restored_fix_of_a_longer_repro_is_not_padded():
    *_, restored = made(repro=REPRO + "# long\n" * 100)
    assert len(restored.source) < len(FIX)


def test_no_comment_is_left():
    for mutant in made(fix=FIX + "# a note\n"):
        assert "# three" not in mutant.source
        assert "# four" not in mutant.source
        assert "# a note" not in mutant.source
