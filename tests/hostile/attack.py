"""What an attack is: a program, how it must end, and what the sandbox must not let it see or do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox import Limits

BREACH = "BREACH"  # an attack prints this when something worked that must not
HELD = "held"  # and this for each thing that was refused

PRELUDE = """\
def refused(what, call, *args):
    try:
        result = call(*args)
    except (OSError, ValueError, OverflowError, MemoryError, ImportError) as error:
        print("held:", what, type(error).__name__)
        return None
    print("BREACH:", what, str(result)[:80])
    return result


def syscall(what, *args):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args]) < 0:
        print("held:", what, ctypes.get_errno())
    else:
        print("BREACH:", what)


"""


@dataclass(frozen=True)
class Attack:
    """One attack.

    `ended` holds the ways in which it may end, `exit_code` what it must exit with when that is fixed. `limits` are short
    so that the suite is. `passes` is for programs that do no more than try and come to their end.
    """

    name: str
    tries: str
    source: str
    ended: frozenset[str]
    exit_code: int | None = None
    signal: int | None = None
    passes: bool = False
    limits: Limits = field(default_factory=lambda: Limits(seconds=10))
    preload: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def stopped(name: str, tries: str, source: str, *ended: str, **more: object) -> Attack:
    """An attack that the sandbox has to end, in one of these ways."""
    return Attack(name, tries, PRELUDE + source, frozenset(ended), **more)  # type: ignore[arg-type]


def held(name: str, tries: str, source: str, **more: object) -> Attack:
    """An attack that runs to its end because each thing it tries is refused, or harms nobody."""
    return Attack(name, tries, PRELUDE + source, frozenset({"exit"}), exit_code=0, passes=True, **more)  # type: ignore[arg-type]


CANARY = """\
import ctypes, os, resource, stat, sys, time
here = os.getpid()
faults = []
python = {name.split("/")[2] for name in (*sys.path, sys.prefix, sys.base_prefix) if name.startswith("/tmp/")}  # a checkout there
if set(os.listdir("/tmp")) - python != {"run"} - python: faults.append(os.listdir("/tmp"))
if os.listdir("/tmp/run") != ["program.py"] or os.getcwd() != "/tmp/run": faults.append(os.listdir("/tmp/run"))
if os.listdir("/dev/shm"): faults.append(os.listdir("/dev/shm"))
others = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, here}
if others: faults.append(others)
if "EVIL" in os.environ or "evil" in sys.modules: faults.append("environment")
if os.getpriority(os.PRIO_PROCESS, 0) != 0: faults.append("priority")
try:
    if os.sched_getscheduler(0) != os.SCHED_OTHER: faults.append("scheduling class")
except OSError: pass
if ctypes.CDLL(None).syscall(252, 1, 0) > 0: faults.append("I/O priority")
if not os.get_blocking(0): faults.append("standard input does not block")
if any(stat.S_IMODE(os.stat(path).st_mode) != 0o1777 for path in ("/tmp", "/dev/shm")): faults.append("modes")
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] != 1024: faults.append("limits")
if not 2025 < time.gmtime().tm_year < 2100: faults.append("clock")
if sum(i * i for i in range(1000)) != 332833500: faults.append("arithmetic")
assert not faults, faults
print("unharmed")
"""
