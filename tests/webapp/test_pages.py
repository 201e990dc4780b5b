"""The pages: what a reader gets for a paste, an entry, a topic, a tag, and for what does not exist."""

import html
import re

import pytest

from tests import small_corpus
from webapp.markdown import render_code_spans

SLUG = "linear-width-mismatch"


def get(client, path, **headers):
    return client.get(path, headers=headers)


def test_a_pasted_traceback_is_answered_with_its_line_cause_and_fix(client, paste):
    page = client.post("/", data={"text": paste}).text
    assert "A layer gets inputs of the wrong width" in page
    assert "<mark>RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x127 and 128x64)</mark>" in page
    assert "Your input has 127 columns." in page
    assert "gives another width" in page
    assert re.search(r"<del>first .*?<b>.*5.*</b>.*</del><ins>first .*4.*</ins>", page)


def test_how_sure_an_answer_is_stands_on_it(client, paste):
    message = client.post("/", data={"text": paste.splitlines()[-1]}).text
    assert "Exact match" in message
    assert "The message is worded like this one." in message
    question = client.post("/", data={"text": "matrix multiplication complains about sizes"}).text
    assert "Likely" in question


def test_the_order_of_an_answer_is_why_found_numbers_answer_causes_change_check_why_related(client, paste):
    page = client.post("/", data={"text": paste}).text
    landmarks = [
        '<p class="found ',
        "<mark>",
        "A layer gets inputs of the wrong width</h2>",
        "Your input has 127",
        'class="remedy">Give <code>first</code>',
        "What to change",
        "The layer before gives another width",
        "<del>",
        "Verified",
        "The check that proves it",
        "The fixed program",
        "How to tell",
        "Why it happens",
        ">Documentation<",
        ">Related<",
        "Wordings of this message",
    ]
    shown = page[page.index('id="answer"') :]
    assert sorted(landmarks, key=shown.index) == landmarks


def test_a_change_that_is_certain_is_shown_on_the_readers_own_line(client, paste):
    page = client.post("/", data={"text": small_corpus.OWN_LINE}).text
    frame = page[page.index('class="frame"') : page.index("What to change")]
    text = re.sub(r"<[^>]+>", "", frame)
    assert "The change on your line: /home/me/train&amp;1.py:14" in text
    removed, added = (
        re.sub(r"<[^>]+>", "", part) for part in re.search(r"<del>(.*)</del><ins>(.*)</ins>", frame).groups()
    )
    assert html.unescape(removed) == 'loss = nn.Linear(4, 2)(hidden["a<b"])'
    assert html.unescape(added) == 'loss = nn.Linear(hidden["a<b"].shape[-1], 2)(hidden["a<b"])'
    assert "on your line" not in client.post("/", data={"text": paste}).text


def checked(page):
    return re.findall(r'id="cause-(\d)" class="unseen" value="\d" checked', page)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x127 and 128x64)", "1"),
        ("RuntimeError: CUDA error: width 6 of the first layer is not supported", "2"),
    ],
)
def test_the_cause_that_fits_the_paste_is_chosen(client, message, cause):
    assert checked(client.post("/", data={"text": message}).text) == [cause]


def test_a_chosen_cause_says_why_and_the_first_one_claims_nothing(client, paste):
    fits = client.post("/", data={"text": "RuntimeError: CUDA error: width 6 of the first layer is not supported"}).text
    assert re.search(r'class="fits">Your paste has <code>cuda</code>', fits, re.IGNORECASE)
    assert 'class="fits"' not in client.post("/", data={"text": paste}).text


def test_the_change_of_a_later_cause_that_fits_is_said_large_and_once(client):
    page = client.post("/", data={"text": "UserWarning: the workers of this loader share a seed"}).text
    assert checked(page) == ["2"]
    assert (
        '<div class="remedy"><p class="of">The workers share a seed</p><p>Pass a <code>generator</code>.</p></div>'
        in page
    )
    assert page.count("Pass a <code>generator</code>.") == 1
    assert '<p class="remedy">' in client.get("/e/loader-seed-warning?cause=2").text


def test_the_asserts_that_prove_a_fix_are_no_part_of_the_change(client):
    page = client.get(f"/e/{SLUG}").text
    (added,) = set(re.findall(r'data-text="([^"]*)"', page))
    assert added == "first = nn.Linear(8, 4)"
    change = page[page.index('class="diff"') : page.index("</figure>")]
    assert "assert" not in change
    assert "assert" in page[page.index("The check that proves it") :]


def test_a_symptom_begins_with_how_to_tell_and_leads_to_entries(client):
    page = client.get("/e/training-stands-still").text
    landmarks = ["The loss stands still</h1>", 'class="remedy"', "How to tell", "Run this:", "What to change"]
    assert sorted(landmarks, key=page.index) == landmarks
    assert re.search(r'href="/e/quiet-broadcast"[^>]*>that entry</a>', page)


def test_links_in_prose_lead_to_pages_and_keep_the_language(client):
    page = client.get("/e/training-stands-still?lang=zh").text
    assert 'href="/e/quiet-broadcast?lang=zh"' in page
    assert ".md)" not in page


def test_windows_line_ends_and_a_multipart_form_are_read(client, paste):
    page = client.post("/", data={"text": paste.replace("\n", "\r\n")}, content_type="multipart/form-data").text
    assert "<mark>RuntimeError: mat1" in page
    assert "line 5" in page


def test_a_short_question_can_stand_in_the_address(client):
    page = client.get(
        "/", query_string={"q": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)"}
    ).text
    assert f"/e/{SLUG}" in page


def test_an_unknown_error_is_said_to_be_unknown(client):
    page = client.post("/", data={"text": "ZeppelinError: the frobnicator has no quux left"}).text
    assert "kb has no entry that answers this yet" in page
    assert "ZeppelinError: the frobnicator has no quux left" in page
    assert "Exact match" not in page


def test_an_empty_paste_is_answered_with_a_hint(client):
    assert "There is nothing to look up yet" in client.post("/", data={"text": " \n"}).text


def test_pasted_markup_stays_text(client):
    page = client.post("/", data={"text": "RuntimeError: </textarea><script>alert(1)</script> {{ 7 * 7 }}"}).text
    assert "<script>alert" not in page
    assert "{{ 7 * 7 }}" in page


def test_control_characters_of_a_paste_are_not_shown(client, paste):
    page = client.post("/", data={"text": "\x1b[31m" + paste}).text
    shown = page[page.index('id="answer"') :]
    assert "\x1b" not in shown


def test_what_matched_in_a_line_of_a_log_on_one_line_is_shown(client, paste):
    page = client.post("/", data={"text": "step done " * 500 + paste.replace("\n", " ") + "and more " * 500}).text
    assert "(16x127 and 128x64)" in page[page.index("<mark>") : page.index("</mark>")]


def test_markup_in_an_entry_is_sanitised(client):
    page = client.get(f"/e/{SLUG}").text
    assert "<script>alert" not in page
    assert "javascript:" not in page
    assert '<a href="https://docs.pytorch.org/" rel="noopener noreferrer">docs</a>' in page


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "What does PyTorch say?"),
        ("/browse", "The loader warns about its seed"),
        ("/t/shapes", "A loss broadcasts"),
        ("/tag/dataloader", "The loader warns"),
    ],
)
def test_pages_that_list(client, path, expected):
    assert expected in client.get(path).text


@pytest.mark.parametrize(
    "path", ["/nix", "/e/nix", "/t/nix", "/tag/nix", "/static/nix.css", "/static/../app.py", "/e/../browse/x"]
)
def test_what_does_not_exist_is_404(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "There is no such page" in answer.text


def test_a_misspelt_entry_suggests_the_right_one(client):
    assert f'href="/e/{SLUG}"' in client.get("/e/linear-widht-mismatch").text


def test_an_old_slug_leads_to_its_entry(client):
    answer = client.get("/e/old-linear-slug?lang=zh")
    assert answer.status_code == 301
    assert answer.location == f"/e/{SLUG}?lang=zh"


def test_badges_stand_only_where_a_ledger_says_so(client):
    verified = client.get(f"/e/{SLUG}").text
    assert verified.count('class="badge verified"') == 2  # a case and a check
    assert "torch 2.13.0 · CPU" in verified
    assert "2026-11-20" in verified
    assert "Not verified on CUDA" in verified
    assert "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)" in verified
    unproven = client.get("/e/quiet-broadcast").text
    assert "badge verified" not in unproven
    assert "Not verified yet" in unproven
    changed = client.get("/e/loader-seed-warning").text
    assert "badge verified" not in changed
    assert "Changed since it was last verified" in changed


def test_text_over_one_mebibyte_is_refused_clearly(client):
    def send(size):
        body = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + b"a" * size + b"\r\n--x--\r\n"
        return client.post("/", data=body, content_type="multipart/form-data; boundary=x")

    assert send(1 << 20).status_code == 200
    for size in ((1 << 20) + 1, 5 << 20):
        answer = send(size)
        assert answer.status_code == 413
        assert "At most 1 MiB" in answer.text


def test_a_mebibyte_of_chinese_survives_the_escapes_of_a_plain_form(client):
    assert client.post("/", data={"text": "错" * ((1 << 20) // 3)}).status_code == 200


def test_a_fault_of_ours_is_a_page_that_quotes_nothing(make_app, monkeypatch, caplog):
    client = make_app(TESTING=False, PROPAGATE_EXCEPTIONS=False).test_client()
    monkeypatch.setattr("webapp.blueprints.pages.look_up", lambda text, **_: {}[text])
    answer = client.post("/", data={"text": "secret-paste"})
    assert answer.status_code == 500
    assert "Something broke here" in answer.text
    assert "secret-paste" not in answer.text.replace("secret-paste</textarea>", "")
    assert "KeyError" in caplog.text
    assert "secret-paste" not in caplog.text


def test_code_spans_of_an_explanation_are_code_and_values_from_a_paste_stay_text():
    assert render_code_spans("`a<b` and <i>__init__</i>") == "<code>a&lt;b</code> and &lt;i&gt;__init__&lt;/i&gt;"
