"""Every protection in one place: what programs see, and what they may not do. The tests read this module too."""

from __future__ import annotations

import sys

from sandbox.model import MIB, Limits, Setup

UID = 65534  # nobody
HOSTNAME = "sandbox"
NAME = "kb-sandbox"  # prefix of containers, control groups and folders
TMP = "/tmp"
SHARED = ("/dev/shm",)
GRACE = 1.5  # seconds after a deadline in which a worker itself must have ended its program
START_TIMEOUT = 120  # seconds for a worker to import what it preloads
LINE = 1 << 20  # longest answer of a worker, bytes; the longest honest one is a chunk of output of 88 kB

PYTHON_OPTIONS = ("-u", "-W", "default")

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": TMP,
    "TMPDIR": TMP,
    "USER": "nobody",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
}

ETC = {
    "passwd": f"root:x:0:0:root:/:/bin/false\nnobody:x:{UID}:{UID}:nobody:{TMP}:/bin/false\n",
    "group": f"root:x:0:\nnogroup:x:{UID}:\n",
    "hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def environment(tmp: str) -> dict[str, str]:
    """The whole environment of a worker whose temporary folder is `tmp`."""
    variables = {**ENVIRONMENT, "HOME": tmp, "TMPDIR": tmp}
    if sys.platform == "darwin":
        variables["OBJC_DISABLE_INITIALIZE_FORK_SAFETY"] = "YES"
    return variables


def rlimits(limits: Limits, *, data: bool, processes: bool) -> dict[str, int]:
    """Limits that the kernel keeps per process.

    `data` and `processes` say whether memory and processes must be held here because no control group does. Address
    space is never limited: `import torch` reserves far more than it uses.
    """
    chosen = {
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": 1024,
        "RLIMIT_FSIZE": limits.tmp + limits.shm,
        "RLIMIT_MEMLOCK": 64 * 1024,
        "RLIMIT_MSGQUEUE": 0,
    }
    if data:
        chosen["RLIMIT_DATA"] = limits.memory
    if processes:
        chosen["RLIMIT_NPROC"] = limits.pids
    return chosen


def describe(setup: Setup) -> str:
    """A worker's size for people."""
    return f"{setup.memory // MIB} MiB, {setup.pids} pids, /dev/shm {setup.shm // MIB} MiB, {setup.device}"
