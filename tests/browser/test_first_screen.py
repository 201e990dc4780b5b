"""With the shipped entries: what to do and the first change are on the first screen, whatever the entry's size."""

import re
from functools import partial

import pytest

from kb.index.manager import open_index
from kb.search.lookup import lookup
from tests.kb.pastes import traceback_of
from tests.served import served
from webapp import create_app

pytestmark = pytest.mark.browser
SCREENS = [(1280, 800), (390, 844)]
ENTRIES = 12
MODULE = "torch/nn/modules/module.py"
VALUES = {
    "shape": "torch.Size([4, 8])",
    "device": "cuda:0",
    "size": "2.00 GiB",
    "dtype": "Float",
    "int": "3",
    "num": "3",
}


def entries_of_all_sizes(corpus):
    """Return (slug, paste) of entries from the shortest to the longest page; each paste ends in the entry's newest message.

    It is answered: for a message that is printed for many other reasons kb shows several entries instead.
    """
    index = open_index()
    entries = sorted((entry for entry in corpus if entry.kind == "error"), key=lambda entry: len(entry.prose("en")))
    pastes = [(entry.id, _ending_in(entry.messages[0])) for entry in entries]
    step = max(1, (len(entries) - 1) // (ENTRIES - 1))
    return [
        next(pair for pair in pastes[at:] if _leads_to(index, *pair)) for at in range(0, len(entries), step)[:ENTRIES]
    ]


def _ending_in(message):
    return traceback_of(printed(message.text), raised_in=next(iter(message.files), MODULE))


def symptoms(corpus, locale):
    """Return (slug, question) of the entries about a symptom, which say how to tell the causes apart before they list them.

    The question is the first alias that kb answers; for a vague one it shows several entries instead.
    """
    lang, index = "zh" if locale.startswith("zh") else "en", open_index()
    entries = [entry for entry in corpus if entry.kind == "symptom"]
    asked = [
        (entry.id, next(filter(partial(_leads_to, index, entry.id), entry.aliases[lang]), "")) for entry in entries
    ]
    assert sum(not question for _, question in asked) <= 2
    return [(slug, question) for slug, question in asked if question]


def _leads_to(index, slug, question):
    answer = lookup(question, index=index)
    return answer.answered and answer.matches[0].id == slug


def printed(template):
    return re.sub(r"\{(?:\w+:)?(\w+)\}", lambda placeholder: VALUES.get(placeholder[1], "name"), template)


@pytest.fixture(scope="module")
def shipped():
    with served(create_app({"RATE": "", "MISSES": ""})) as address:
        yield address


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_answer_and_first_change_begin_on_the_first_screen(browser, corpus, shipped, locale):
    in_words = symptoms(
        corpus, locale
    )  # whose checks stand before the causes, so that the first change in words is what fits
    pastes = entries_of_all_sizes(corpus) + in_words
    assert len(pastes) > 10
    context = browser.new_context(locale=locale, reduced_motion="reduce")
    page = context.new_page()
    too_low = []
    for slug, paste in pastes:
        page.goto(f"{shipped}/")
        page.fill("#text", paste)
        page.keyboard.press("Control+Enter")
        page.locator("#answer .found").wait_for()
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("scrollY") == 0
            remedy, change = _answer_and_first_change(page, in_words=(slug, paste) in in_words)
            if remedy["y"] + remedy["height"] > height or change["y"] + 24 > height:
                too_low.append((slug, width, round(remedy["y"]), round(change["y"])))
    context.close()
    assert too_low == [], "\n".join(map(str, too_low))


def _answer_and_first_change(page, *, in_words):
    """Return the boxes of the answer and of the first change, which in words is the answer itself where that is said of the cause that fits."""
    shown = page.locator(".panel:visible .diff, .panel:visible .lead-on")
    in_words = in_words or not shown.count()
    change = page.locator("div.remedy, .panel:visible .prose") if in_words else shown
    return page.locator(".remedy").bounding_box(), change.first.bounding_box()


@pytest.mark.parametrize(
    ("text", "shown"), [("training on two gpus is slower than on one", 4), ("is apex still needed", 3)]
)
def test_of_ten_near_entries_the_further_ones_are_folded_away_with_their_answers(browser, corpus, shipped, text, shown):
    page = browser.new_page()
    page.goto(f"{shipped}/?q={text}")
    links = page.locator("#answer .matches > li > a")
    assert links.filter(visible=True).count() == shown
    page.get_by_text("Further entries that could be meant").click()
    assert links.filter(visible=True).count() == links.count() >= 9
    slugs = [link.get_attribute("href").rpartition("/")[2] for link in links.all()]
    assert len(slugs) == len(set(slugs))
    assert (
        corpus.entries[slugs[-1]].answer["en"].partition("`")[0] in page.locator("#answer .matches").last.inner_text()
    )
    page.close()


def test_an_explained_message_has_no_further_entries(browser, shipped):
    page = browser.new_page()
    message = "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
    page.goto(f"{shipped}/?q={message}")
    assert page.get_by_role("heading", name="What to change").count() > 0
    assert page.get_by_text("Further entries").count() == 0
    page.close()
