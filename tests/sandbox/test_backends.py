"""Which backend is taken, what the others lack, and what dead runs left behind."""

import gc
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import packaging
import pytest

import sandbox
from sandbox import BackendStatus, BackendUnavailable, cgroup, choose, interpreter
from sandbox import backends as all_backends
from sandbox.backends import BACKENDS
from sandbox.backends import docker as docker_backend
from sandbox.backends.docker import Docker, _remove
from sandbox.leftovers import owned_name, stale

ENGINE = Path(sandbox.__file__).parent / "engine"


class Fake:
    def __init__(self, name, works):
        self.name, self.works = name, works

    def status(self):
        return BackendStatus(self.name, self.works, "as told")


def pretend(monkeypatch, **works):
    for name in BACKENDS:
        monkeypatch.setitem(BACKENDS, name, lambda _, name=name: Fake(name, works.get(name, False)))


def test_the_strongest_that_works_is_taken(monkeypatch):
    pretend(monkeypatch, docker=True, bubblewrap=True, process=True)
    assert choose().name == "docker"
    pretend(monkeypatch, bubblewrap=True, process=True)
    assert choose().name == "bubblewrap"


def test_process_is_never_taken_by_itself(monkeypatch):
    pretend(monkeypatch, process=True)
    with pytest.raises(BackendUnavailable, match=r"no sandbox works here\. docker: as told; bubblewrap: as told"):
        choose()
    assert choose("process").name == "process"


def test_every_backend_is_listed_strongest_first():
    assert [status.name for status in all_backends()] == ["docker", "bubblewrap", "process"]
    assert all(status.detail and "\n" not in status.detail for status in all_backends())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK forgets to close a socket
def test_no_engine_is_one_line_that_says_what_to_do(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(BackendUnavailable, match=r"no Docker engine answers at unix:///nowhere.*start one") as caught:
        choose("docker")
    assert "\n" not in str(caught.value)
    gc.collect()


def test_names_tell_whose_they_are():
    name = owned_name()
    assert name.startswith(f"kb-sandbox-{os.getpid()}-")
    assert name != owned_name()
    assert not stale(name)


def test_names_of_the_dead_are_stale_and_foreign_names_are_not():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert stale(f"kb-sandbox-{child.pid}-1")
    assert stale(f"kb-sandbox-{child.pid}-1-abcdef")
    assert not stale("kb-sandbox")
    assert not stale("kb-sandbox-base")
    assert not stale("postgres-1-2")


@pytest.mark.parametrize("refusals", [0, 1, 3])
@pytest.mark.parametrize("last", ["gone", "no answer"])
def test_a_container_that_the_engine_will_not_remove_yet_is_asked_to_go_again(refusals, last, monkeypatch):
    from docker.errors import APIError, NotFound

    end = NotFound("no such container") if last == "gone" else ConnectionError("the engine has stopped")
    answers = [APIError("could not kill container")] * refusals + [end]
    asked = []

    class Client:
        def remove_container(self, container, **_):
            asked.append(container)
            raise answers[len(asked) - 1]

    monkeypatch.setattr("time.sleep", lambda _: None)
    _remove(Client(), "kb-sandbox-1-1")
    assert len(asked) == refusals + 1


@pytest.mark.parametrize("answer", ["refuses", "no answer"])
def test_a_container_that_was_not_removed_goes_with_the_next_sweep_of_the_same_process(answer, monkeypatch):
    from docker.errors import APIError

    name, removed = owned_name(), []

    class Client:
        works = False

        def containers(self, **_):
            return [{"Id": each, "Names": [f"/{name}"]} for each in ("stuck", "at work")]

        def remove_container(self, container, **_):
            if not self.works:
                raise APIError("could not kill container") if answer == "refuses" else ConnectionError("no answer")
            removed.append(container)

        def close(self):
            pass

    client = Client()
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(docker_backend, "connect", lambda: client)
    _remove(client, "stuck")
    client.works = True
    for _ in range(2):
        Docker().sweep()
    assert removed == ["stuck"]


def test_the_engine_script_can_be_run_and_read():
    script = ENGINE / "prepare.sh"
    assert script.stat().st_mode & stat.S_IXUSR
    subprocess.run(["sh", "-n", script], check=True)


class TestInterpreter:
    def test_this_interpreter_and_its_packages_are_mounted(self):
        found = interpreter.inspect()
        for module in ("json", "torch"):
            import importlib.util

            origin = importlib.util.find_spec(module).origin
            assert any(origin.startswith(folder + "/") for folder in (*found.folders, found.extra or "/nowhere"))

    def test_nothing_lies_within_another_and_no_home_is_mounted(self):
        folders = interpreter.inspect().folders
        assert not [a for a in folders for b in folders if a != b and a.startswith(b + "/")]
        assert str(Path.home()) not in folders
        assert "/" not in folders

    @pytest.mark.parametrize("backend", ["process", pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)])
    def test_packages_in_a_place_of_their_own_are_found(self, tmp_path, monkeypatch, backend):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
        (tmp_path / "place" / "torch").mkdir(parents=True)
        (tmp_path / "place" / "torch" / "__init__.py").write_text("__version__ = 'of this place'")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "place"))
        programs = [sandbox.Program("import torch\nprint(torch.__version__)", fresh=fresh) for fresh in (True, False)]
        python = str(tmp_path / "venv" / "bin" / "python")
        outcomes = sandbox.run(programs, backend=backend, python=python, preload=())
        assert [outcome.stdout for outcome in outcomes] == ["of this place\n"] * 2, outcomes

    def test_outermost(self):
        assert interpreter.outermost({"/a/b", "/a", "/ab", "/c/d"}) == ["/a", "/ab", "/c/d"]

    @pytest.mark.bubblewrap
    def test_a_virtual_environment_somewhere_else_works(self, tmp_path):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
        package = next((tmp_path / "venv" / "lib").glob("python*/site-packages")) / "only_here.py"
        package.write_text("VALUE = 42")
        program = sandbox.Program("import only_here\nprint(only_here.VALUE)")
        python = str(tmp_path / "venv" / "bin" / "python")
        outcome = sandbox.run([program], backend="bubblewrap", preload=("only_here",), python=python)[0]
        assert outcome.stdout == "42\n", outcome


@pytest.mark.bubblewrap
@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become somebody else; the other tests already run as nobody in particular"
)
def test_bubblewrap_without_root_and_control_groups():
    """A user without any right gets the same isolation, by a user namespace, and limits by rlimits and watching."""
    python = shutil.which("python3", path="/usr/bin")
    if not python:
        pytest.skip("needs a Python that every user can read, /usr/bin/python3")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "sandbox")
        shutil.copytree(Path(sandbox.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(Path(packaging.__file__).parent, Path(folder, "packaging"))
        (copy / "seen.py").write_text(UNPRIVILEGED)
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755)
        command = [python, "-m", "sandbox.seen"]
        user = {"user": 12345, "group": 12345, "extra_groups": []}
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **user)
    assert done.stdout.splitlines() == ["exit 65534", "memory", "pids or time", "exit next"], done.stderr


UNPRIVILEGED = r"""
import sandbox
from sandbox import Limits, Program

def held(source, **limits):
    return Program(source, Limits(**limits))

outcomes = sandbox.run([
    held("import os\nprint(os.getuid())"),
    held("import os\nos.fork(), os.fork()\nheld = b'x' * (60 << 20)\nimport time\ntime.sleep(20)", memory=150 << 20),
    held("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", seconds=2),
    held("print('next')"),
], backend="bubblewrap", isolation="all", preload=())
print(outcomes[0].ended, outcomes[0].stdout.strip())
print(outcomes[1].ended)
print("pids or time" if outcomes[2].ended in ("pids", "time") else outcomes[2])
print(outcomes[3].ended, outcomes[3].stdout.strip())
"""


class TestControlGroups:
    """Version 2, and what is left behind, on a folder that stands for the kernel's."""

    @pytest.fixture
    def root(self, tmp_path, monkeypatch):
        monkeypatch.setattr(cgroup, "ROOT", tmp_path)
        return tmp_path

    def test_version_2(self, root):
        (root / "cgroup.controllers").write_text("cpu memory pids")
        group = cgroup.create(memory=1 << 30, pids=10, cpus=0.5)
        folder = group.folders[0]
        assert folder.parent == root / "kb-sandbox"
        assert (folder / "memory.max").read_text() == f"{1 << 30}\n"
        assert (folder / "pids.max").read_text() == "10\n"
        assert group.entrances() == [str(folder / "cgroup.procs")]
        (folder / "memory.events").write_text("low 0\noom 3\noom_kill 1\n")
        assert group.killed_for_memory()
        (folder / "memory.events").write_text("low 0\noom 3\noom_kill 0\n")
        assert not group.killed_for_memory()

    def test_version_1(self, root):
        for controller in ("memory", "pids", "cpu"):
            (root / controller).mkdir()
        group = cgroup.create(memory=1 << 30, pids=10, cpus=2)
        memory, pids, cpu = group.folders
        assert (memory / "memory.limit_in_bytes").read_text() == f"{1 << 30}\n"
        assert (pids / "pids.max").read_text() == "10\n"
        assert cpu.parent == root / "cpu"
        assert len(group.entrances()) == 3

    def test_none_where_nothing_is_writable(self, root):
        (root / "kb-sandbox").write_text("a file where the folder should be")
        (root / "cgroup.controllers").write_text("")
        assert cgroup.create(memory=1, pids=1, cpus=1) is None

    def test_groups_of_the_dead_are_removed(self, root):
        with subprocess.Popen([sys.executable, "-c", ""]) as child:
            pass
        dead, alive = root / "memory" / "kb-sandbox" / f"kb-sandbox-{child.pid}-1", root / "cpu" / owned_name()
        dead.mkdir(parents=True)
        alive.mkdir(parents=True)
        cgroup.sweep()
        assert alive.exists()
        assert not dead.exists()


def test_a_plain_process_sees_no_gpu_unless_it_asks_for_one(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    program = sandbox.Program("import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))")
    (outcome,) = sandbox.run([program], backend="process", preload=())
    assert outcome.stdout == "\n"
