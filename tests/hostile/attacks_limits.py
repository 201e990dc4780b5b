"""Attacks on time, memory, processes, disk and output."""

from __future__ import annotations

from attack import Attack, held, stopped

from sandbox import Limits

MIB = 1 << 20
SHORT = Limits(seconds=1)
SMALL = Limits(seconds=10, memory=192 * MIB, pids=32)

ATTACKS: list[Attack] = [
    stopped("endless-loop", "loops for ever", "while True: pass", "time", limits=SHORT),
    stopped("sleep", "sleeps past its deadline", "import time\ntime.sleep(1000)", "time", limits=SHORT),
    stopped(
        "stop-itself",
        "sends itself SIGSTOP, so that it neither runs nor ends",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
        "time",
        limits=SHORT,
    ),
    stopped(
        "ignore-signals",
        "ignores every signal that can be ignored",
        "import signal\n"
        "for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: pass",
        "time",
        limits=SHORT,
    ),
    stopped(
        "close-descriptors",
        "closes all descriptors and goes on",
        "import os, time\nos.closerange(0, 4096)\ntime.sleep(1000)",
        "time",
        limits=SHORT,
    ),
    stopped(
        "clock-games",
        "patches the clocks, and tries to set the machine's",
        "import time, os\n"
        "refused('clock_settime', time.clock_settime, time.CLOCK_REALTIME, 0)\n"
        "time.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
        "while time.time() < 1: pass",
        "time",
        limits=SHORT,
    ),
    held(
        "daemon",
        "forks twice, starts a session of its own, and wants to live on",
        "import os, sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.execv(sys.executable, ['python', '-c', 'import time; time.sleep(600)  # kb-hostile-daemon'])\n"
        "    os._exit(0)\n"
        "import time\ntime.sleep(0.2)",
    ),
    stopped(
        "fork-bomb",
        "forks without end, in every child",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "pids",
        "time",
        "signal",
        limits=Limits(seconds=2, pids=32),
    ),
    stopped(
        "thread-bomb",
        "starts threads without end",
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        "pids",
        limits=Limits(seconds=10, pids=32),
    ),
    stopped(
        "allocate",
        "allocates and touches all memory",
        "blocks = []\nwhile True: blocks.append(b'x' * (16 << 20))",
        "memory",
        limits=SMALL,
    ),
    stopped(
        "allocate-mmap",
        "maps anonymous memory and touches it, from several processes",
        "import mmap, os\n"
        "os.fork(), os.fork()\n"
        "maps = []\n"
        "while True:\n"
        "    block = mmap.mmap(-1, 16 << 20)\n"
        "    for page in range(0, len(block), 4096): block[page] = 1\n"
        "    maps.append(block)",
        "memory",
        limits=SMALL,
    ),
    held(
        "fill-tmp",
        "fills /tmp",
        "def fill():\n"
        "    with open('/tmp/full', 'wb', buffering=0) as file:\n"
        "        for _ in range(4096): file.write(bytes(1 << 20))\n"
        "refused('4 GiB in /tmp', fill)",
        limits=Limits(seconds=20, tmp=32 * MIB),
    ),
    held(
        "fill-shm",
        "fills /dev/shm",
        "def fill():\n"
        "    with open('/dev/shm/full', 'wb', buffering=0) as file:\n"
        "        for _ in range(4096): file.write(bytes(1 << 20))\n"
        "refused('4 GiB in /dev/shm', fill)",
        limits=Limits(seconds=20, shm=8 * MIB),
    ),
    stopped(
        "many-files",
        "makes a million files",
        "import os\n"
        "try:\n"
        "    for n in range(1_000_000): os.close(os.open(f'/tmp/{n}', os.O_CREAT))\n"
        "except OSError as error:\n"
        "    print('held:', error.errno)\n"
        "    raise SystemExit(3)\n"
        "print('BREACH: a million files')",
        "exit",
        "time",
        "memory",
        limits=Limits(seconds=2, memory=256 * MIB),
    ),
    held(
        "sparse-file",
        "makes a sparse file of a petabyte",
        "import os\n"
        "file = os.open('/tmp/sparse', os.O_CREAT | os.O_RDWR)\n"
        "refused('a petabyte', os.truncate, file, 1 << 50)\n"
        "refused('a far seek', os.pwrite, file, b'x', 1 << 50)",
    ),
    held(
        "deep-folders",
        "nests folders until nobody can remove them",
        "import os\nfor n in range(3000):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)",
    ),
    held(
        "closed-folder",
        "leaves a folder behind that nobody may enter",
        "import os\n"
        "os.makedirs('/tmp/closed/in')\n"
        "open('/tmp/closed/in/evil.py', 'w').close()\n"
        "os.chmod('/tmp/closed/in', 0)\n"
        "os.chmod('/tmp/closed', 0)",
    ),
    stopped(
        "output-flood",
        "prints a gigabyte",
        "for _ in range(1 << 24): print('x' * 63)",
        "output",
        limits=Limits(seconds=10, output=64 * 1024),
    ),
    stopped(
        "endless-line",
        "prints one line without an end, to both streams",
        "import os\nwhile True:\n    os.write(1, b'y' * 65536)\n    os.write(2, b'z' * 65536)",
        "output",
        limits=Limits(seconds=10, output=64 * 1024),
    ),
    held(
        "zip-bomb",
        "unpacks a small archive into gigabytes",
        "import io, zipfile\n"
        "packed = io.BytesIO()\n"
        "with zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as archive:\n"
        "    with archive.open('zeros', 'w') as file:\n"
        "        for _ in range(64): file.write(bytes(1 << 20))\n"
        "for n in range(8): refused('unpack', zipfile.ZipFile(packed).extractall, f'/tmp/{n}')",
        limits=Limits(seconds=30, tmp=32 * MIB),
    ),
    stopped(
        "segfault",
        "reads address 0",
        "import ctypes\nctypes.string_at(0)",
        "signal",
        signal=11,
    ),
    stopped(
        "stack-overflow",
        "recurses until the stack is used up",
        "import sys\n"
        "sys.setrecursionlimit(1 << 30)\n"
        "class Deep:\n"
        "    def __getattr__(self, name): return getattr(self, name + 'x')\n"
        "Deep().x",
        "signal",
        "memory",
        "time",
        limits=Limits(seconds=10, memory=512 * MIB),
    ),
]
