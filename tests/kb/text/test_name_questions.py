import pytest

from kb.text.name_questions import read_name_error

SPELLINGS = [
    ("ImportError", "cannot import name 'a'", ("name", "", "a")),
    ("ImportError", "cannot import name 'a' from 'p.q' (/x/p/q.py)", ("name", "p.q", "a")),
    ("ImportError", "cannot import name 'a' from 'p.q' (unknown location)", ("name", "p.q", "a")),
    ("ImportError", "cannot import name 'a' from partially initialized module 'p' (most likely due to a circular import) (/x)", ("name", "p", "a")),
    ("ImportError", "cannot import name 'a' from 'p' (consider renaming '/x/p.py' since it has the same name)", ("name", "p", "a")),
    ("ImportError", "cannot import name 'a' from 'p' (/x). Did you mean: 'b'?", ("name", "p", "a")),
    ("ImportError", "cannot import name a", ("name", "", "a")),
    ("ImportError", "No module named p.q", ("module", "", "p.q")),
    ("ModuleNotFoundError", "No module named 'p.q'", ("module", "", "p.q")),
    ("ModuleNotFoundError", "No module named 'p.q'; 'p' is not a package", ("module", "", "p.q")),
    ("AttributeError", "module 'p' has no attribute 'a'", ("name", "p", "a")),
    ("AttributeError", "module 'p' has no attribute 'a'. Did you mean: 'b'?", ("name", "p", "a")),
    ("AttributeError", "partially initialized module 'p' has no attribute 'a' (most likely due to a circular import)", ("name", "p", "a")),
    ("AttributeError", "cannot access submodule 'a' of module 'p' (most likely due to a circular import)", ("name", "p", "a")),
    ("AttributeError", "type object 'C' has no attribute 'a'", ("member", "C", "a")),
    ("AttributeError", "'C' object has no attribute 'a'", ("member", "C", "a")),
    ("TypeError", "__init__() got an unexpected keyword argument 'a'", ("keyword", "", "a")),
    ("TypeError", "C.__init__() got an unexpected keyword argument 'a'", ("keyword", "C", "a")),
    ("TypeError", "C.f() got an unexpected keyword argument 'a'. Did you mean 'b'?", ("keyword", "C.f", "a")),
    ("TypeError", "'a' is an invalid keyword argument for f()", ("keyword", "f", "a")),
    ("TypeError", "f() got some positional-only arguments passed as keyword arguments: 'a'", ("keyword", "f", "a")),
    ("TypeError", "f() missing 1 required positional argument: 'a'", ("required", "f", "a")),
    ("TypeError", "C.__init__() missing 2 required keyword-only arguments: 'a' and 'b'", ("required", "C", "a")),
    ("TypeError", "f() takes 2 positional arguments but 3 were given", ("count", "f", "")),
    ("TypeError", "f() takes from 1 to 2 positional arguments but 3 were given", ("count", "f", "")),
    ("TypeError", "f() takes at most 2 arguments (3 given)", ("count", "f", "")),
]  # fmt: skip


@pytest.mark.parametrize(("error_type", "message", "expected"), SPELLINGS)
def test_every_spelling_is_read(error_type, message, expected):
    question = read_name_error(error_type, message)
    assert question is not None
    assert (question.kind, question.owner, question.name) == expected


def test_numbers_of_arguments_are_read():
    question = read_name_error("TypeError", "f() takes from 1 to 2 positional arguments but 3 were given")
    assert (question.limit, question.given) == (2, 3)


@pytest.mark.parametrize(
    ("error_type", "message"),
    [
        ("RuntimeError", "module 'p' has no attribute 'a'"),
        ("ValueError", "cannot import name 'a'"),
        ("TypeError", "unsupported operand type"),
    ],
)
def test_other_errors_ask_nothing(error_type, message):
    assert read_name_error(error_type, message) is None
