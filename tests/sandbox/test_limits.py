"""Every limit is enforced and reported as the limit that was met, on every backend and both container runtimes."""

import pytest

from sandbox import Limits, Options, Program, run
from sandbox.backends import BACKENDS

MIB = 1 << 20
SMALL = {"memory": 200 * MIB, "shm": 256 * MIB, "tmp": 256 * MIB}
NO_SPACE = "No space left on device"

PROGRAMS = [
    Program("print('so far', flush=True)\nwhile True: pass", Limits(seconds=0.5), "busy"),
    Program("import time\ntime.sleep(60)", Limits(seconds=0.5), "asleep"),
    Program("data = b'x' * (400 << 20)", Limits(**SMALL), "memory"),
    Program(
        "import os\nif os.fork() == 0:\n    data = b'x' * (400 << 20)\nos.wait()", Limits(**SMALL), "memory of a child"
    ),
    Program(
        "import os, time\nos.fork(), os.fork()\ndata = b'x' * (70 << 20)\ntime.sleep(3)",
        Limits(**SMALL),
        "memory together",
    ),
    Program(
        "import mmap\nblock = mmap.mmap(-1, 400 << 20)\nfor page in range(0, len(block), 4096): block[page] = 1",
        Limits(**SMALL),
        "shared memory",
    ),
    Program(
        "open('/tmp/a', 'wb').write(b'x' * (150 << 20))\ndata = b'x' * (120 << 20)", Limits(**SMALL), "memory and files"
    ),
    Program(
        "open('/dev/shm/a', 'wb').write(b'x' * (150 << 20))\ndata = b'x' * (120 << 20)",
        Limits(**SMALL),
        "memory and shm",
    ),
    Program(
        "import subprocess, time\nfor _ in range(40): subprocess.Popen(['sleep', '5'])\ntime.sleep(5)",
        Limits(pids=20),
        "processes",
    ),
    Program(
        "import threading, time\n"
        "for _ in range(60): threading.Thread(target=time.sleep, args=(3,), daemon=True).start()\ntime.sleep(3)",
        Limits(pids=20),
        "threads",
    ),
    Program("while True: print('é' * 1000)", Limits(output=10_001), "stdout"),
    Program("import sys\nwhile True: sys.stderr.write('x' * 1000)", Limits(output=10_001), "stderr"),
    Program("import os\nos.write(1, b'x' * 9999)\nos.write(2, b'y' * 9999)", Limits(output=10_000), "allowed output"),
    Program("open('/tmp/big', 'wb').write(b'x' * (40 << 20))", Limits(tmp=16 * MIB), "tmp"),
    Program("open('/dev/shm/big', 'wb').write(b'x' * (40 << 20))", Limits(shm=8 * MIB), "shm"),
    Program("files = [open('/dev/null') for _ in range(2000)]", Limits(), "descriptors"),
    Program("import os\nos.abort()", Limits(), "abort"),
    Program("data = b'x' * (100 << 20)", Limits(memory=500 * MIB), "within the limit"),
]
HOLDS_MEMORY = [
    pytest.param(("bubblewrap", None), marks=pytest.mark.bubblewrap, id="bubblewrap"),
    pytest.param(("docker", "runc"), marks=pytest.mark.docker, id="docker-runc"),
    pytest.param(("docker", "runsc"), marks=pytest.mark.docker, id="docker-runsc"),
]
EVERY = [pytest.param(("process", None), id="process"), *HOLDS_MEMORY]
_outcomes = {}


def outcome(backend, name):
    """Return the outcome of one of the programs; all of them run once per backend."""
    if backend not in _outcomes:
        backend_name, runtime = backend
        if runtime == "runsc" and not BACKENDS[backend_name](Options(runtime=runtime)).status().works:
            pytest.skip("gVisor's runsc is not registered with the engine")
        done = run(PROGRAMS, backend=backend_name, runtime=runtime, isolation="all", jobs=2, preload=())
        _outcomes[backend] = {result.name: result for result in done}
    return _outcomes[backend][name]


@pytest.mark.parametrize("backend", EVERY)
@pytest.mark.parametrize("name", ["busy", "asleep"])
def test_deadline(backend, name):
    result = outcome(backend, name)
    assert (result.ended, result.exit_code, result.finished) == ("time", None, False)
    assert result.stdout == ("so far\n" if name == "busy" else "")
    assert result.detail == "still running after 0.5 s"


@pytest.mark.parametrize("backend", HOLDS_MEMORY)
@pytest.mark.parametrize(
    "name",
    ["memory", "memory of a child", "memory together", "shared memory", "memory and files", "memory and shm"],
)
def test_memory(backend, name):
    result = outcome(backend, name)
    assert (result.ended, result.passed, result.detail) == ("memory", False, "used more than 200 MiB")


def test_memory_of_a_plain_process_is_refused_or_watched():
    refused = outcome(("process", None), "memory")
    assert refused.ended == "memory" or refused.raised.type == "MemoryError"
    assert outcome(("process", None), "memory together").ended == "memory"


@pytest.mark.parametrize("backend", EVERY)
@pytest.mark.parametrize("name", ["processes", "threads"])
def test_processes_and_threads(backend, name):
    result = outcome(backend, name)
    assert (result.ended, result.passed) == ("pids", False)
    assert result.detail == "started more than 20 processes and threads"


@pytest.mark.parametrize("backend", EVERY)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output(backend, stream):
    result = outcome(backend, stream)
    assert (result.ended, result.truncated) == ("output", True)
    assert result.detail == "printed more than 10001 bytes"
    text = getattr(result, stream)
    assert len(text.encode()) <= 10_003
    assert text.endswith("\ufffd" if stream == "stdout" else "x")


@pytest.mark.parametrize("backend", EVERY)
def test_as_much_output_as_allowed_is_no_fault(backend):
    result = outcome(backend, "allowed output")
    assert (result.passed, result.truncated, len(result.stdout), len(result.stderr)) == (True, False, 9999, 9999)


@pytest.mark.parametrize("backend", HOLDS_MEMORY)
@pytest.mark.parametrize("name", ["tmp", "shm"])
def test_full_file_systems_are_errors_of_the_program(backend, name):
    result = outcome(backend, name)
    assert (result.ended, result.exit_code, result.raised.type) == ("exit", 1, "OSError")
    assert NO_SPACE in result.raised.message


@pytest.mark.parametrize("backend", EVERY)
def test_descriptors(backend):
    assert "Too many open files" in outcome(backend, "descriptors").raised.message


@pytest.mark.parametrize("backend", EVERY)
def test_what_stays_within_the_limits_is_not_blamed(backend):
    assert outcome(backend, "within the limit").passed
    aborted = outcome(backend, "abort")
    assert (aborted.ended, aborted.signal, aborted.exit_code) == ("signal", 6, None)
