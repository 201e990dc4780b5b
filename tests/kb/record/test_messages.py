import ast
import textwrap

from kb.record.messages import messages_in


def read(text):
    return messages_in(ast.parse(textwrap.dedent(text)))


def templates(text):
    return [message.template for message in read(text)]


def test_every_way_of_writing_a_text_becomes_a_template():
    assert (
        templates(
            """
        raise ValueError(f"expected {n} inputs but got {len(x)}")
        raise ValueError("expected %d inputs but got %s" % (n, m))
        raise ValueError("expected {} inputs but got {}".format(n, m))
        raise ValueError("expected " + str(n) + " inputs but got " + m)
        """
        )
        == ["expected {text} inputs but got {text}"] * 4
    )


def test_a_text_in_a_variable_is_followed():
    assert templates("msg = 'this cannot be done here'\nraise TypeError(msg)") == ["this cannot be done here"]


def test_a_glued_placeholder_is_a_name():
    assert templates("raise AttributeError(f'module torch.{name} has no such thing')") == [
        "module torch.{name} has no such thing"
    ]


def test_function_condition_type_and_line_are_kept():
    (message,) = read(
        """
        class A:
            def f(self, n):
                if n < 0:
                    raise ValueError("n must be at least zero")
        """
    )
    assert (message.type, message.function, message.condition, message.line) == ("ValueError", "A.f", "n < 0", 5)


def test_the_branch_otherwise_has_the_negated_condition():
    (message,) = read(
        "def f(n):\n    if n:\n        pass\n    else:\n        raise ValueError('there is nothing here')"
    )
    assert message.condition == "not (n)"


def test_asserts_warnings_and_logs_are_messages():
    types = [
        message.type
        for message in read(
            """
            assert n, "n may not be empty"
            warnings.warn("this will be gone soon", FutureWarning)
            logger.warning("could not read the file")
            torch._check(n, lambda: "n may not be empty")
            """
        )
    ]
    assert types == ["AssertionError", "FutureWarning", "log", "RuntimeError"]


def test_a_text_without_words_of_its_own_is_no_template():
    assert templates("raise ValueError(f'{a} {b}')\nraise ValueError('bad')\nraise ValueError(f'bad {x}')") == []


def test_braces_in_a_text_do_no_harm():
    assert templates("raise ValueError('give a dict such as {key: value} here')") == [
        "give a dict such as (key: value) here"
    ]
