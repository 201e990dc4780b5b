"""`run`: outcomes in order, who shares a worker, streaming, cancelling, and broken workers. Limits have a module of their own."""

import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

from sandbox import BackendUnavailable, Limits, Outcome, Program, run
from sandbox.leftovers import stale

QUICK = {"preload": ()}
WORKER = (
    "import os\nprint(os.getppid() if os.getppid() != 1 else open('/proc/1/stat').read().split()[21])"  # who forked it
)


def run_source(source, backend="process", **options):
    limits = options.pop("limits", Limits())
    fresh = options.pop("fresh", False)
    return run([Program(source, limits, fresh=fresh)], backend=backend, **QUICK, **options)[0]


def test_outcomes_come_in_the_order_of_the_programs():
    programs = [Program(f"import time\ntime.sleep({n % 3} / 20)\nprint({n})", name=str(n)) for n in range(12)]
    reported = []
    outcomes = run(
        programs,
        backend="process",
        isolation="all",
        jobs=3,
        on_outcome=lambda n, outcome: reported.append((n, outcome)),
        **QUICK,
    )
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(12)]
    assert sorted(n for n, _ in reported) == list(range(12))
    assert all(outcomes[n] is outcome for n, outcome in reported)


def test_nothing_to_do():
    assert run([], backend="process") == []


@pytest.mark.parametrize(
    ("isolation", "workers"), [("each", [0, 1, 2, 3]), ("group", [0, 0, 2, 2]), ("all", [0, 0, 0, 0])], ids=str
)
def test_isolation_says_who_shares_a_worker(backend, isolation, workers):
    programs = [Program(WORKER, group=group) for group in ("a", "a", "b", "b")]
    printed = [outcome.stdout for outcome in run(programs, backend=backend, isolation=isolation, **QUICK)]
    assert [printed.index(line) for line in printed] == workers


def test_other_limits_need_another_worker():
    programs = [Program(WORKER, Limits(memory=memory << 20)) for memory in (512, 512, 256)]
    first, second, third = (outcome.stdout for outcome in run(programs, backend="process", isolation="all", **QUICK))
    assert first == second != third


def test_peak_memory_is_that_of_the_program():
    small, large = (run_source(source).peak_memory for source in ("pass", "held = b'x' * (100 << 20)"))
    assert 90 << 20 < large - small < 130 << 20


def test_output_streams_while_the_program_runs(backend):
    events = []
    source = "import sys\nprint('first')\nprint('second', file=sys.stderr)"
    outcome = run_source(
        source,
        backend,
        on_output=lambda number, stream, text: events.append((number, stream, text)),
        on_outcome=lambda number, _: events.append((number, "outcome", "")),
    )
    assert "".join(text for _, stream, text in events if stream == "stdout") == "first\n"
    assert "".join(text for _, stream, text in events if stream == "stderr") == "second\n"
    assert events[-1] == (0, "outcome", "")
    assert (outcome.stdout, outcome.stderr) == ("first\n", "second\n")


def test_a_character_cut_in_two_is_put_together():
    heard = []
    source = "import os, time\nos.write(1, b'\\xe5\\xa4')\ntime.sleep(0.2)\nos.write(1, b'\\x9a\\xff')"
    outcome = run_source(source, on_output=lambda _, __, text: heard.append(text))
    assert outcome.stdout == "".join(heard) == "多\ufffd"


def test_cancel_ends_what_runs_and_keeps_what_is_done(backend):
    cancel = threading.Event()
    programs = [Program("print(1)"), Program("print(2)\nimport time\ntime.sleep(60)"), Program("print(3)")]

    def listen(number, _stream, _text):
        if number == 1:
            cancel.set()

    outcomes = run(programs, backend=backend, isolation="all", cancel=cancel, on_output=listen, **QUICK)
    assert [outcome.ended for outcome in outcomes] == ["exit", "cancelled", "cancelled"]
    assert outcomes[1].stdout.startswith("2")


def test_cancelled_before_it_began():
    cancel = threading.Event()
    cancel.set()
    assert run_source("print(1)", cancel=cancel) == Outcome("program", "cancelled", backend="process")


def test_an_exception_in_a_callback_reaches_the_caller_and_ends_all():
    def fail(*_):
        raise LookupError("callback")

    programs = [Program("print(1)"), Program("import time\ntime.sleep(60)")]
    with pytest.raises(LookupError, match="callback"):
        run(programs, backend="process", isolation="each", jobs=2, on_outcome=fail, **QUICK)


def test_a_broken_worker_is_replaced(backend):
    programs = [
        Program(
            "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(0.5)", Limits(seconds=5)
        ),
        Program("print('next')"),
    ]
    broken, following = run(programs, backend=backend, isolation="all", **QUICK)
    assert broken.ended in {"signal", "exit"}
    assert following.passed
    assert following.stdout == "next\n"


@pytest.mark.parametrize("source", ["print('\ud800')", "x = 1\0", "\r\nprint(1)\r\n", "# " + "x" * 300_000])
def test_odd_sources_are_programs_like_others(source):
    outcome, following = run([Program(source), Program("print('next')")], backend="process", isolation="all", **QUICK)
    assert outcome.ended == "exit"
    assert following.stdout == "next\n"


def test_unknown_backend_and_isolation():
    with pytest.raises(
        BackendUnavailable, match="no sandbox backend is called 'jail'; there are docker, bubblewrap, process"
    ):
        run_source("pass", "jail")
    with pytest.raises(ValueError, match="each, group or all"):
        run_source("pass", isolation="some")


def test_an_interpreter_that_does_not_run_refuses_every_program():
    outcomes = run([Program("pass"), Program("pass")], backend="process", python="/nowhere/python", **QUICK)
    assert [outcome.ended for outcome in outcomes] == ["refused", "refused"]
    assert "/nowhere/python is no Python that runs here" in outcomes[0].detail


@pytest.mark.docker
def test_an_image_that_is_not_there():
    with pytest.raises(
        BackendUnavailable, match=r"the engine has no image kb-nowhere: sandbox/engine/prepare\.sh builds it"
    ):
        run_source("pass", "docker", image="kb-nowhere")


@pytest.mark.docker
def test_a_runtime_that_is_not_there():
    with pytest.raises(BackendUnavailable, match="the engine knows no runtime kb-nowhere"):
        run_source("pass", "docker", runtime="kb-nowhere")


@pytest.mark.parametrize(
    "name", [pytest.param("docker", marks=pytest.mark.docker), pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)]
)
def test_cuda_is_for_reviewed_programs_only(name):
    outcome = run([Program("pass", device="cuda")], backend=name)[0]
    assert outcome.ended == "refused"
    assert "trust_gpu" in outcome.detail


@pytest.mark.docker
@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU")
def test_an_engine_without_a_gpu_says_so():
    outcome = run([Program("pass", device="cuda")], backend="docker", trust_gpu=True)[0]
    assert outcome.ended == "refused"
    assert "the engine has no GPU to give" in outcome.detail


def test_what_is_killed_leaves_nothing_running(backend):
    """The run itself is killed with SIGKILL; its programs end with it, and the next run removes what is left."""
    source = textwrap.dedent(f"""
        import sandbox
        sandbox.run([sandbox.Program("import time\\\\nprint(1)\\\\ntime.sleep(60)  # kb-test-orphan")], backend={backend!r},
                    preload=(), on_output=lambda *_: print("running", flush=True))
    """)
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen([sys.executable, "-c", source], cwd=root, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"running\n"
        child.kill()
    run([Program("pass")], backend=backend, **QUICK)
    limit = time.monotonic() + 10
    while left := _left(child.pid):
        assert time.monotonic() < limit, left
        time.sleep(0.2)


def _left(pid):
    """Folders, control groups and containers that a dead run made."""
    groups = Path("/sys/fs/cgroup")
    found = [
        *groups.glob("*/kb-sandbox*/*"),
        *groups.glob("*/kb-sandbox-*"),
        *Path(tempfile.gettempdir()).glob("kb-sandbox-*"),
    ]
    names = [path.name for path in found]
    if shutil.which("docker"):
        command = ["docker", "ps", "-a", "--format", "{{.Names}}"]
        names += subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return [name for name in names if name.startswith(f"kb-sandbox-{pid}-") and stale(name)]
