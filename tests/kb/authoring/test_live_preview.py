"""kb preview shows a file in any state as its page will look, with its faults and its last run, and follows every change."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from flask import Flask

import sandbox
from kb.authoring.live_preview import Preview
from kb.cli import main
from kb.verify.verifier import Environment, Run, Verdict
from tests import small_corpus
from tests.entry_factory import CheckProgram, EntryFactory
from webapp.i18n import catalogue
from webapp.preview_app import create_preview, make_preview_server
from webapp.server import ServeError

pytestmark = pytest.mark.slow

TRACE = "Traceback (most recent call last):\n\x1b[31mRuntimeError: The size of tensor a (3) …\x1b[0m\n"


@pytest.fixture
def entry(tmp_path):
    """The file of an entry among others."""
    return EntryFactory(small_corpus.write(tmp_path)).write()


@pytest.fixture
def runs():
    """What `kb verify` returns next: the outcome and the faults of the entry's case, or an error that it raises."""
    return []


@pytest.fixture
def preview(entry, runs):
    def verifier(corpus, cases, index, **options):
        answer = runs.pop(0)
        if isinstance(answer, Exception):
            raise answer
        outcome = sandbox.Outcome("repro", "exit", 1, stderr=TRACE, seconds=0.25)
        return Run((Verdict(cases[0], *answer, outcomes={"repro": outcome}),), Environment("2.13.0+cpu", "bubblewrap"))

    preview = Preview(entry, [entry.parent.parent], verifier=verifier)
    yield preview
    preview.close()


@pytest.fixture
def client(preview):
    return create_preview(preview).test_client()


def change(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def words(response):
    """The page's text."""
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", response.text))


def test_the_page_is_the_one_that_readers_will_see(client):
    english, chinese = client.get("/preview").text, client.get("/preview?lang=zh").text
    assert "<h1>Two tensors cannot be added</h1>" in english
    assert "<h1>两个张量不能相加</h1>" in chinese
    assert '<html lang="zh-Hans">' in chinese
    assert english.count("<del>") == 1, "the difference between repro and fix"
    assert "No fault." in words(client.get("/preview"))
    assert "没有问题" in chinese
    body = client.get("/e/add-two?lang=en").text
    article = re.search(r"<article.*</article>", body, re.DOTALL)[0]
    assert article in client.get("/preview?lang=en").text


def test_the_start_page_leads_there_and_questions_are_still_answered(client):
    assert client.get("/").location == "/preview"
    assert (
        "Two tensors cannot be added"
        in client.get(
            "/?q=RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
        ).text
    )


def test_a_fault_is_shown_with_its_line_rule_and_sentence(client, entry):
    change(entry, "needs equal sizes, or ones.", "needs `equal` sizes, or ones.")
    page = words(client.get("/preview"))
    assert "line 31 KB030" in page
    assert "Both languages have the same code spans." in page
    assert "## 中文" in page, "the line itself"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n",
        "---\n- a\n---\n",
        "---\ntitle: {en: <script>alert(1)</script>}\nmessages: 3\n---\n\n## English\n",
        "\x00",
    ],
)
def test_a_file_that_cannot_be_read_as_an_entry_shows_its_faults_and_no_stack(client, entry, text):
    entry.write_text(text, "utf-8")
    response = client.get("/preview")
    assert "KB00" in words(response)
    assert "not whole yet" in words(response)
    assert "<script>alert" not in response.text
    entry.write_bytes(b"\xff\xfe")
    assert "KB001" in words(client.get("/preview"))
    entry.unlink()
    assert "KB001" in words(client.get("/preview"))


def test_what_is_already_there_is_shown(client, entry):
    change(entry, "`torch.add` 要求尺寸相同，或者为 1。", "")
    change(entry, "  zh: 两个张量不能相加", '  zh: ""')
    page = words(client.get("/preview"))
    assert "Two tensors cannot be added" in page
    assert "KB006" in page
    assert "KB004" in page


def test_a_slug_that_another_entry_has_is_a_fault(client, entry):
    entry.rename(entry.with_name("quiet-broadcast.md"))
    taken = Preview(entry.with_name("quiet-broadcast.md"), [entry.parent.parent])
    assert [fault.rule for fault in taken.look().faults] == ["KB011"]
    assert not taken.run()


def test_every_change_is_a_new_version_and_none_is_none(preview, entry):
    preview.look()
    version = preview.version
    assert not preview.wait(version, 0.1)
    change(entry, "equal sizes", "the same sizes")
    assert preview.wait(version, 5)
    change(entry.parent.parent / "shapes" / "quiet-broadcast.md", "A loss", "One loss")
    assert preview.wait(version + 1, 5), "another entry may mend a fault of this one"


def test_a_change_reaches_an_open_page(preview, entry):
    serving = make_preview_server(create_preview(preview), "127.0.0.1", 0)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        from urllib.request import urlopen

        with urlopen(f"http://127.0.0.1:{serving.server_port}/preview/changes", timeout=20) as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            first = stream.readline()
            change(entry, "equal sizes", "the same sizes")
            stream.readline()
            assert first.startswith(b"data: ")
            assert stream.readline() not in (first, b"")
    finally:
        preview.close()
        serving.shutdown()
        thread.join(10)
        serving.server_close()


def settle(preview):
    until = time.monotonic() + 20
    while preview.trial is None or preview.trial.state == "running":
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_outcome_is_that_of_kb_verify(client, preview, entry, runs):
    assert "Not run yet." in words(client.get("/preview"))
    runs.append(("passed",))
    assert client.post("/preview/run").location == "/preview"
    settle(preview)
    page = words(client.get("/preview"))
    assert "Every case passed." in page
    assert "torch 2.13.0+cpu in bubblewrap" in page
    assert "RuntimeError: The size of tensor a (3) …" in page
    assert "\x1b" not in page
    change(entry, "equal sizes", "the same sizes")
    assert "have changed since" not in words(client.get("/preview")), "prose proves nothing"
    change(entry, "torch.ones(3)", "torch.ones(2)")
    assert "have changed since" in words(client.get("/preview"))


def test_checks_are_run_with_the_cases_and_show_what_they_print(entry):
    EntryFactory(entry.parent.parent).write(checks=[CheckProgram("shapes")])

    def verifier(corpus, subjects, index, **options):
        outcomes = [{"repro": sandbox.Outcome("repro", "exit", 1, stderr=TRACE)}]
        outcomes.append({"check": sandbox.Outcome("check", "exit", 0, stdout="torch.Size([3])\n")})
        verdicts = [
            Verdict(subject, "passed", outcomes=by_role) for subject, by_role in zip(subjects, outcomes, strict=True)
        ]
        return Run(tuple(verdicts), Environment("2.13.0+cpu", "bubblewrap"))

    preview = Preview(entry, [entry.parent.parent], verifier=verifier)
    client = create_preview(preview).test_client()
    client.post("/preview/run")
    settle(preview)
    page = words(client.get("/preview"))
    assert "Every case passed." in page
    assert "add-two/shapes" in page
    assert "torch.Size([3])" in page
    proved = preview.trial.proves
    change(entry, "print(torch.ones(3).shape)", "print(torch.ones(2).shape)")
    assert preview.proves(preview.look().entry) != proved
    preview.close()


def test_a_failure_shows_its_lines(client, preview, runs):
    runs.append(("failed", ((52, "the fix fails: AssertionError"),)))
    client.post("/preview/run?lang=zh")
    settle(preview)
    page = words(client.get("/preview?lang=zh"))
    assert "未能验证" in page
    assert "第 52 行 the fix fails: AssertionError" in page


def test_without_a_sandbox_the_page_says_what_is_missing(client, preview, runs):
    runs.append(sandbox.BackendUnavailable("no sandbox works here. bubblewrap: not installed"))
    client.post("/preview/run")
    settle(preview)
    assert "no sandbox works here. bubblewrap: not installed" in words(client.get("/preview"))


def test_whatever_goes_wrong_with_a_run_is_said(client, preview, runs):
    runs.append(ValueError("the ledger is torn"))
    client.post("/preview/run")
    settle(preview)
    assert "ValueError: the ledger is torn" in words(client.get("/preview"))


def test_a_file_that_is_not_whole_is_not_run(client, preview, entry, runs):
    change(entry, "kind: error", "kind: mistake")
    client.post("/preview/run")
    assert preview.trial is None
    assert "disabled" in client.get("/preview").text


def test_other_sites_can_neither_start_nor_read(client, preview):
    assert client.post("/preview/run", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert preview.trial is None
    for path in ("/preview", "/browse"):
        assert client.get(path).status_code == 200
        assert client.get(path, headers={"Host": "evil.example"}).status_code == 400
    policy = client.get("/preview").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_both_languages_have_the_same_words():
    english, chinese = catalogue("en", "preview"), catalogue("zh", "preview")
    assert list(english) == list(chinese)
    assert [re.findall(r"\{\w+\}", text) for text in english.values()] == [
        re.findall(r"\{\w+\}", text) for text in chinese.values()
    ]


def test_the_command_serves_until_it_is_interrupted(entry):
    served = subprocess.Popen(
        [sys.executable, "-m", "kb", "preview", str(entry), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"KB_ENTRIES": str(entry.parent.parent)},
    )
    try:
        line = served.stdout.readline()
        assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/ shows {re.escape(str(entry))}; Ctrl\+C ends it\n", line)
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 0
    finally:
        served.kill()
        served.wait()
        served.stdout.close()


def test_an_address_that_is_taken_is_said_in_one_line(preview):
    serving = make_preview_server(create_preview(preview), "127.0.0.1", 0)
    try:
        with pytest.raises(ServeError, match="choose another with --port"):
            make_preview_server(create_preview(preview), "127.0.0.1", serving.server_port)
    finally:
        serving.server_close()


def test_a_misspelt_setting_is_said_in_one_line(entry, capsys, monkeypatch):
    monkeypatch.setenv("KB_WEB_RATTE", "1/minute")
    monkeypatch.setenv("KB_ENTRIES", str(entry.parent.parent))
    assert main(["preview", str(entry), "--port", "0"]) == 1
    assert "did you mean KB_WEB_RATE?" in capsys.readouterr().err


@pytest.mark.parametrize(("path", "said"), [("none.md", "kb new begins an entry"), ("lost.txt", "<topic>/<slug>.md")])
def test_a_file_that_is_no_entrys_is_refused(tmp_path, capsys, path, said):
    (tmp_path / "lost.txt").write_text("")
    assert main(["preview", str(tmp_path / path)]) == 2
    assert said in capsys.readouterr().err


def test_a_port_that_there_is_not_is_refused():
    with pytest.raises(ServeError, match="no port has the number 99999"):
        make_preview_server(Flask("preview"), "127.0.0.1", 99999)
