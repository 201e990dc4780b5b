"""Every protection in one module: what programs see, and what they may not do. The tests read it too."""

from __future__ import annotations

import sys
from typing import Any

from sandbox.model import Limits, WorkerSpec

UID = 65534  # nobody
HOSTNAME = "sandbox"
HOSTS = {HOSTNAME: "127.0.0.1", f"{HOSTNAME}-mapped": "::ffff:127.0.0.1"}  # gloo looks both up, and warns if it fails
NAME = "kb-sandbox"  # prefix of containers, control groups and folders
TMP = "/tmp"
SHARED = ("/dev/shm",)
GVISOR_PIDS = 1024  # threads for gVisor's own kernel
INODES = 100_000  # files in /tmp, where the engine can limit them
CONTAINER_PATH = "/opt/venv/bin:/opt/conda/bin:/usr/local/bin:/usr/bin:/bin"  # ours, and where others keep Python
IMAGE = "kb-sandbox"
LABEL = "kb.sandbox"
GRACE = 1.5  # seconds after a deadline within which the worker itself must have ended its program
START_TIMEOUT = 240  # seconds for a worker to import what it preloads, which may be all packages of an environment
MAX_RESPONSE = 1 << 20  # bytes of a worker's longest response; an honest one carries a chunk of output and has 88 kB

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
    # there is no network: libraries that know a hub use what is on the disk, and report nothing
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "WANDB_MODE": "disabled",
}

ETC = {
    "passwd": f"root:x:0:0:root:/:/bin/false\nnobody:x:{UID}:{UID}:nobody:{TMP}:/bin/false\n",
    "group": f"root:x:0:\nnogroup:x:{UID}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n" + "".join(f"{address} {name}\n" for name, address in HOSTS.items()),
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

BUBBLEWRAP = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--as-pid-1", "--die-with-parent", "--new-session", "--clearenv", "--hostname", HOSTNAME),
    *("--cap-drop", "ALL"),
)
BUBBLEWRAP_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
BUBBLEWRAP_USER = ("--unshare-user", "--uid", str(UID), "--gid", str(UID))
SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin")  # mounted read-only under bubblewrap
SYSTEM_FILES = ("/etc/ld.so.cache", "/sys/devices/system/cpu")  # the loader's and the processor's description


def environment(tmp: str, *packages: str) -> dict[str, str]:
    """Return the whole environment of a worker whose temporary folder is `tmp`; `packages` are more folders to import from, the first one first."""
    variables = {**ENVIRONMENT, "HOME": tmp, "TMPDIR": tmp}
    if folders := list(filter(None, packages)):
        variables["PYTHONPATH"] = ":".join(folders)
    if sys.platform == "darwin":
        variables["OBJC_DISABLE_INITIALIZE_FORK_SAFETY"] = "YES"
    return variables


def rlimits(limits: Limits, *, data: bool, processes: bool) -> dict[str, int]:
    """Return the limits that the kernel keeps per process.

    `data` and `processes` say whether memory and processes must be limited here because no control group does it. Address space is never limited,
    because `import torch` reserves far more than it uses.
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


def container(spec: WorkerSpec, *, gvisor: bool = False) -> dict[str, Any]:
    """Return the host side of a container, as keyword arguments of the docker SDK's `create_host_config`.

    The engine's own system call filter stays in force; the worker adds its own. Containers never get a network; they have the loopback interface
    alone. gVisor's kernel is itself a process with many threads and panics when it gets no more, so there the worker counts the program's processes.
    """
    return {
        "network_mode": "none",
        "extra_hosts": HOSTS,
        "ipc_mode": "private",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "privileged": False,
        "mem_limit": spec.memory,
        "memswap_limit": spec.memory,
        "pids_limit": 4 * spec.pids + GVISOR_PIDS if gvisor else spec.pids,
        "nano_cpus": int(spec.cpus * 1e9),
        "shm_size": spec.shm,
        "tmpfs": {TMP: f"rw,exec,nosuid,nodev,mode=1777,size={spec.tmp},nr_inodes={INODES}"},
        "oom_score_adj": 500,
        "log_config": {"type": "none", "config": {}},
        "restart_policy": {"Name": "no"},
        "init": False,
        "ulimits": [{"name": "core", "soft": 0, "hard": 0}, {"name": "nofile", "soft": 1024, "hard": 1024}],
    }
