"""%load_ext kb: a cell that dies is answered, as HTML in a Jupyter kernel and as text in IPython's terminal."""

import os
import re
import sys
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kb.index.manager import open_index
from kb.integrations import crash_answer
from kb.render.answer_html import answer_html
from kb.search.lookup import lookup

REPOSITORY = Path(__file__).parents[3]
SLUG = "batchnorm-one-value-per-channel"
MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
DIES = f'raise ValueError("{MESSAGE}")'


@pytest.fixture
def shell(monkeypatch):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    open_index()
    monkeypatch.setattr(crash_answer, "SECONDS", 30)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # IPython warns where another environment is active
    shell = interactive.InteractiveShell()
    shell.run_line_magic("load_ext", "kb")
    yield shell
    shell.run_line_magic("unload_ext", "kb")
    shell.history_manager.end_session()


def test_the_answer_comes_under_the_traceback(shell, capsys):
    shell.run_cell(DIES)
    shown = re.sub(r"\033\[[\d;]*m", "", capsys.readouterr().out)
    assert shown.index("Traceback") < shown.index(f"ValueError: {MESSAGE}") < shown.index("kb: BatchNorm")
    assert SLUG in shown


def test_again_in_the_next_cell_but_not_for_one_that_works(shell, capsys):
    for _ in range(2):
        shell.run_cell(DIES)
        assert "kb: " in capsys.readouterr().out
    shell.run_cell("1 + 1")
    assert "kb: " not in capsys.readouterr().out


def test_a_program_run_by_magic_is_answered(shell, capsys, tmp_path):
    (tmp_path / "train.py").write_text(DIES)
    shell.run_cell(f"%run {tmp_path}/train.py")
    assert capsys.readouterr().out.count("kb: ") == 1


@pytest.mark.parametrize("cell", ["1 / 0", "x =", "raise KeyboardInterrupt", "raise SystemExit"])
def test_other_errors_are_left_alone(shell, capsys, cell):
    with pytest.warns(match="To exit") if "SystemExit" in cell else nullcontext():
        shell.run_cell(cell)
    assert "kb: " not in capsys.readouterr().out


def test_loaded_twice_it_answers_once_and_unloaded_not_at_all(shell, capsys):
    shell.run_line_magic("reload_ext", "kb")
    shell.run_line_magic("load_ext", "kb")
    shell.run_cell(DIES)
    assert capsys.readouterr().out.count("kb: ") == 1
    shell.run_line_magic("unload_ext", "kb")
    shell.run_cell(DIES)
    assert "kb: " not in capsys.readouterr().out


def test_a_fault_of_ours_is_silent(shell, capsys, monkeypatch):
    monkeypatch.setattr("kb.integrations.ipython.answer_to", lambda error: 1 / 0)
    shell.run_cell(DIES)
    shown = capsys.readouterr()
    assert "ZeroDivisionError" not in shown.out + shown.err


def test_a_jupyter_kernel_shows_html(monkeypatch):
    client = pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    open_index()
    kernels = client.KernelManager(kernel_name="kb")
    kernels.kernel_spec_manager.kernel_dirs = []
    kernels._kernel_spec = client.kernelspec.KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], language="python"
    )
    kernels.start_kernel(env=os.environ | {"PYTHONPATH": str(REPOSITORY)})
    channel = kernels.client()
    channel.start_channels()
    try:
        channel.wait_for_ready(timeout=60)
        shown = []
        setup = "%load_ext kb\nimport kb.integrations.crash_answer\nkb.integrations.crash_answer.SECONDS = 30"
        for cell in (setup, DIES):
            channel.execute_interactive(cell, output_hook=shown.append, timeout=60)
    finally:
        channel.stop_channels()
        kernels.shutdown_kernel(now=True)
    kinds = [message["msg_type"] for message in shown if message["msg_type"] in ("error", "display_data")]
    assert kinds == ["error", "display_data"]
    data = next(message["content"]["data"] for message in shown if message["msg_type"] == "display_data")
    assert SLUG in data["text/html"]
    assert "kb: BatchNorm" in data["text/plain"]
    assert "\033" not in data["text/plain"]


class Tags(HTMLParser):
    """Which tags are open, to see that all are closed again; and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_html_of_every_entry_is_whole_loads_nothing_and_escapes(lang):
    index = open_index()
    answer = lookup(MESSAGE, lang=lang, index=index)
    for slug in index.slugs():
        card = index.document(slug)
        first = answer.matches[0]._replace(id=slug, title={lang: "<script>&"})
        page = answer_html(answer._replace(matches=(first,)), card, "")
        tags = Tags()
        tags.feed(page)
        tags.close()
        assert not tags.open
        assert tags.seen <= {
            "div",
            "p",
            "strong",
            "br",
            "small",
            "code",
            "ul",
            "ol",
            "li",
            "pre",
            "span",
            "details",
            "summary",
        }
        assert "src=" not in page
        assert "<script>&" in tags.text
        first_cases = card["items"][lang][0]["cases"] if card["items"][lang] else []
        fixes = [case["fix"].strip() for case in card["cases"] if case["name"] in first_cases]
        assert not fixes or any(fix in tags.text for fix in fixes)
