"""Text for a terminal: an answer fits the screen in either language, long pages go through the pager, a paste ends with Ctrl-D."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.cli import COMMANDS
from kb.index.manager import open_index
from kb.render.annotations import annotation
from kb.render.answer_html import answer_html
from kb.render.answer_text import answer_lines, unanswered_lines
from kb.render.entry_text import short_cause
from kb.render.prose import blocks, plain, prose_lines, sentence
from kb.render.strings import STRINGS
from kb.render.terminal import Style, columns, language, paint, wrap
from kb.search.answer import Answer, Evidence, Match, RecordAnswer
from kb.search.lookup import lookup
from tests.entry_factory import Item, Programs
from tests.guides import blocks as blocks_of
from tests.guides import steps

REPOSITORY = Path(__file__).parents[3]
MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
PASTE = f"""\
Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    out = model(x)
ValueError: {MESSAGE}
"""
PLAIN = Style(plain=True)


class Terminal:
    """A command in a pseudo-terminal of that size."""

    def __init__(self, *command, rows=24, columns=80, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {"TERM": "xterm-256color", "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"} | environment
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=os.environ | environment
        )
        os.close(slave)
        self.shown = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, until=None, seconds=60):
        """Read until the words were shown, or to the end."""
        end = time.monotonic() + seconds
        data = b""
        while time.monotonic() < end and (until is None or until not in self.shown):
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                more = os.read(self.master, 65536)
            except OSError:  # the other side is closed
                break
            if not more:
                break
            data += more
            self.shown = data.decode("utf-8", "replace").replace("\r\n", "\n")
        return self.shown

    def wait_for_reading(self):
        """Wait until the command sleeps: Python loses a signal that comes between its last check for one and the call that waits for input."""
        state = Path(f"/proc/{self.process.pid}/stat")
        asleep = 0
        while asleep < 5:
            asleep = asleep + 1 if state.read_text().rpartition(")")[2].split()[0] == "S" else 0
            time.sleep(0.02)

    def end(self):
        """Read to the end; return what was shown and the exit status."""
        self.read()
        status = self.process.wait(30)
        os.close(self.master)
        return self.shown, status


def kb(*arguments, **options):
    return Terminal(sys.executable, "-m", "kb", *arguments, **options)


def bare(text):
    """The text without colours."""
    return re.sub(r"\033\[[\d;]*m", "", text)


@pytest.fixture
def index():
    return open_index()


@pytest.fixture
def warm():
    open_index()


def found(slug, card, lang, *, words=()):
    """An exact answer for an entry, as a look-up gives it."""
    explain = next(iter(card["explanations"].values()), None)
    evidence = Evidence("RuntimeError: " + (card["messages"] or ["?"])[0], 14, "", words, {}, explain)
    match = Match(slug, "exact", 1.0, card["title"], evidence)
    other = Match("another-entry-that-may-fit", "likely", 0.5, card["title"], Evidence())
    return Answer(True, (match, other, other), (), lang)


RECORD = RecordAnswer(
    "name",
    "torchtext",
    "torchtext.data.Field",
    "removed",
    ("torchtext<0.9",),
    {"en": ("`torchtext.data.Field` is gone since 0.9.",) * 6, "zh": ("`torchtext.data.Field` 从 0.9 起已移除。",) * 6},
    "https://github.com/pytorch/text/blob/v0.8.1/torchtext/data/field.py#L1",
)


def rows_taken(lines, across):
    return sum(1 + max(0, columns(line) - 1) // across for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_answer_exceeds_its_screen(index, lang, data):
    slug = data.draw(st.sampled_from(index.slugs()))
    across, rows = data.draw(st.integers(40, 100)), data.draw(st.integers(1, 60))
    card = index.document(slug)
    answer = found(slug, card, lang)._replace(record=data.draw(st.sampled_from([None, RECORD])))
    lines = answer_lines(answer, card, data.draw(st.text(max_size=40)), across, rows, PLAIN)
    assert rows_taken(lines, across) <= rows


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("across", "rows"), [(80, 23), (100, 39), (60, 23)])
@pytest.mark.parametrize("record", [None, RECORD], ids=["entry", "entry and record"])
def test_the_answer_is_the_third_line_and_every_cause_and_a_change_are_shown(index, lang, across, rows, record):
    for slug in index.slugs():
        card = index.document(slug)
        lines = answer_lines(found(slug, card, lang)._replace(record=record), card, "", across, rows, PLAIN)
        assert lines[2][:20] == next(wrap(plain(card["answer"][lang]), across))[:20], slug
        text = "\n".join(lines)
        assert f"kb show {slug}" in text, slug
        items = card["items"][lang]
        missing = [at for at in range(1, len(items) + 1) if not re.search(rf"^[> ] {at}\. ", text, re.MULTILINE)]
        assert missing == [], slug
        assert text.count("\n> ") == (len(items) > 1), slug
        if items and set(items[0]["cases"]) & {case["name"] for case in card["cases"]}:
            assert any(line.lstrip().startswith(("+", "-")) for line in lines), slug


def test_where_there_is_room_nothing_is_left_out(index):
    answer = lookup(PASTE, index=index)
    card = index.document(answer.matches[0].id)
    text = " ".join(" ".join(answer_lines(answer, card, PASTE, 88, None, PLAIN)).split())
    for prose in (card["answer"]["en"], card["how_to_tell"]["en"], card["why"]["en"]):
        assert " ".join(plain(prose).split()) in text
    for item in card["items"]["en"]:
        assert plain(item["cause"]) in text


def test_what_is_cut_ends_in_dots(index):
    answer = lookup(PASTE, index=index)
    lines = answer_lines(answer, index.document(answer.matches[0].id), PASTE, 60, 14, PLAIN)
    assert sum(line.endswith("…") for line in lines) >= 1


def test_the_cause_that_fits_is_marked_and_says_why(entries):
    entries.write(
        items=[
            Item(("The sizes differ", "尺寸不同"), names=["sizes"]),
            Item(("You call `merge_heads` in `train.py`", "`train.py` 里调用了 `merge_heads`"), names=["heads"]),
        ],
        cases=[Programs(), Programs("heads", repro="import torch\nmerge_heads = torch.ones(3) + torch.ones(4)\n")],
    )
    index = entries.index()
    text = PASTE.replace("model(x)", "merge_heads(x)").replace(
        f"ValueError: {MESSAGE}",
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    )
    answer = lookup(text, index=index)
    lines = answer_lines(answer, index.document("add-two"), text, 88, None, PLAIN)
    assert "  1. The sizes differ" in lines
    assert "> 2. You call `merge_heads` in `train.py` (your traceback goes through `merge_heads`)" in lines


def test_the_change_of_a_later_cause_that_fits_is_said_first_and_once(entries):
    entries.write(
        messages=["RuntimeError: the sizes differ", {"text": "RuntimeError: the heads are not merged", "cause": 2}],
        items=[
            Item(("The sizes differ", "尺寸不同"), names=["sizes"]),
            Item(
                ("Heads are missing (`not merged`)", "缺了头（报 `not merged`）"),
                ("split the input with `merge_heads(x)` first.", "先用 `merge_heads(x)` 拆开输入。"),
                names=["heads"],
            ),
        ],
        cases=[Programs(), Programs("heads", fix="import torch\n\nassert torch.ones(3).sum() == 3\n")],
    )
    index = entries.index()
    document = index.document("add-two")

    def shown(text):
        found = lookup(text, index=index)
        lines = answer_lines(found, document, text, 88, None, PLAIN)
        return lines, answer_html(found, document, text), annotation(found, document, text)[3]

    lines, html, note = shown("RuntimeError: the heads are not merged")
    expected = "Heads are missing: split the input with `merge_heads(x)` first."
    assert lines[2] == expected
    assert ("\n".join(lines).count("plit the input"), html.count("plit the input")) == (1, 1)
    assert f'em">{expected.replace("`merge_heads(x)`", "<code>merge_heads(x)</code>")}</p>' in html
    assert note.startswith(expected)
    assert shown("RuntimeError: the sizes differ")[0][2] == document["answer"]["en"]


@pytest.mark.parametrize(
    ("cause", "short"),
    [
        ("The file is cut off (`EOFError: Ran out (of input)`, `bad key`)", "The file is cut off"),
        ("A layer (`a.py` in the traceback) on one GPU", "A layer on one GPU"),
        ("文件不完整（报 `Ran out of input`）", "文件不完整"),
        ("You pass `tuple()` (since 2.0)", "You pass `tuple()` (since 2.0)"),
        ("`must be Tensor`, or `has no attribute`", ""),
        ("报 `must be Tensor`、`has no attribute`", ""),
    ],
)
def test_a_cause_said_first_leaves_out_what_it_quotes(cause, short):
    assert short_cause(cause) == short


def test_a_symptom_tells_before_it_changes(index):
    symptoms = [card for slug in index.slugs() if (card := index.document(slug))["kind"] == "symptom"]
    for card in symptoms:
        lines = answer_lines(found(card["id"], card, "en"), card, "", 88, None, PLAIN)
        starts = [
            next(at for at, line in enumerate(lines) if line.startswith(head)) for head in ("How to tell", "What to")
        ]
        assert starts == sorted(starts)


def test_how_many_more_cases_there_are_is_told(index):
    for slug in index.slugs():
        card = index.document(slug)
        match = Match(slug, "exact", 1.0, card["title"], Evidence())
        last = answer_lines(Answer(True, (match,), (), "en"), card, "", 120, None, PLAIN)[-1]
        more = len(card["cases"]) - 1
        assert last.startswith({0: "Whole programs", 1: "1 more case,"}.get(max(0, more), f"{more} more cases,"))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("across", [40, 80, 100])
def test_prose_wraps_and_keeps_every_word(index, lang, across):
    for slug in index.slugs():
        card = index.document(slug)
        for part in ("why", "how_to_tell", "answer"):
            markdown = card[part][lang]
            if not markdown:
                continue
            lines = prose_lines(markdown, across)
            longest = max(map(len, re.findall("[!-~]+", markdown)), default=0)
            assert max(map(columns, lines)) <= max(across, longest + 6), slug
            told = "".join("".join(mark + text for mark, text in blocks(markdown)).split())
            assert "".join("".join(lines).split()) == told, slug


def test_chinese_punctuation_neither_begins_nor_ends_a_line_wrongly():
    text = "第一个（括号里的）字，第二个“引号里的”字。" * 8
    for limit in range(20, 60):
        lines = list(wrap(text, limit))
        assert not any(line[0] in "，。）”" for line in lines)
        assert not any(line[-1] in "（“" for line in lines)
        assert max(map(columns, lines)) <= limit


def test_markdown_becomes_plain_text():
    text = (
        "**Bold** is `**kwargs`, see [that](that.md), [this one](../a/other.md), [case](#case) and [docs](https://e.org)."
        "\n\n- one\n  more\n- two\n\n1. first"
    )
    assert list(blocks(text)) == [
        ("", "Bold is `**kwargs`, see that, this one (other), `case` and docs (https://e.org)."),
        ("- ", "one more"),
        ("- ", "two"),
        ("1. ", "first"),
    ]


def test_a_code_span_over_two_lines_is_coloured_on_both():
    style = Style(plain=True)
    style.on = True
    assert list(paint(["  use `a", "  b` and c"], style)) == ["  use \033[36ma\033[0m", "  \033[36mb\033[0m and c"]
    assert list(paint(["use `a`"], PLAIN)) == ["use `a`"]


def test_a_log_cannot_steer_the_terminal(index):
    text = (
        'Traceback (most recent call last):\n  File "/home/\033]0;evil\007me/train.py", line 3, in f\n    x = \033[2Jmodel(y)\n'
        f"ValueError: {MESSAGE}\033]0;evil\007 \x9b31m \u202eevil\r\n"
    )
    answer = lookup(text, index=index)
    for limit in (40, 88):
        for line in answer_lines(answer, index.document(answer.matches[0].id), text, limit, None, PLAIN):
            assert line.isprintable()


@pytest.mark.parametrize(
    ("asked_for", "environment", "expected"),
    [
        ("en", {"KB_LANG": "zh"}, "en"),
        (None, {"KB_LANG": "zh", "LANG": "en_US.UTF-8"}, "zh"),
        (None, {"KB_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"),
        (None, {"LANG": "zh_TW.UTF-8"}, "zh"),
        (None, {"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, None),
        (None, {"LANG": "de_DE.UTF-8"}, None),
        (None, {}, None),
    ],
)
def test_the_language_is_asked_for_or_the_locales(asked_for, environment, expected, monkeypatch):
    for name in ("KB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
        if name in environment:
            monkeypatch.setenv(name, environment[name])
    assert language(asked_for) == expected


def test_no_entry_shows_related_ones_by_title_and_how_to_read_them():
    near = Match("some-entry", "related", 0.1, {"en": "Some title", "zh": "题目"}, Evidence())
    lines = unanswered_lines(Answer(False, (near,), (), "en"), 80, PLAIN)
    assert lines[0] == "kb has no entry that answers this."
    assert "kb show NAME" in lines[2]
    assert lines[3] == "  some-entry: Some title"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_the_released_packages_say_is_called_that_with_and_without_an_entry(index, lang):
    card = index.document(next(iter(index.slugs())))
    answered = found(card["id"], card, lang)._replace(record=RECORD)
    heading = STRINGS[lang]["record"] + STRINGS[lang]["record_note"]
    for lines in (
        answer_lines(answered, card, "", 100, None, PLAIN),
        unanswered_lines(Answer(False, (), (), lang, RECORD), 100, PLAIN),
    ):
        start = next(at for at, line in enumerate(lines) if line.startswith(heading))
        assert "torchtext.data.Field" in " ".join(lines[start : start + 2])
        assert f"  {RECORD.address}" in lines
    html = answer_html(answered, card, "")
    assert STRINGS[lang]["record_note"] in html
    assert "<code>torchtext.data.Field</code>" in html


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_the_released_packages_say_stands_before_what_to_change_on_a_small_screen(index, lang):
    for slug in index.slugs():
        card = index.document(slug)
        if not card["items"][lang]:
            continue
        answer = found(slug, card, lang)._replace(record=RECORD)
        lines = answer_lines(answer, card, "", 80, 23, PLAIN)
        starts = [
            next(at for at, line in enumerate(lines) if line.startswith(STRINGS[lang][part]))
            for part in ("record", "change")
        ]
        assert starts == sorted(starts), slug


@pytest.mark.usefixtures("warm")
class TestOnATerminal:
    @pytest.mark.parametrize(("lang", "word"), [("en", "What to change"), ("zh", "怎么改")])
    @pytest.mark.parametrize(("rows", "across"), [(24, 80), (40, 100)])
    def test_an_answer_leaves_the_prompt_its_row(self, lang, word, rows, across):
        shown, status = kb("lookup", MESSAGE, rows=rows, columns=across, KB_LANG=lang).end()
        lines = bare(shown).rstrip("\n").split("\n")
        assert status == 0
        assert word in shown
        assert "drop_last=True" in shown
        assert len(lines) < rows
        assert max(map(columns, lines)) <= across

    def test_colours_stay_away_where_they_are_not_wanted(self):
        assert "\033[" in kb("lookup", MESSAGE).end()[0]
        assert "\033[" not in kb("lookup", MESSAGE, NO_COLOR="1").end()[0]
        assert "\033[" not in kb("lookup", MESSAGE, TERM="dumb").end()[0]

    @pytest.mark.parametrize("arguments", [["lookup"], ["lookup", "-"]])
    def test_paste_then_ctrl_d(self, arguments):
        terminal = kb(*arguments)
        terminal.read(until="Ctrl-D")
        terminal.type(PASTE)
        terminal.type("\x04")
        shown, status = terminal.end()
        assert status == 0
        assert "batchnorm-one-value-per-channel" in shown
        assert "train.py:12" in shown

    def test_a_paste_without_an_end_of_line_does_not_run_into_the_answer(self):
        terminal = kb("lookup")
        terminal.read(until="Ctrl-D")
        terminal.type(MESSAGE)
        terminal.type("\x04\x04")
        assert f"{MESSAGE}\n" in bare(terminal.end()[0])

    def test_ctrl_c_leaves_at_once(self):
        terminal = kb("lookup")
        terminal.read(until="Ctrl-D")
        terminal.wait_for_reading()
        terminal.process.send_signal(signal.SIGINT)
        shown, status = terminal.end()
        assert status == 130
        assert "Traceback" not in shown

    def test_a_long_page_goes_through_the_pager(self, tmp_path):
        pager = tmp_path / "pager"
        pager.write_text(f"#!/bin/sh\necho paged\ncat > {tmp_path}/got\n")
        pager.chmod(0o755)
        shown, status = kb("show", "batchnorm-one-value-per-channel", PAGER=str(pager)).end()
        assert (shown, status) == ("paged\n", 0)
        assert "\033[" in (tmp_path / "got").read_text()

    @pytest.mark.parametrize("pager", ["cat", "", "/nowhere/pager"])
    def test_without_a_pager_the_page_is_printed(self, pager):
        shown, status = kb("show", "batchnorm-one-value-per-channel", PAGER=pager).end()
        assert status == 0
        assert shown.count("DataLoader(data") >= 2

    def test_a_pager_that_is_left_early_is_no_error(self):
        assert kb("show", "batchnorm-one-value-per-channel", PAGER="true").end() == ("", 0)

    def test_a_page_that_fits_needs_none(self):
        shown, _ = kb("show", "batchnorm-one-value-per-channel", PAGER="false", rows=500).end()
        assert "DataLoader" in shown

    def test_a_program_that_dies_is_answered_within_the_screen(self, tmp_path):
        (tmp_path / "train.py").write_text(f'raise ValueError("{MESSAGE}")')
        (tmp_path / "sitecustomize.py").write_text(
            "import kb.integrations.crash_answer\nkb.integrations.crash_answer.SECONDS = 30\n"
        )
        shown, status = kb(str(tmp_path / "train.py"), PYTHONPATH=f"{tmp_path}{os.pathsep}{REPOSITORY}").end()
        assert status == 1
        assert "\033[" in shown
        assert "batchnorm-one-value-per-channel" in shown
        assert len(shown.rstrip().split("\n")) <= 24


@pytest.mark.usefixtures("warm")
class TestThroughPipes:
    def test_what_a_program_printed(self, tmp_path):
        (tmp_path / "train.py").write_text(f'raise ValueError("{MESSAGE}")')
        line = f"{sys.executable} {tmp_path}/train.py 2>&1 | {sys.executable} -m kb lookup -"
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
        assert "batchnorm-one-value-per-channel" in done.stdout

    def test_no_pager_and_no_colours_where_there_is_no_terminal(self):
        command = [sys.executable, "-m", "kb", "show", "batchnorm-one-value-per-channel"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PAGER": "false"})
        assert "DataLoader" in done.stdout
        assert "\033" not in done.stdout

    def test_the_fix_alone_goes_to_standard_output(self):
        command = [sys.executable, "-m", "kb", "lookup", "--fix"]
        done = subprocess.run([*command, MESSAGE], capture_output=True, text=True, check=True)
        compile(done.stdout, "fix.py", "exec")
        assert "batchnorm-one-value-per-channel/single-prediction" in done.stderr
        none = subprocess.run([*command, "xyzzy plugh"], capture_output=True, text=True, check=False)
        assert (none.returncode, none.stdout) == (1, "")
        assert "no entry" in none.stderr

    def test_one_case_of_an_entry(self):
        command = [sys.executable, "-m", "kb", "show"]
        one = "batchnorm-one-value-per-channel/single-prediction"
        done = subprocess.run([*command, one, "--fix"], capture_output=True, text=True, check=True)
        assert "model.eval()" in done.stdout
        page = subprocess.run([*command, one], capture_output=True, text=True, check=True).stdout
        assert "last-batch" not in page
        none = subprocess.run([*command, one[:-3]], capture_output=True, text=True, check=False)
        assert none.returncode == 1
        assert "batchnorm-one-value-per-channel/last-batch" in none.stderr


@pytest.mark.usefixtures("warm")
@pytest.mark.torch
class TestTheGuide:
    GUIDE = (REPOSITORY / "docs/terminal.md").read_text("utf-8")

    def test_what_it_shows_is_what_the_commands_print(self):
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        }
        for step in steps(self.GUIDE):
            done = subprocess.run(
                ["bash", "-c", step.command],
                cwd=REPOSITORY,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            shown = ".*?".join(map(re.escape, re.split("…\n?", step.printed)))
            assert re.fullmatch(shown, done.stdout, re.DOTALL), f"line {step.line} prints:\n{done.stdout}{done.stderr}"

    def test_its_settings_are_json_and_its_programs_compile(self):
        assert json.loads(blocks_of(self.GUIDE, "json")[0])["mcpServers"]["kb"]["args"][0] in COMMANDS
        for program in blocks_of(self.GUIDE, "python"):
            compile(program, "guide", "exec")

    def test_every_command_in_it_is_one(self):
        named = set(re.findall(r"`(?:kb|python -m kb) (?!-)([a-z]+)(?= |`)", self.GUIDE))
        assert len(named) > 5
        assert named <= {*COMMANDS, "torchrun"}


def test_where_the_nearest_entry_may_be_the_answer_nothing_says_that_there_is_none():
    near = Match("some-entry", "related", 0.4, {"en": "Some title", "zh": "题目"}, Evidence())
    lines = unanswered_lines(Answer(False, (near,), (), "en"), 80, PLAIN)
    assert lines[0] == "kb is not sure what answers this."
    assert lines[4] == "  some-entry: Some title"


def test_a_change_becomes_a_sentence_and_a_chinese_one_keeps_the_name_at_its_beginning():
    assert sentence("pass a longer list.") == "Pass a longer list."
    assert sentence("pip 升级之后再装。") == "pip 升级之后再装。"
