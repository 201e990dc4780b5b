"""What lets a process start fast behaves as what it stands for."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing

import pytest

from kb.index.manager import open_index
from kb.startup.named_tuple import NamedTuple


class Quick(NamedTuple):
    """A point."""

    x: int
    y: int = 0
    name: str = ""

    @property
    def length(self) -> int:
        return self.x + self.y


class Usual(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 0
    name: str = ""

    @property
    def length(self) -> int:
        return self.x + self.y


@pytest.mark.parametrize(
    "of",
    [
        lambda kind: kind(1),
        lambda kind: kind(1, name="a"),
        lambda kind: kind(name="a", x=2, y=3)._replace(y=4),
        lambda kind: kind(1, 2, "a")._asdict(),
        lambda kind: kind(1, 2).length,
        lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__),
        lambda kind: (kind(1) == (1, 0, ""), hash(kind(1)) == hash((1, 0, "")), sorted([kind(2), kind(1)])),
        lambda kind: (copy.copy(kind(1)), pickle.loads(pickle.dumps(kind(1, 2))), [*kind(1)]),
        lambda kind: type(pickle.loads(pickle.dumps(kind(1)))) is kind,
    ],
)
def test_a_named_tuple_is_what_typing_makes_of_it(of):
    assert repr(of(Quick)).replace("Quick", "Usual") == repr(of(Usual))


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: kind(),
        lambda kind: kind(1, 2, "a", 4),
        lambda kind: kind(1, x=2),
        lambda kind: kind(1, z=2),
        lambda kind: kind(y=2),
        lambda kind: kind(1)._replace(z=2),
        lambda kind: setattr(kind(1), "x", 2),
        lambda kind: setattr(kind(1), "z", 2),
    ],
)
def test_it_refuses_what_typing_refuses(call):
    for kind in (Quick, Usual):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            call(kind)


def test_a_cold_look_up_imports_nothing_that_takes_milliseconds_and_is_not_needed():
    open_index()
    program = (
        "import sys\nfrom kb.cli import main\n"
        "main(['lookup', 'RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)'])\n"
        "slow = {'typing', 'gettext', 'locale', 'pathlib', 'inspect', 'dataclasses', 'threading', 'shutil', 'whoosh', 'jieba'}\n"
        "print('imported:', *sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported:"


def test_the_options_are_explained_in_english_without_gettext():
    program = "import sys\nfrom kb.cli import main\nmain(['lookup', '--help'])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"LANGUAGE": "de"}, check=False
    )
    assert done.stdout.startswith("usage: kb lookup"), done.stderr
    later = "import sys\nfrom kb.cli import main\nmain(['list', '--kind', 'symptom'])\nimport gettext\nprint(gettext.translation.__name__)"
    done = subprocess.run([sys.executable, "-c", later], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("translation\n")
