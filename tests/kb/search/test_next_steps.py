"""What kb says of a paste that no entry answers: what it read, who raised it, and a step that is true for errors of its family."""

import json

import pytest

from kb.index.manager import open_index
from kb.render.declining import what_was_read
from kb.search.lookup import lookup
from kb.search.next_steps import next_step
from kb.text.languages import LANGUAGES
from kb.text.normalize import normalize
from kb.text.tracebacks import find_errors
from tests.kb.entries_to_find import write_entry

PANDAS = """\
Traceback (most recent call last):
  File "prepare.py", line 3, in <module>
    table.groupby("user").agg({"price": "summ"})
  File "/usr/lib/python3/site-packages/pandas/core/apply.py", line 120, in agg
    return getattr(self.obj, how)
AttributeError: 'SeriesGroupBy' object has no attribute 'summ'
pandas 2.1.4
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("entries")
    write_entry(folder, "attribute", messages=["AttributeError: '{type:name}' object has no attribute 'backward_all'"])
    return open_index([folder])


@pytest.mark.parametrize(
    ("paste", "word"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "CUDA_LAUNCH_BLOCKING"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "batch"),
        ("RuntimeError: NCCL communicator was aborted on rank 1", "NCCL_DEBUG"),
        ("ModuleNotFoundError: No module named 'quux'", "pip show"),
        ("AttributeError: 'Foo' object has no attribute 'bar'", "type(x)"),
        ("TypeError: f() got an unexpected keyword argument 'x'", "help(f)"),
        ("KeyError: 'user_id'", "keys"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a.png'", "os.path.abspath"),
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x'): Max retries exceeded", "curl"),
        ("Segmentation fault (core dumped)", "faulthandler"),
        ("UserWarning: the quux is deprecated", "-W error"),
        ("RuntimeError: shape mismatch in quux", "dtype"),
        ("ValueError: the quux is too large", "values"),
        ("how do I make a quux", "traceback"),
    ],
)
def test_each_family_of_errors_has_its_step_in_both_languages(paste, word):
    step = next_step(find_errors(normalize(paste)))
    assert word in step["en"]
    assert all(step[lang] for lang in LANGUAGES)
    assert step["en"].count("`") == step["zh"].count("`")


def test_an_error_of_another_library_is_said_to_be_one_and_nothing_is_listed_as_related(index):
    answer = lookup(PANDAS, index=index)
    assert not answer.answered
    assert answer.matches == ()
    assert answer.understood[:3] == ("pandas", "2.1.4", True)
    assert "raised by pandas 2.1.4" in what_was_read(answer)
    assert "SeriesGroupBy" in what_was_read(answer)


@pytest.mark.parametrize(
    "more",
    ["torch 2.13.0", '  File "/usr/lib/python3/site-packages/torch/utils/data/_utils/fetch.py", line 54, in fetch'],
)
def test_where_pytorch_shows_the_error_may_be_its_users_concern(index, more):
    paste = PANDAS.replace('  File "prepare.py"', f'{more}\n  File "prepare.py"')
    assert not lookup(paste, index=index).understood.is_foreign


def test_the_readers_own_code_raised_nothing_of_another_library(index):
    own = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    raise ValueError("no quux")\nValueError: no quux'
    assert lookup(own, index=index).understood[:3] == ("", "", False)


def test_what_is_answered_needs_no_next_step(index):
    assert lookup("AttributeError: 'Net' object has no attribute 'backward_all'", index=index).understood is None


def test_it_is_plain_data_for_json(index):
    data = json.loads(json.dumps(lookup(PANDAS, index=index).to_dict()))
    assert set(data["understood"]) == {"raised_by", "version", "is_foreign", "next_step"}
