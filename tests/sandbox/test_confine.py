"""The system call filter decides as it should, on both architectures: its bytes are run by a small interpreter here."""

import errno
import struct

import pytest

from sandbox.inside import confine

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 0, "aarch64": 1}
# read, write, openat, mmap, futex, execve, exit_group, wait4, kill: what every program needs
NEEDED = {"x86_64": (0, 1, 257, 9, 202, 59, 231, 61, 62), "aarch64": (63, 64, 56, 222, 98, 221, 94, 260, 129)}


def decide(code, arch, number, *arguments):
    """What classic BPF does with one call; see the kernel's Documentation/networking/filter.rst."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(tuple(arguments) + (0,) * 6)[:6])
    at = value = 0
    while True:
        operation, yes, no, k = struct.unpack_from("=HBBI", code, 8 * at)
        at += 1
        if operation == 0x20:
            value = struct.unpack_from("=I", data, k)[0]
        elif operation == 0x54:
            value &= k
        elif operation in (0x15, 0x35):
            at += yes if (value == k if operation == 0x15 else value >= k) else no
        else:
            assert operation == 0x06
            return k


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request):
    return request.param


@pytest.fixture
def call(machine):
    code = confine.compile_filter(machine)
    return lambda number, *arguments, arch=AUDIT[machine]: decide(code, arch, number, *arguments)


def test_ordinary_calls_are_allowed(call, machine):
    assert {call(number) for number in NEEDED[machine]} == {ALLOW}


@pytest.mark.parametrize("name", confine.REFUSED)
def test_each_listed_call_is_refused(call, machine, name):
    number = confine.REFUSED[name][COLUMN[machine]]
    if number is not None:
        assert call(number) == EPERM


def test_another_architecture_is_killed(call):
    assert call(0, arch=0x40000003) == KILL


def test_x32_is_refused():
    assert decide(confine.compile_filter("x86_64"), AUDIT["x86_64"], 0x40000000) == EPERM


def test_clone_may_make_threads_and_processes_but_no_namespaces(call, machine):
    clone = confine.CLONE[COLUMN[machine]]
    assert call(clone, 17) == ALLOW
    assert call(clone, 0x003D0F00) == ALLOW
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert call(clone, flag | 17) == EPERM
    assert call(confine.CLONE3[COLUMN[machine]]) == ENOSYS


def test_terminal_injection_is_refused(call, machine):
    ioctl = confine.IOCTL[COLUMN[machine]]
    assert call(ioctl, 0, 0x5413) == ALLOW
    assert call(ioctl, 0, 0x5412) == EPERM


def test_only_ones_own_limits_can_be_set(call, machine):
    prlimit = confine.PRLIMIT[COLUMN[machine]]
    assert call(prlimit, 0, 7) == ALLOW
    assert call(prlimit, 1, 7) == EPERM


def test_socket_families(call, machine):
    socket = confine.SOCKET[COLUMN[machine]]
    assert {call(socket, family, 1) for family in (1, 2, 10)} == {ALLOW}
    assert {call(socket, family, 1) for family in range(64) if family not in (1, 2, 10, 16)} == {EPERM}
    assert call(socket, 16, 3, 0) == ALLOW
    assert {call(socket, 16, 3, protocol) for protocol in range(1, 32)} == {EPERM}


def test_an_unknown_machine_is_an_error():
    with pytest.raises(ValueError, match="pdp11"):
        confine.compile_filter("pdp11")
