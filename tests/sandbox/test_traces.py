"""Whatever a program can change about its worker shows in the state that the worker compares."""

import subprocess
import sys
import textwrap

import pytest

from sandbox.inside import traces

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="what other processes can change is the kernel's affair"
)

CHANGES = {
    "nothing": ("pass", True),
    "priority": ("os.setpriority(os.PRIO_PROCESS, 0, 5)", False),
    "scheduling class": ("os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))", False),
    "I/O priority": ("ctypes.CDLL(None).syscall(SET_IO_PRIORITY, 1, 0, (3 << 13) | 7)", False),
    "limits": ("resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", False),
    "folder": ("os.chdir('/')", False),
    "mode of a folder": ("os.chmod(folder, 0o500)", False),
    "a file in a folder": ("open(f'{folder}/file', 'w').close()", True),
    "processors": ("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_state(tmp_path, change):
    statement, same = CHANGES[change]
    program = f"""
        import ctypes, os, platform, resource
        from sandbox.inside import traces
        SET_IO_PRIORITY = {{"x86_64": 251, "aarch64": 30}}[platform.machine()]
        folder = {str(tmp_path)!r}
        resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))
        before = traces.state([folder])
        if {change!r} == "processors" and len(os.sched_getaffinity(0)) < 2:
            print("one processor")
        else:
            {statement}
            print(traces.state([folder]) == before)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if done.stdout == "one processor\n":
        pytest.skip("this machine has one processor")
    assert done.stdout == f"{same}\n"


def test_a_folder_is_emptied_except_for_what_is_kept(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "left" / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert traces.empty(str(tmp_path), {"kept"})
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert not traces.empty(str(tmp_path / "nowhere"), set())
