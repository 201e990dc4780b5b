from kb.record.package_file import load_history, save_history
from tests.kb.record.conftest import history_of

RELEASES = {
    "0.1": {"torchtext/__init__.py": "from .data import *\n", "torchtext/data.py": "def f(a): ...\nclass Old: ...\n"},
    "0.2": {
        "torchtext/__init__.py": "from .data import *\n",
        "torchtext/data.py": "def f(a, b=1): raise ValueError('b must be a number')\n",
    },
}


def test_a_history_is_read_as_it_was_written(tmp_path):
    history = history_of(tmp_path, RELEASES)
    save_history(str(tmp_path / "a"), history)
    save_history(str(tmp_path / "b"), load_history(str(tmp_path / "a")))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_same_archives_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        folder = tmp_path / f"wheels-{name}"
        folder.mkdir()
        save_history(str(tmp_path / name), history_of(folder, RELEASES))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_names_and_parameters_have_their_releases(tmp_path):
    history = history_of(tmp_path, RELEASES)
    assert history.names["torchtext", "Old"].mask == 0b01
    assert history.names["torchtext.data", "f"].signatures == {"a": 0b01, "a,b=": 0b10}


def test_a_private_method_that_became_a_variable_is_not_gone(tmp_path):
    method = {"torchtext/__init__.py": "class C:\n    def _check(self): ...\n"}
    alias = {"torchtext/__init__.py": "class C:\n    def check(self): ...\n    _check = print(check)\n    _other = 1\n"}
    releases = {"0.1": alias, "0.2": method, "0.3": {"torchtext/__init__.py": "class C: ...\n"}, "0.4": alias}
    names = history_of(tmp_path, releases).names
    assert names["torchtext", "C._check"].mask == 0b1011
    assert ("torchtext", "C._other") not in names


def test_a_file_that_does_not_parse_leaves_a_dynamic_module(tmp_path):
    history = history_of(tmp_path, {"0.1": {"torchtext/__init__.py": "print 'python 2'"}})
    assert history.modules["torchtext"] == (1, 1)


def test_stubs_show_the_names_of_compiled_modules(tmp_path):
    files = {
        "torchtext/__init__.py": "from ._C import *",
        "torchtext/_C.cpython-310.so": b"\x00",
        "torchtext/_C.pyi": "def op(x): ...",
    }
    history = history_of(tmp_path, {"0.1": files})
    assert ("torchtext", "op") in history.names
    assert history.modules["torchtext._C"] == (1, 1)


def test_star_imports_follow_all(tmp_path):
    files = {"torchtext/__init__.py": "from .a import *", "torchtext/a.py": "__all__ = ['_x']\n_x = 1\ny = 2"}
    names = history_of(tmp_path, {"0.1": files}).names
    assert ("torchtext", "_x") in names
    assert ("torchtext", "y") not in names


def test_texts_of_libraries_are_read(tmp_path):
    text = b"\x00mat1 and mat2 shapes cannot be multiplied (\x00aten::mm(Tensor self) -> Tensor\x00x y\x00"
    history = history_of(tmp_path, {"0.1": {"torchtext/lib/libx.so": text + b" " * 4096}}, reads_libraries=True)
    assert [key[0] for key in history.messages] == ["mat1 and mat2 shapes cannot be multiplied ("]
