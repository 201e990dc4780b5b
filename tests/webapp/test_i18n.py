"""Both languages: complete catalogues, the right one chosen, and a switch that keeps place and paste."""

import re
from string import Formatter

import pytest

from webapp.i18n import catalogue


def fields(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_catalogues_have_the_same_keys_and_placeholders():
    english, chinese = catalogue("en"), catalogue("zh")
    assert list(english) == list(chinese)
    for key in english:
        assert fields(english[key]) == fields(chinese[key]), key
        assert chinese[key].strip(), key


def test_every_key_that_a_template_names_exists(app):
    used = set()
    for name in app.jinja_env.list_templates():
        source = app.jinja_env.loader.get_source(app.jinja_env, name)[0]
        used |= set(re.findall(r"""\bt\(["']([\w.]+)["'][,)]""", source))
    assert used
    assert used <= set(catalogue("en"))


def test_no_english_is_left_on_a_chinese_page(client, paste):
    page = client.post("/?lang=zh", data={"text": paste}).text
    for text in catalogue("en").values():
        if len(text) > 8 and text not in catalogue("zh").values() and "{" not in text:
            assert f">{text}<" not in page


@pytest.mark.parametrize(
    ("path", "accept", "lang"),
    [
        ("/", "", "en"),
        ("/", "zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("/", "zh-TW", "zh-Hans"),
        ("/", "de,en;q=0.5", "en"),
        ("/", "fr", "en"),
        ("/?lang=en", "zh-CN", "en"),
        ("/?lang=zh", "en", "zh-Hans"),
        ("/?lang=zh-CN", "en", "zh-Hans"),
        ("/?lang=xx", "zh", "zh-Hans"),
        ("/e/quiet-broadcast", "zh", "zh-Hans"),
    ],
)
def test_the_language_of_a_page(client, path, accept, lang):
    answer = client.get(path, headers={"Accept-Language": accept})
    assert f'<html lang="{lang}">' in answer.text
    assert answer.headers["Content-Language"] == lang
    assert "Accept-Language" in answer.headers["Vary"]


def test_a_question_in_chinese_is_answered_in_chinese_unless_the_reader_chose(client):
    text = {"text": "矩阵乘法维度对不上"}
    assert '<html lang="zh-Hans">' in client.post("/", data=text).text
    assert '<html lang="en">' in client.post("/?lang=en", data=text).text


def test_a_chosen_language_is_kept_by_every_link(client):
    page = client.get("/e/linear-width-mismatch?lang=zh").text
    assert 'href="/browse?lang=zh"' in page
    assert 'href="/e/quiet-broadcast?lang=zh"' in page
    assert 'href="/browse"' in client.get("/e/linear-width-mismatch").text


def test_the_switch_of_an_entry_leads_to_the_same_entry(client):
    assert 'href="/e/linear-width-mismatch?lang=zh"' in client.get("/e/linear-width-mismatch").text
    assert 'href="/e/linear-width-mismatch?lang=en"' in client.get("/e/linear-width-mismatch?lang=zh").text


def test_the_switch_keeps_what_was_pasted(client, paste):
    asked = client.post("/", data={"text": paste}).text
    assert 'name="asked"' in asked
    assert 'formaction="/?lang=zh"' in asked
    switched = client.post("/?lang=zh", data={"text": paste, "switch": "zh", "asked": "1"}).text
    assert "层的输入宽度不对" in switched
    assert "secret-project" in switched
    not_asked_yet = client.post("/?lang=zh", data={"text": paste, "switch": "zh"}).text
    assert "secret-project" in not_asked_yet
    assert "层的输入宽度不对" not in not_asked_yet
