"""Attacks on the host, the kernel, the network and other processes."""

from __future__ import annotations

from attack import Attack, held, stopped

# {secret}, {entries}, {port}, {abstract} are filled in by the suite: a file of the host, a folder of the checkout, a
# service on the host's loopback, an abstract socket of the host
ATTACKS: list[Attack] = [
    held(
        "read-host-files",
        "reads files of the host",
        "from pathlib import Path\n"
        "for path in ('{secret}', '/etc/shadow', '/root/.ssh/id_rsa', '/root/.bashrc', '/proc/kcore', '/dev/mem',\n"
        "             '/dev/kmsg', '/dev/sda', '/dev/vda', '/dev/fuse', '/dev/tty'):\n"
        "    refused(path, Path(path).read_bytes)",
    ),
    held(
        "read-entries",
        "reads the checkout that it came from, and writes a ledger",
        "import os\n"
        "from pathlib import Path\n"
        "refused('list', os.listdir, '{entries}')\n"
        "ledger = '{\"forged\": true}'\n"
        "refused('ledger', Path('{entries}/verified/2.13.0-cpu.json').write_text, ledger)",
    ),
    held(
        "symlink-output",
        "hands back links to the host's files in place of its own",
        "import os\n"
        "os.unlink('program.py')\n"
        "os.symlink('{secret}', 'program.py')\n"
        "os.symlink('/etc/passwd', 'result.json')\n"
        "os.rename('/tmp/run', '/tmp/moved')\n"
        "os.symlink('/proc/1', '/tmp/run')\n"
        "print('../../../../../../{secret}')",
    ),
    held(
        "write-mounts",
        "writes to every mount",
        "import os\n"
        "from pathlib import Path\n"
        "for line in Path('/proc/self/mounts').read_text().splitlines():\n"
        "    place = line.split()[1]\n"
        "    if place not in ('/tmp', '/dev/shm', '/dev/pts', '/dev/mqueue'):\n"
        "        target = Path(place, 'evil') if os.path.isdir(place) else Path(place)\n"
        "        if target.is_char_device(): continue  # null, say\n"
        "        refused(str(target), target.write_bytes, b'x')\n"
        "for path in ('/usr/bin/evil', '/etc/ld.so.preload', '/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger',\n"
        "             '/sys/kernel/uevent_helper', '/sys/fs/cgroup/evil', '/dev/evil', '/evil'):\n"
        "    refused(path, Path(path).write_bytes, b'x')",
    ),
    held(
        "devices",
        "makes a device node of its own and opens it",
        "import os, stat\n"
        "def device(path, kind, *numbers):\n"
        "    os.mknod(path, kind | 0o666, os.makedev(*numbers))\n"
        "    return os.open(path, os.O_RDWR)\n"
        "refused('disk', device, '/tmp/disk', stat.S_IFBLK, 8, 0)\n"
        "refused('disk', device, '/dev/shm/disk', stat.S_IFBLK, 254, 0)\n"
        "refused('memory', device, '/tmp/memory', stat.S_IFCHR, 1, 1)",
    ),
    held(
        "worker-proc",
        "reads the worker's memory and descriptors through /proc",
        "import os\n"
        "refused('mem', open, '/proc/1/mem', 'rb')\n"
        "refused('mem', open, '/proc/1/mem', 'r+b')\n"
        "try: print(open('/proc/1/environ', 'rb').read())\n"
        "except OSError: print('held: environ')",
    ),
    held(
        "environment-secrets",
        "looks for secrets in every environment it can read",
        "import os\n"
        "print(dict(os.environ))\n"
        "for name in os.listdir('/proc'):\n"
        "    for file in ('environ', 'cmdline'):\n"
        "        try: print(open(f'/proc/{name}/{file}', 'rb').read()[:4096])\n"
        "        except OSError: pass",
    ),
    stopped(
        "kill-everything",
        "kills every process that it can see",
        "import os, signal\n"
        "for name in os.listdir('/proc'):\n"
        "    if name.isdigit() and int(name) != os.getpid():\n"
        "        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGSEGV, signal.SIGKILL):\n"
        "            try: os.kill(int(name), number)\n"
        "            except OSError: pass\n"
        "try: os.kill(-1, signal.SIGKILL)\n"
        "except OSError: pass\n"
        "import time\ntime.sleep(0.3)\n"
        "raise SystemExit(3)",
        "exit",
        "signal",
        "memory",  # under gVisor, where it kills its worker, which the engine does not tell from a want of memory
    ),
    held(
        "ptrace",
        "attaches to the worker as a debugger would",
        "import ctypes\n"
        "syscall('ptrace', 101, 16, 1, 0, 0)\n"
        "buffer = ctypes.create_string_buffer(64)\n"
        "vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)\n"
        "syscall('process_vm_readv', 310, 1, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0)\n"
        "syscall('pidfd_getfd', 438, 0, 0, 0)",
    ),
    held(
        "worker-limits",
        "takes descriptors, memory and time away from the worker",
        "import os, resource\n"
        "for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU):\n"
        "    refused('prlimit', resource.prlimit, 1, which, (0, 0))\n"
        "try: os.setpriority(os.PRIO_PROCESS, 1, 19)  # allowed between equals; such a worker is replaced\n"
        "except OSError: print('held: priority')",
    ),
    held(
        "worker-scheduling",
        "changes the scheduling class of the worker and of itself",
        "import os\n"
        "for process in (1, 0):\n"
        "    for policy in (os.SCHED_BATCH, os.SCHED_IDLE):\n"
        "        try: os.sched_setscheduler(process, policy, os.sched_param(0))\n"
        "        except OSError: print('held: class')\n"
        "syscall('sched_setattr', 314, 0, 0, 0)",
    ),
    held(
        "worker-io-priority",
        "changes the I/O priority of the worker and of itself",
        "import ctypes\nfor process in (1, 0): ctypes.CDLL(None).syscall(251, 1, process, (3 << 13) | 7)",
    ),
    held(
        "shared-descriptors",
        "changes the flags of open files that it shares with the worker",
        "import fcntl, os\n"
        "for descriptor in range(1024):\n"
        "    try:\n"
        "        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)\n"
        "        fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())\n"
        "    except OSError: pass",
    ),
    held(
        "folder-modes",
        "closes the folders that the next program needs",
        "import os\n"
        "for folder in ('/tmp', '/dev/shm'):\n"
        "    try: os.chmod(folder, 0)\n"
        "    except OSError: print('held:', folder)\n"
        "    try: os.setxattr(folder, 'user.evil', b'x')\n"
        "    except OSError: print('held:', folder)",
    ),
    held(
        "docker-socket",
        "talks to the container engine",
        "import socket\n"
        "for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock',\n"
        "             '/run/podman/podman.sock'):\n"
        "    refused(path, socket.socket(socket.AF_UNIX).connect, path)",
    ),
    held(
        "internet",
        "connects to the internet, by address and by name",
        "import socket\n"
        "for host in ('1.1.1.1', '8.8.8.8', 'pytorch.org'):\n"
        "    refused(host, socket.create_connection, (host, 443), 1)\n"
        "refused('udp', socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b'x', ('8.8.8.8', 53))",
    ),
    held(
        "host-loopback",
        "connects to services that listen on the host's loopback interface",
        "import socket\n"
        "for host in ('127.0.0.1', 'localhost', '0.0.0.0', '::1', '172.17.0.1', 'host.docker.internal'):\n"
        "    refused(host, socket.create_connection, (host, {port}), 1)\n"
        "refused('abstract socket', socket.socket(socket.AF_UNIX).connect, chr(0) + '{abstract}')",
    ),
    held(
        "metadata",
        "asks a cloud's metadata service for credentials",
        "import socket\n"
        "for host in ('169.254.169.254', 'fd00:ec2::254', 'metadata.google.internal'):\n"
        "    refused(host, socket.create_connection, (host, 80), 1)",
    ),
    held(
        "raw-sockets",
        "opens sockets that see or forge packets",
        "import socket\n"
        "refused('icmp', socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)\n"
        "refused('raw', socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)\n"
        "refused('packet', socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 0x300)",
    ),
    held(
        "other-sockets",
        "opens netlink, virtual machine, crypto and Bluetooth sockets",
        "import socket\n"
        "for protocol in (4, 9, 12, 15): refused('netlink', socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, protocol)\n"
        "for family in (40, 38, 31, 17, 29): refused(str(family), socket.socket, family, socket.SOCK_STREAM, 0)",
    ),
    held(
        "namespaces",
        "mounts, unshares, changes root, enters other namespaces",
        "import os\n"
        "syscall('mount', 165, b'none', b'/tmp', b'tmpfs', 0, None)\n"
        "syscall('umount', 166, b'/tmp', 0)\n"
        "for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000): syscall('unshare', 272, flag)\n"
        "syscall('clone', 56, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "syscall('setns', 308, 0, 0)\n"
        "syscall('pivot_root', 155, b'/tmp', b'/tmp')\n"
        "syscall('fsopen', 430, b'tmpfs', 0)\n"
        "refused('chroot', os.chroot, '/tmp')",
    ),
    held(
        "kernel-surface",
        "uses keyrings, bpf, io_uring, userfaultfd, perf events, kernel modules",
        "names = {'add_key': 248, 'request_key': 249, 'keyctl': 250, 'bpf': 321, 'io_uring_setup': 425,\n"
        "         'userfaultfd': 323, 'perf_event_open': 298, 'init_module': 175, 'finit_module': 313,\n"
        "         'kexec_load': 246, 'reboot': 169, 'swapon': 167, 'syslog': 103, 'open_by_handle_at': 304}\n"
        "for name, number in names.items(): syscall(name, number, 0, 0, 0, 0, 0)",
    ),
    held(
        "foreign-abi",
        "calls the kernel through the x32 interface, which filters forget",
        "syscall('x32 getpid', 0x40000000 + 39)\nsyscall('x32 mount', 0x40000000 + 165, 0, 0, 0, 0, 0)",
    ),
    held(
        "setuid",
        "becomes root, itself or through a setuid program",
        "import os, subprocess\n"
        "refused('setuid', os.setuid, 0)\n"
        "refused('setgid', os.setgid, 0)\n"
        "refused('setgroups', os.setgroups, [0])\n"
        "for folder in ('/usr/bin', '/usr/sbin', '/bin', '/usr/lib/dbus-1.0', '/usr/lib/openssh'):\n"
        "    for name in os.listdir(folder) if os.path.isdir(folder) else ():\n"
        "        path = os.path.join(folder, name)\n"
        "        if os.stat(path, follow_symlinks=False).st_mode & 0o6000 and os.access(path, os.X_OK):\n"
        "            done = subprocess.Popen([path], stdin=-3, stdout=-3, stderr=-3)\n"
        "            try: status = open(f'/proc/{done.pid}/status').read()\n"
        "            except OSError: status = ''\n"
        "            if 'Uid:\\t65534\\t0' in status: print('BREACH:', path)\n"
        "            done.kill(); done.wait()\n"
        "print('held')",
    ),
    held(
        "capabilities",
        "looks for a capability, and for a way to gain privileges",
        "from pathlib import Path\n"
        "import os, socket\n"
        "status = dict(line.split(':\\t', 1) for line in Path('/proc/self/status').read_text().splitlines() if ':\\t' in line)\n"
        "for name in ('CapEff', 'CapPrm', 'CapAmb'):\n"
        "    if int(status.get(name, '0'), 16): print('BREACH:', name, status[name])\n"
        "if status.get('NoNewPrivs', '1').strip() != '1': print('BREACH: new privileges')\n"
        "if os.getuid() != 65534 or os.geteuid() != 65534 or os.getgroups() not in ([], [65534]): print('BREACH: user')\n"
        "refused('chown', os.chown, '/tmp/run', 0, 0)\n"
        "refused('sethostname', socket.sethostname, 'evil')",
    ),
    held(
        "leave-behind",
        "leaves shared memory, queues and files for the next program",
        "import os\n"
        "syscall('shmget', 29, 4242, 4096, 0o1666)\n"
        "syscall('semget', 64, 4242, 1, 0o1666)\n"
        "syscall('msgget', 68, 4242, 0o1666)\n"
        "syscall('mq_open', 240, b'evil', 0o102, 0o666, None)\n"
        "from multiprocessing import shared_memory\n"
        "shared_memory.SharedMemory('evil', create=True, size=4096)\n"
        "for path in ('/tmp/evil', '/dev/shm/evil2'): open(path, 'w').close()\n"
        "os.environ['EVIL'] = '1'",
    ),
]
