"""The errors in a paste are found in the order of causes, with the reader's own line of code."""

import pytest

from kb.text.frames import traceback_files
from kb.text.normalize import normalize, unwrap_hard_wraps
from kb.text.tracebacks import find_errors, own_frame


def errors_in(text):
    return [(error.type, error.message) for error in find_errors(normalize(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RuntimeError: it broke", ("RuntimeError", "it broke")),
        ("I get a RuntimeError: it broke", ("RuntimeError", "it broke")),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory", ("torch.cuda.OutOfMemoryError", "CUDA out of memory")),
        ("ValueError:\n  it broke", ("ValueError", "it broke")),
        ("AssertionError", ("AssertionError", "")),
        ("SomeError      Traceback (most recent call last)\n<ipython-input-1> in <module>", ("SomeError", "")),
        ("ResourceError (see above for traceback): no room", ("ResourceError", "no room")),
        ("fatal: not a repository", ("fatal", "not a repository")),
        ("tool.py: error: unrecognized arguments: -x", ("error", "unrecognized arguments: -x")),
        ("a.cpp:4:7: error: no such thing", ("error", "no such thing")),
        ("b.obj : error LNK2019: unresolved", ("error LNK2019", "unresolved")),
        ("kernel.cu:30: thread: [1,0,0] Assertion `x >= 0` failed.", ("Assertion", "Assertion `x >= 0` failed.")),
        ("  what():  CUDA error: unknown", ("c10::Error", "CUDA error: unknown")),
        ("报错：RuntimeError：坏了", ("RuntimeError", "坏了")),
    ],
)
def test_an_error_is_found_however_it_is_printed(text, expected):
    assert errors_in(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "    raise ValueError('no')",
        "except KeyError:",
        "this has no error in it",
        "import MyError",
        "the following error:\n\nnothing",
    ],
)
def test_code_and_prose_about_errors_are_none(text):
    assert errors_in(text) == []


def test_the_cause_comes_before_what_it_caused():
    text = "KeyError: 'a'\n\nThe above exception was the direct cause of the following exception:\n\nRuntimeError: b"
    assert errors_in(text) == [("KeyError", "'a'"), ("RuntimeError", "b")]


def test_an_error_while_handling_another_comes_first():
    text = "Empty\n\nKeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nRuntimeError: b"
    assert [type_ for type_, _ in errors_in(text)][:2] == ["RuntimeError", "KeyError"]


def test_what_merely_reports_comes_last_and_warnings_behind_errors():
    text = (
        "a.py:3: UserWarning: old\n"
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n"
        "ValueError: the cause"
    )
    assert [type_ for type_, _ in errors_in(text)] == ["ValueError", "UserWarning", "RuntimeError"]


def test_the_same_error_of_several_ranks_counts_once():
    assert errors_in("[rank0]: RuntimeError: a\n[rank1]: RuntimeError: a") == [("RuntimeError", "a")]


def frame_in(text):
    normalized = normalize(text)
    return own_frame(normalized, find_errors(normalized)[0])


def test_the_innermost_frame_of_the_readers_own_code_is_pointed_out():
    frame = frame_in(
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 8, in <module>\n    main()\n'
        '  File "/home/me/net.py", line 31, in forward\n    return self.fc(x)\n'
        '  File "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward\n    return F.linear(x)\n'
        "RuntimeError: no"
    )
    assert frame == ("/home/me/net.py", 31, "forward", "return self.fc(x)")


def test_a_notebooks_frame_is_read_by_its_arrow():
    frame = frame_in(
        "RuntimeError          Traceback (most recent call last)\n"
        "<ipython-input-7-abc> in train(model)\n      3 a = 1\n----> 4 b = model(a)\n      5 \n"
        "/usr/lib/python3.8/site-packages/torch/nn/modules/module.py in __call__(self)\n    721 x\n"
        "RuntimeError: no"
    )
    assert (frame.file, frame.line, frame.code) == ("<ipython-input-7-abc>", 4, "b = model(a)")


def test_lines_keep_their_numbers_through_cleaning():
    normalized = normalize("one\n\x1b[31mtwo\x1b[0m\n[rank0]: three\n[rank1]: four\n[rank0]: five")
    lines = normalized.text.split("\n")
    assert lines == ["one", "two", "three", "five", "four"]
    assert [normalized.line(normalized.text.index(line)) for line in lines] == [1, 2, 3, 5, 4]


def test_colours_whose_escape_character_was_lost_go_and_words_in_brackets_stay():
    assert normalize("[1;31mred[0m\n[mError: no\n[model] is bad").text == "red\nError: no\n[model] is bad"


def test_a_long_paste_keeps_its_beginning_end_and_errors_with_their_line_numbers():
    filler = "".join(f"epoch {i} loss 0.5\n" for i in range(20_000))
    text = f"first line\n{filler}RuntimeError: in the middle\n{filler}last line"
    normalized = normalize(text)
    assert len(normalized.text) < 60_000
    for line, number in (("first line", 1), ("RuntimeError: in the middle", 20_002), ("last line", 40_003)):
        assert normalized.line(normalized.text.index(line)) == number
        assert text.split("\n")[number - 1] == line


def test_lines_broken_by_a_terminal_are_joined():
    text = "x" * 80 + "\n" + "y" * 10
    assert unwrap_hard_wraps(normalize(text)).text == "x" * 80 + "y" * 10
    assert unwrap_hard_wraps(normalize("short\nlines")) is None


@pytest.mark.parametrize(
    ("frame", "file"),
    [
        (
            r'  File "C:\lib\site-packages\torch\nn\functional.py", line 1370, in linear',
            r"C:\lib\site-packages\torch\nn\functional.py",
        ),
        (r'  File "D:\work\networks\model.py", line 3, in forward', r"D:\work\networks\model.py"),
        ("[/usr/lib/optim/adam.py](https://localhost:8080/#) in step(self)", "/usr/lib/optim/adam.py"),
    ],
)
def test_a_folder_of_windows_is_no_line_break_and_a_link_of_a_notebook_is_a_file(frame, file):
    pasted = normalize(f"Traceback (most recent call last):\n{frame}\nRuntimeError: it broke")
    assert traceback_files(pasted.text, find_errors(pasted)[0]) == [file]
