"""What a worker gives up before it imports anything: its user, new privileges, and system calls that no program needs.

The filter is classic BPF and refuses calls with EPERM; under Docker it applies in addition to the engine's own. The numbers are those of the kernel's
`unistd_64.h` (x86_64) and `asm-generic/unistd.h` (aarch64).

Standard ways that were passed over:

* libseccomp and its Python bindings: this code runs in any image and any interpreter that has Python alone, and arrives as source over a pipe, so it
  can depend on nothing but the standard library.
* A seccomp profile for Docker, `--seccomp` for bubblewrap: each backend would get its own policy in its own format, and gVisor ignores the first.
* nsjail, firejail, systemd-run: they start one program each. The worker imports torch before the first program and then forks, which they cannot.
* Landlock: it restricts files only, and file systems are read-only or private to the sandbox already.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import socket
import struct

# name: (x86_64, aarch64); None where the architecture has no such call
REFUSED: dict[str, tuple[int, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "sched_setattr": (314, 274),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # file systems and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "quotactl": (179, 60),
    "fanotify_init": (300, 262),
    # the kernel's large or rarely used surfaces
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    # the machine
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    # objects that would outlive the program and reach the next one
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}
CLONE, CLONE3 = (56, 220), (435, 435)
SOCKET, IOCTL, PRLIMIT = (41, 198), (16, 29), (302, 261)
NAMESPACES = 0x7E020000  # CLONE_NEWCGROUP … CLONE_NEWNET
TIOCSTI = 0x5412
NETLINK = 16
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)  # netlink only to read one's own interfaces

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCH, _ARGS = 0, 4, 16
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
_SECCOMP_MODE_FILTER = 2


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _argument(index: int) -> int:
    return _ARGS + 8 * index


def compile_filter(machine: str) -> bytes:
    """Return the filter for `machine`. Raises ValueError for an architecture without a system call table."""
    if machine not in _ARCHITECTURES:
        raise ValueError(f"no system call table for {machine}")
    column, arch = _ARCHITECTURES[machine]
    refuse, allow = _op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)
    filters = [_op(_LOAD, _ARCH), _op(_EQUAL, arch, 1), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if machine == "x86_64":
        filters += [_op(_AT_LEAST, _X32, 0, 1), refuse]
    filters += [_op(_EQUAL, CLONE3[column], 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]  # libc falls back to clone
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            filters += [_op(_EQUAL, numbers[column] or 0, 0, 1), refuse]
    filters += [
        _op(_EQUAL, CLONE[column], 0, 4),
        _op(_LOAD, _argument(0)),
        _op(_AND, NAMESPACES),
        _op(_EQUAL, 0, 1),
        refuse,
        _op(_LOAD, _NUMBER),
        _op(_EQUAL, IOCTL[column], 0, 3),
        _op(_LOAD, _argument(1)),
        _op(_EQUAL, TIOCSTI, 0, 1),
        refuse,
        _op(_LOAD, _NUMBER),
        _op(_EQUAL, PRLIMIT[column], 0, 3),
        _op(_LOAD, _argument(0)),
        _op(_EQUAL, 0, 1),
        refuse,
        _op(_LOAD, _NUMBER),
        _op(_EQUAL, SOCKET[column], 1),
        allow,
        _op(_LOAD, _argument(0)),
    ]
    filters += [_op(_EQUAL, family, len(FAMILIES) - index + 3) for index, family in enumerate(FAMILIES)]
    filters += [_op(_EQUAL, NETLINK, 0, 2), _op(_LOAD, _argument(2)), _op(_EQUAL, 0, 1), refuse, allow]
    return b"".join(filters)


def give_up(uid: int | None, seccomp: bool) -> None:
    """Become `uid` for good, close this process to others of that user, and install the filter."""
    if uid is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if os.uname().sysname != "Linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _prctl(libc, _PR_SET_CHILD_SUBREAPER, 1)
    if seccomp:
        _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)  # the change of user has cleared bubblewrap's
    hide(True)
    if seccomp:
        code = compile_filter(platform.machine())
        buffer = ctypes.create_string_buffer(code, len(code))
        header = struct.pack("HP", len(code) // 8, ctypes.addressof(buffer))
        _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
        _prctl(libc, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header))


def hide(hidden: bool) -> None:
    """Close (or open) this process's memory, descriptors and environment to other processes of its user."""
    if os.uname().sysname == "Linux":
        _prctl(ctypes.CDLL(None, use_errno=True), _PR_SET_DUMPABLE, 0 if hidden else 1)


def _prctl(libc: ctypes.CDLL, option: int, value: object, more: object = 0) -> None:
    if libc.prctl(option, value, more, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) refused")
