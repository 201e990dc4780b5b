import pytest

from kb.record.name_answer import Facts
from kb.record.name_errors import explain_name_error
from kb.record.name_history import name_history
from kb.record.sentences import answer_sentences

DATA_OLD = """
class Field:
    def __init__(self, sequential=True, batch_first=False): ...
    def build_vocab(self): ...
def pad(x, length): ...
def tokenize(a, b): ...
"""
DATA_NEW = """
def pad(x): ...
def tokenize(a, b, c): ...
class Dataset:
    def __init__(self, path, *, fields=None): ...
"""


@pytest.fixture
def torchtext(make_record):
    make_record(
        {
            "0.1": {"torchtext/__init__.py": "from . import data", "torchtext/data.py": DATA_OLD},
            "0.2": {
                "torchtext/__init__.py": "from . import data",
                "torchtext/data.py": DATA_NEW,
                "torchtext/legacy.py": "class Field: ...",
                "torchtext/extra/__init__.py": "",
                "torchtext/lazy.py": "def __getattr__(name): ...",
            },
            "0.3": {
                "torchtext/__init__.py": "",
                "torchtext/data.py": DATA_NEW,
                "torchtext/legacy.py": "class Field: ...",
                "torchtext/lazy.py": "def __getattr__(name): ...",
            },
        }
    )


@pytest.mark.usefixtures("torchtext")
class TestAnswers:
    def test_a_name_that_is_gone_says_until_when_and_where_it_is_now(self):
        answer = explain_name_error("AttributeError", "module 'torchtext.data' has no attribute 'Field'")
        assert (answer.verdict, answer.gone, answer.pin) == ("removed", "0.2", "torchtext<0.2")
        assert answer.moved_to == ("torchtext.legacy",)

    def test_a_name_that_is_newer_says_what_to_install(self):
        facts = Facts({"torchtext": "0.1.0+cu118"})
        answer = explain_name_error("ImportError", "cannot import name 'Dataset' from 'torchtext.data' (/x)", facts)
        assert (answer.verdict, answer.version, answer.pin) == ("newer", "0.1", "torchtext>=0.2")

    def test_nothing_is_said_of_a_release_that_is_older_than_the_record(self):
        facts = Facts({"torchtext": "0.0.9"})
        assert explain_name_error("AttributeError", "module 'torchtext.data' has no attribute 'Field'", facts) is None

    def test_a_name_that_never_was_says_so_with_the_nearest_spelling(self):
        answer = explain_name_error("AttributeError", "module 'torchtext.data' has no attribute 'Datasett'")
        assert (answer.verdict, answer.nearest) == ("never", ("Dataset",))

    def test_a_module_that_makes_names_at_run_time_is_never_said_to_lack_one(self):
        assert explain_name_error("AttributeError", "module 'torchtext.lazy' has no attribute 'Anything'") is None

    def test_a_module_that_is_gone(self):
        answer = explain_name_error("ModuleNotFoundError", "No module named 'torchtext.extra'")
        assert (answer.verdict, answer.gone) == ("removed", "0.3")

    def test_a_module_that_has_to_be_imported_by_itself(self):
        answer = explain_name_error("AttributeError", "module 'torchtext' has no attribute 'legacy'")
        assert answer.verdict == "submodule"

    def test_a_module_in_the_middle_of_its_import(self):
        message = "cannot import name 'Dataset' from partially initialized module 'torchtext.data' (most likely due to a circular import) (/x)"
        assert explain_name_error("ImportError", message).verdict == "circular"

    def test_a_name_that_the_shown_release_has_was_read_from_another_file(self):
        facts = Facts({"torchtext": "0.3.0"})
        assert (
            explain_name_error("AttributeError", "module 'torchtext.data' has no attribute 'pad'", facts).verdict
            == "present"
        )

    def test_a_parameter_that_is_gone(self):
        answer = explain_name_error(
            "TypeError", "pad() got an unexpected keyword argument 'length'", Facts(packages=("torchtext",))
        )
        assert (answer.verdict, answer.name, answer.parameter, answer.pin) == (
            "removed",
            "torchtext.data.pad",
            "length",
            "torchtext<0.2",
        )

    def test_the_class_is_found_by_the_call_where_python_prints_only_init(self):
        facts = Facts({"torchtext": "0.1"}, ("torchtext",), ("    data = Dataset(path, fields=None)",))
        answer = explain_name_error("TypeError", "__init__() got an unexpected keyword argument 'fields'", facts)
        assert (answer.verdict, answer.name) == ("newer", "torchtext.data.Dataset")

    def test_a_parameter_that_has_to_be_given_now(self):
        answer = explain_name_error(
            "TypeError", "tokenize() missing 1 required positional argument: 'c'", Facts(packages=("torchtext",))
        )
        assert (answer.verdict, answer.gone) == ("removed", "0.2")

    def test_too_many_positional_arguments(self):
        answer = explain_name_error(
            "TypeError", "pad() takes 1 positional argument but 2 were given", Facts(packages=("torchtext",))
        )
        assert (answer.verdict, answer.gone) == ("removed", "0.2")

    def test_a_member_that_is_gone_with_its_class_answers_by_the_class(self):
        answer = explain_name_error(
            "AttributeError", "'Field' object has no attribute 'build_vocab'", Facts(packages=("torchtext",))
        )
        assert (answer.verdict, answer.gone) == ("removed", "0.2")

    def test_an_attribute_that_no_release_had_is_the_readers_own(self):
        assert (
            explain_name_error(
                "AttributeError", "'Dataset' object has no attribute 'mine'", Facts(packages=("torchtext",))
            )
            is None
        )

    def test_packages_outside_the_record_are_left_alone(self):
        assert explain_name_error("AttributeError", "module 'tensorflow' has no attribute 'Session'") is None

    def test_both_languages_name_the_requirement(self):
        answer = explain_name_error("AttributeError", "module 'torchtext.data' has no attribute 'Field'")
        for lang in ("en", "zh"):
            sentences = answer_sentences(answer, lang)
            assert "`torchtext<0.2`" in sentences[-1]
            assert "`torchtext.legacy`" in sentences[1]

    def test_the_history_of_a_name(self):
        history = name_history("torchtext.data.Field")
        assert (history.kind, history.ranges[0].gone, history.moved_to) == ("class", "0.2", ("torchtext.legacy",))
        assert [parameter.name for parameter in history.parameters] == ["sequential", "batch_first"]

    def test_a_name_without_history_has_none(self):
        assert name_history("torchtext.data.Nothing") is None


def test_the_package_that_asks_is_named_with_the_release_that_no_longer_does(make_record):
    make_record({"0.1": {"torchtext/__init__.py": "def old(): ..."}, "0.2": {"torchtext/__init__.py": ""}})
    make_record(
        {
            "1.0": {"fastai/__init__.py": "", "fastai/text.py": "from torchtext import old"},
            "1.1": {"fastai/__init__.py": "", "fastai/text.py": ""},
        },
        "fastai",
    )
    answer = explain_name_error(
        "ImportError", "cannot import name 'old' from 'torchtext' (/x)", Facts({"fastai": "1.0.3"}, ("fastai",))
    )
    assert answer.asker is not None
    assert (answer.asker.package, answer.asker.version, answer.asker.upgrade) == ("fastai", "1.0", "fastai>=1.1")


@pytest.mark.parametrize(
    "other",
    [
        "import sys\nfor name in names:\n    setattr(sys.modules['torchtext.data'], name, 1)",
        "from . import data\nfor name in names:\n    setattr(data, name, 1)",
        "import torchtext.data\ndef install(name):\n    torchtext.data.__dict__[name] = 1",
    ],
)
def test_a_name_is_never_missing_where_another_module_may_set_it(make_record, other):
    make_record({"0.1": {"torchtext/__init__.py": other, "torchtext/data.py": "present = 1"}})
    answer = explain_name_error("ImportError", "cannot import name 'presens' from 'torchtext.data'")
    assert answer.verdict == "unknown"


@pytest.mark.parametrize("source", ["from numpy import *", "from ._ext import *", "from .making import *"])
def test_a_name_is_never_missing_where_a_star_import_may_bring_it(make_record, source):
    files = {"torchtext/__init__.py": "", "torchtext/making.py": "globals()[make()] = 1"}
    make_record({"0.1": {**files, "torchtext/data.py": f"{source}\npresent = 1"}})
    answer = explain_name_error("ImportError", "cannot import name 'presens' from 'torchtext.data'")
    assert answer.verdict == "unknown"


@pytest.mark.parametrize("name", ["torchtext.testing._internal.common", "torchtext.test_data", "torchtext.benchmarks"])
def test_a_module_of_tests_which_the_record_leaves_out_is_never_missing(make_record, name):
    make_record({"0.1": {"torchtext/__init__.py": "", "torchtext/testing/__init__.py": ""}})
    assert explain_name_error("ModuleNotFoundError", f"No module named '{name}'") is None


def test_a_name_that_went_and_came_back_is_said_to_be_in_the_gap(make_record):
    with_name, without = {"torchtext/__init__.py": "def name(): ..."}, {"torchtext/__init__.py": ""}
    make_record({"0.1": with_name, "0.2": with_name, "0.3": without, "0.4": with_name})
    answer = explain_name_error("AttributeError", "module 'torchtext' has no attribute 'name'")
    assert (answer.verdict, answer.gone, answer.back, answer.pin) == ("removed", "0.3", "0.4", "torchtext<0.3")
    assert "0.4" in answer_sentences(answer, "en")[0]
    assert "0.4" in answer_sentences(answer, "zh")[0]


def test_a_name_that_only_raises_has_the_releases_and_the_message(make_record):
    works, raises = "def name(): ...", "def name():\n    raise RuntimeError('name was removed, use other')"
    make_record({"0.1": {"torchtext/__init__.py": works}, "0.2": {"torchtext/__init__.py": raises}})
    history = name_history("torchtext.name")
    assert [str(part) for part in history.removed] == ["0.2–"]
    assert history.removal == "name was removed, use other"


def test_a_bare_name_that_the_package_has_itself_is_not_a_namesake_in_one_of_its_modules(make_record):
    make_record(
        {
            "0.1": {
                "torchtext/__init__.py": "from torchtext.core import pad",
                "torchtext/core.py": "def pad(*x): pass",
                "torchtext/deep.py": "def pad(a, b): pass",
            },
            "0.2": {
                "torchtext/__init__.py": "from torchtext.core import pad",
                "torchtext/core.py": "def pad(*x): pass",
                "torchtext/deep.py": "def pad(a): pass",
            },
        }
    )
    message = "pad() takes 1 positional argument but 2 were given"
    assert explain_name_error("TypeError", message, Facts(packages=("torchtext",))) is None


def test_what_only_raises_an_error_counts_as_gone(make_record):
    works, raises = "def name(): ...", "def name():\n    raise RuntimeError('name was removed, use other')"
    make_record({"0.1": {"torchtext/__init__.py": works}, "0.2": {"torchtext/__init__.py": raises}})
    answer = explain_name_error("AttributeError", "module 'torchtext' has no attribute 'name'")
    assert (answer.verdict, answer.gone, answer.pin) == ("removed", "0.2", "torchtext<0.2")
    assert "nothing but raise" in answer_sentences(answer, "en")[0]


def test_what_was_there_all_along_is_not_where_a_name_moved_to(make_record):
    sparse = "def triu(x): ..."
    releases = {f"0.{minor}": {"torchtext/linalg.py": sparse, "torchtext/sparse.py": sparse} for minor in range(1, 6)}
    make_record(releases | {"0.6": {"torchtext/linalg.py": "", "torchtext/sparse.py": sparse}})
    answer = explain_name_error("ImportError", "cannot import name 'triu' from 'torchtext.linalg'")
    assert (answer.verdict, answer.moved_to) == ("removed", ())


def test_a_name_that_is_imported_around_its_module_is_found_there(make_record):
    make_record(
        {
            "0.1": {"torchtext/__init__.py": "", "torchtext/seed.py": "def seed(x): ..."},
            "0.2": {"torchtext/__init__.py": "from fabric import seed", "torchtext/seed.py": ""},
        }
    )
    answer = explain_name_error("ImportError", "cannot import name 'seed' from 'torchtext.seed'")
    assert answer.moved_to == ("torchtext",)


def test_one_release_that_makes_a_name_at_run_time_is_no_gap(make_record):
    lazy, written = "def __getattr__(name): ...", "def __getattr__(name): ...\ndef made(): ..."
    make_record({f"0.{n}": {"torchtext/__init__.py": text} for n, text in enumerate([lazy, written, lazy, written])})
    history = name_history("torchtext.made")
    assert [str(part) for part in history.ranges] == ["0.1–"]


def test_a_module_that_is_gone_says_where_the_names_are_that_the_reader_imports(make_record):
    make_record(
        {
            "0.1": {"torchtext/__init__.py": "", "torchtext/old.py": "def pad(x): ..."},
            "0.2": {"torchtext/__init__.py": "", "torchtext/new.py": "def pad(x): ..."},
        }
    )
    facts = Facts(code=("from torchtext.old import pad, other",))
    answer = explain_name_error("ModuleNotFoundError", "No module named 'torchtext.old'", facts)
    assert answer.found == (("pad", ("torchtext.new",)),)
    assert any("from torchtext.new import pad" in sentence for sentence in answer_sentences(answer, "zh"))


@pytest.mark.usefixtures("torchtext")
class TestEvidence:
    @pytest.mark.parametrize(
        ("place", "said"),
        [("(/home/me/torchtext/data.py)", "/home/me/torchtext/data.py"), ("(unknown location)", "__init__.py")],
    )
    def test_a_file_that_is_no_installed_package_is_named(self, place, said):
        message = f"cannot import name 'pad' from 'torchtext.data' {place}"
        answer = explain_name_error("ImportError", message)
        assert any(said in sentence for sentence in answer_sentences(answer, "en"))

    def test_a_file_of_an_installed_package_is_not_named(self):
        message = "cannot import name 'pad' from 'torchtext.data' (/usr/lib/python3.9/site-packages/torchtext/data.py)"
        assert explain_name_error("ImportError", message).file == ""

    def test_a_function_of_the_reader_is_no_namesake_deep_in_a_package(self):
        assert explain_name_error("TypeError", "pad() takes 1 positional argument but 2 were given") is None


def test_the_outer_line_that_passes_the_keyword_says_what_was_called(make_record):
    old, new = "class Trainer:\n    def __init__(self, gpus=0): ...", "class Trainer:\n    def __init__(self): ..."
    make_record({"0.1": {"torchtext/__init__.py": old}, "0.2": {"torchtext/__init__.py": new}})
    message = "__init__() got an unexpected keyword argument 'gpus'"
    inner, outer = "return fn(self, **kwargs)", "trainer = tt.Trainer(gpus=1)"
    answer = explain_name_error("TypeError", message, Facts(packages=("torchtext",), code=(inner, outer)))
    assert (answer.verdict, answer.name, answer.parameter) == ("removed", "torchtext.Trainer", "gpus")
    assert explain_name_error("TypeError", message, Facts(packages=("torchtext",), code=(inner,))) is None
