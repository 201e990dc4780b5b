"""A change of one expression, applied to a line as the reader wrote it; what is ambiguous or no longer Python is not changed."""

import pytest

from kb.templates.code_change import PatternError, change_code, compile_pattern

VIEW = ("$X.view($$$SHAPE)", "$X.reshape($$$SHAPE)")
LOAD = ("torch.load($$$ARGS)", 'torch.load($$$ARGS, map_location="cpu")')


def changed(pattern, code, values=None, at=None):
    change = change_code(compile_pattern(*pattern), code, values or {}, at)
    return change and change.code


@pytest.mark.parametrize(
    ("pattern", "code", "expected"),
    [
        (VIEW, "y = (a + b).view(2, -1)  # note", "y = (a + b).reshape(2, -1)  # note"),
        (VIEW, "    return f(x.view(size=( 2,3 )))", "    return f(x.reshape(size=( 2,3 )))"),
        (VIEW, "for row in x.view(-1):", "for row in x.reshape(-1):"),
        (VIEW, "elif x.view(3).any():", "elif x.reshape(3).any():"),
        (VIEW, "\tx.view()", "\tx.reshape()"),
        (VIEW, "名字 = '图片'; y = 张量.view(-1)", "名字 = '图片'; y = 张量.reshape(-1)"),
        (LOAD, "s = torch.load(f'{p}.pt')['m']", "s = torch.load(f'{p}.pt', map_location=\"cpu\")['m']"),
        (LOAD, "torch.load()", 'torch.load(map_location="cpu")'),
        (("1 - $M", "~$M"), "keep = 1 - a * b", "keep = ~(a * b)"),
        (("1 - $M", "~$M"), "keep = 1 - mask", "keep = ~mask"),
        (("f($X)", "g([$X])"), "f(a + b)", "g([a + b])"),
        (("$F($$$ARGS, verbose=$V)", "$F($$$ARGS)"), "StepLR(o, verbose=True, step_size=2)", "StepLR(o, step_size=2)"),
        (("$F($$$ARGS, verbose=$V)", "$F($$$ARGS)"), "StepLR(verbose=True)", "StepLR()"),
        (("$F($X, $X)", "$F($X)"), "f(a, a)", "f(a)"),
        (("nn.init.$INIT($L)", "nn.init.$INIT($L.weight)"), "nn.init.zeros_(fc)", "nn.init.zeros_(fc.weight)"),
    ],
)
def test_what_the_reader_wrote_is_kept(pattern, code, expected):
    assert changed(pattern, code) == expected


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        (VIEW, "x.view(1) + y.view(2)"),
        (VIEW, "x.reshape(1)"),
        (VIEW, "y = x.view(2,"),
        (VIEW, "x" * 3000),
        (VIEW, "\0"),
        (VIEW, "(" * 1000),
        (LOAD, "torch.load(p, map_location='cuda')"),
        (("f($X)", "g($X)"), "f(a, b)"),
        (("f($X)", "g($X)"), "f(a, key=b)"),
        (("f($X)", "g($X)"), "f(*a)"),
        (("$F($X, $X)", "$F($X)"), "f(a, b)"),
    ],
)
def test_what_is_ambiguous_or_already_so_is_left(pattern, code):
    assert changed(pattern, code) is None


def test_a_value_of_the_message_says_which_attribute_is_meant():
    pattern = "$MODEL.$attribute", "$MODEL.module.$attribute"
    assert changed(pattern, "y = net.encoder.fc(x)", {"attribute": "encoder"}) == "y = net.module.encoder.fc(x)"
    assert changed(pattern, "y = net.encoder.fc(x)", {"attribute": "decoder"}) is None


def test_the_expression_that_failed_has_to_match():
    code = "a.view(1) + b.view(2)"
    assert changed(VIEW, code, at=(12, 21)) == "a.view(1) + b.reshape(2)"
    assert changed(VIEW, code, at=(0, 6)) == "a.reshape(1) + b.view(2)", "the attribute of a call may be what failed"
    assert changed(VIEW, code, at=(0, 21)) is None


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [("f(", "g()", "no Python"), ("f($X)", "g($X", "no Python"), ("f($X)", "g($Y)", "Y stands for nothing")],
)
def test_a_pattern_that_cannot_be_used_says_why(before, after, why):
    with pytest.raises(PatternError, match=why):
        compile_pattern(before, after)


@pytest.mark.parametrize("argument", ["-" * 900 + "1", "1" + "+1" * 900, "x" + ".a" * 800, "(" * 900 + "1" + ")" * 900])
def test_a_line_that_is_nested_too_deep_is_left(argument):
    pattern = compile_pattern("$X.view($$$SHAPE)", "$X.reshape($$$SHAPE)")
    assert change_code(pattern, f"y = x.view({argument})", {}) is None
