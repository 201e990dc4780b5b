"""What the released packages say beside, or in place of, an entry. The record is the one that ships; the entries are a few of the test's own."""

import subprocess
import sys

import pytest

from kb.index.manager import open_index
from kb.search.lookup import lookup
from tests.kb.entries_to_find import write_entry

GONE = "ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/usr/lib/python3/site-packages/huggingface_hub/__init__.py)"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("entries")
    write_entry(
        folder, "gone", messages=["ImportError: cannot import name '{name}' from 'huggingface_hub'"], why="It is gone."
    )
    write_entry(folder, "shapes", messages=["RuntimeError: the shapes {shape} and {shape} cannot be combined at all"])
    return open_index([folder])


def test_an_entry_that_answers_stays_and_the_record_is_added(index):
    answer = lookup(GONE, index=index)
    assert (answer.answered, answer.matches[0].id) == (True, "gone")
    assert (answer.record.kind, answer.record.verdict) == ("name", "removed")
    assert answer.record.install == ("huggingface-hub<0.26",)
    assert all("huggingface-hub" in " ".join(answer.record.sentences[lang]) for lang in ("en", "zh"))


def test_the_record_answers_no_paste_by_itself(index):
    answer = lookup("AttributeError: module 'torchtext.data' has no attribute 'Field'", index=index)
    assert not answer.answered
    assert answer.record.name == "torchtext.data.Field"
    assert answer.outcome == "recorded"


def test_a_bare_message_is_read_too(index):
    assert lookup("module 'torchtext.data' has no attribute 'Field'", index=index).record.verdict == "removed"


def test_the_version_in_the_paste_is_used(index):
    message = "TypeError: ModelCheckpoint.__init__() got an unexpected keyword argument 'every_n_epochs'"
    answer = lookup(f"pytorch-lightning==1.2.0\n{message}", index=index)
    assert "you have 1.2" in " ".join(answer.record.sentences["en"])


def test_a_complaint_about_versions_gets_releases_that_fit(index):
    text = "ERROR: torchaudio 2.1.0+cu118 requires torch==2.1.0, but you have torch 2.0.1+cu118 which is incompatible."
    answer = lookup(text, index=index)
    assert answer.record.kind == "versions"
    assert "torchaudio==2.0.2" in answer.record.install


def test_without_an_entry_who_prints_the_message_is_said_with_its_source(index):
    text = "ValueError: sampler should be an instance of torch.utils.data.Sampler, but got sampler=<samplers.MySampler object at 0x7f87c3608b50>"
    record = lookup(text, index=index).record
    assert (record.kind, record.package) == ("origin", "torch")
    assert record.address.startswith("https://github.com/pytorch/pytorch/blob/v")


@pytest.mark.parametrize(
    "text",
    [
        "IndexError: list index out of range",
        "ValueError: not enough values to unpack (expected 3, got 0)",
        "FileNotFoundError: [Errno 2] No such file or directory: 'a.pickle'",
        "KeyError: 'weight'",
        "AttributeError: 'MyModel' object has no attribute 'foo'",
        "my loss does not go down",
    ],
)
def test_what_python_itself_may_print_is_not_ascribed_to_a_package(index, text):
    assert lookup(text, index=index).record is None


def test_a_look_up_of_another_kind_does_not_import_the_record():
    texts = [
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)",
        "my loss becomes nan after some steps",
        "显存一直涨，是什么原因",
    ]
    program = (
        "import sys\nfrom kb.search.lookup import lookup\n"
        f"for text in {texts!r}:\n    lookup(text)\n"
        "print(*(name for name in sys.modules if name.startswith('kb.record')))\n"
    )
    open_index()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_damaged_record_takes_no_entry_away(index, tmp_path, monkeypatch):
    from kb.record import query

    (tmp_path / "huggingface-hub.kbr").write_bytes(b"damaged")
    monkeypatch.setenv("KB_RECORD", str(tmp_path))
    query.open_record.cache_clear()
    try:
        answer = lookup(GONE, index=index)
    finally:
        query.open_record.cache_clear()
    assert (answer.answered, answer.record) == (True, None)
