"""The asserts of a program: where they are, whether they can fail, and whether two test the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kb.lint.static_checks.names import read_program

__all__ = ["always_holds", "assertions", "same_assert", "top_level_asserts"]


def assertions(source: str) -> list[ast.Assert]:
    """Return the assert statements of a program, in the order of their lines."""
    nodes = [node for node in read_program(source).nodes if isinstance(node, ast.Assert)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def top_level_asserts(tree: ast.Module) -> list[ast.Assert]:
    """Return the asserts whose failure nothing in the program can catch.

    They are statements of the module itself, of a plain `if __name__ == "__main__":`, or of a `for` loop there. Whether a loop's body runs is seen by
    running the program with the assert turned round.
    """
    return list(_uncaught(tree.body))


def _uncaught(statements: list[ast.stmt]) -> Iterator[ast.Assert]:
    for statement in statements:
        if isinstance(statement, ast.Assert):
            yield statement
        elif isinstance(statement, ast.For) or (isinstance(statement, ast.If) and _is_main_guard(statement)):
            yield from _uncaught(statement.body)


def _is_main_guard(node: ast.If) -> bool:
    return not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


def same_assert(first: ast.Assert, second: ast.Assert) -> bool:
    """Return whether two asserts test the same, wherever they are and whatever message they carry."""
    return ast.dump(first.test) == ast.dump(second.test)


def always_holds(test: ast.expr) -> str:
    """Return why a tested expression cannot be false, or nothing when it could be as far as its form shows."""
    if isinstance(test, ast.Tuple | ast.List | ast.Dict | ast.Set | ast.Lambda | ast.JoinedStr | ast.GeneratorExp):
        return "it tests a value that is always true"
    if isinstance(test, ast.BoolOp):
        reasons = [always_holds(value) for value in test.values]
        if isinstance(test.op, ast.Or):
            return next(filter(None, reasons), "")
        return reasons[0] if all(reasons) else ""
    if isinstance(test, ast.Compare):
        return next(filter(None, _vacuous_comparisons(test)), "")
    if isinstance(test, ast.UnaryOp | ast.Constant):
        return "" if any(isinstance(node, ast.Name) for node in ast.walk(test)) else "it tests constants"
    if isinstance(test, ast.IfExp):
        return always_holds(test.body) and always_holds(test.orelse)
    return "" if any(isinstance(node, ast.Name) for node in ast.walk(test)) else "it tests constants"


def _vacuous_comparisons(test: ast.Compare) -> Iterator[str]:
    if not any(isinstance(node, ast.Name) for node in ast.walk(test)):
        yield "it compares constants"
    sides = [test.left, *test.comparators]
    for left, operator, right in zip(sides, test.ops, sides[1:], strict=False):
        if isinstance(operator, ast.Eq | ast.Is | ast.LtE | ast.GtE) and ast.dump(left) == ast.dump(right):
            yield "it compares an expression with itself"
        if isinstance(operator, ast.GtE) and _is_length(left) and _is_zero(right):
            yield "no length is negative"
        if isinstance(operator, ast.IsNot) and isinstance(left, ast.Constant | ast.Call | ast.BinOp | ast.Compare):
            yield "a new value is never that object"


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
