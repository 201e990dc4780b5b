"""Lines that name no exception are errors too: signals, exit statuses, build tools, loaders and drivers of devices."""

import pytest

from kb.text.normalize import normalize
from kb.text.tracebacks import SIGNALS, find_errors, own_frame


def errors_in(text):
    return [(error.type, error.message) for error in find_errors(normalize(text))]


WHOLE_LINE = [
    ("Killed", "Killed"),
    ("Killed", "Killed: 9"),
    ("Killed", "[1]    12345 killed     python train.py"),
    ("Killed", "zsh: killed     python train.py"),
    ("Killed", "run.sh: line 5:  3132 Killed                  python train.py --lr 0.1"),
    ("Killed", "已杀死"),
    ("Segmentation fault", "zsh: segmentation fault  python train.py"),
    ("Segmentation fault", "[2]  + 99 segmentation fault (core dumped)  python train.py"),
    ("Segmentation fault", "Segmentation fault (core dumped)"),
    ("Segmentation fault", "段错误 (核心已转储)"),
    ("Segmentation fault", "Speicherzugriffsfehler (Speicherabzug geschrieben)"),
    ("Bus error", "Bus error (core dumped)"),
    ("Aborted", "Aborted (core dumped)"),
    ("Aborted", "Abort trap: 6"),
    ("Aborted", "已放弃 (核心已转储)"),
    ("Illegal instruction", "Illegal instruction (core dumped)"),
    ("Illegal instruction", "zsh: illegal hardware instruction  python -c 'import torch'"),
    ("exit code", "Process finished with exit code -1073741819 (0xC0000005)"),
    ("exit code", "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)"),
    ("exit code", "exit code: -9"),
    ("exit code", "Command exited with non-zero status 137"),
    ("exit code", "exits with return code = -11"),
    ("exit code", "Command '['python', 'train.py']' returned non-zero exit status 1"),
    ("exit code", "Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>"),
    ("kernel died", "The kernel appears to have died. It will restart automatically."),
    ("kernel died", "服务似乎挂掉了，但是会立刻重启的".replace("，", ",")),
    ("c10::Error", "terminate called after throwing an instance of 'c10::Error'"),
    ("glibc", "free(): invalid pointer"),
    ("glibc", "double free or corruption (!prev)"),
    ("ERROR", "torchvision 0.18.1 requires torch==2.3.1, but you have torch 2.4.0 which is incompatible."),
    ("undefined symbol", "/env/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"),
    ("XPU error", "level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)"),
    ("XPU error", "UR error 45"),
    ("XPU error", "Native API failed. Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES) -5 (PI_ERROR_OUT_OF_RESOURCES)"),
    ("NPU error", "call aclnnCast failed, detail:EZ9999: Inner Error!"),
    ("NPU error", "ACL stream synchronize failed, error code:507015"),
    ("OSError", "[WinError 126] Das angegebene Modul wurde nicht gefunden"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "line"), WHOLE_LINE)
def test_the_line_is_the_message(type_, line):
    assert errors_in(line) == [(type_, line)]
    assert errors_in(f"epoch 3 loss 0.52\n{line}\n(base) me@host:~$") == [(type_, line)]


AFTER_ITS_KIND = [
    ("EZ1001: ", "EZ1001", "2024-06-28-13:05:55.631.066  Parse dynamic kernel config fail."),
    ("E89999: ", "E89999", "Inner Error!"),
    ("[ERROR] 2025-05-16-10:28:38 (PID:886, Device:0, RankID:-1) ERR99999 ", "ERR99999", "UNKNOWN applicaiton exception"),
    ("HIP error: ", "HIP error", "invalid device function"),
    ("CUDA error: ", "CUDA error", "out of memory"),
    ("cuda runtime error (59) : ", "cuda runtime error", "device-side assert triggered at /pytorch/THC.cu:1"),
    ("NPU function error: ", "NPU function error", "call aclnnMatmul failed, error code is 561103"),
    ("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  ", "std::bad_alloc", "std::bad_alloc"),
    ("terminate called after throwing an instance of 'c10::Error'\n  what():  ", "c10::Error", "CUDA error: an illegal access"),
    ("libc++abi: terminating due to uncaught exception of type std::runtime_error: ", "std::runtime_error", "boom"),
    ("nvcc fatal   : ", "fatal", "Unsupported gpu architecture 'compute_90a'"),
    ("ms_deform.cu(12): error: ", "error", 'identifier "THCState" is undefined'),
    ("csrc/a.cpp:3:10: fatal error: ", "error", "Python.h: No such file or directory"),
    ("fatal error: ", "error", "Python.h: No such file or directory"),
    ("/usr/bin/ld: ", "ld", "cannot find -lcudart"),
    ("CMake Error at CMakeLists.txt:3 (find_package):\n  ", "CMake Error", "Could not find a package"),
    ("ninja: ", "ninja", "build stopped: subcommand failed."),
    ("ERROR: ", "ERROR", "Could not find a version that satisfies the requirement torch==1.7.1 (from versions: 2.0.0)"),
    ("ERROR: ", "ERROR", "No matching distribution found for torch==1.7.1"),
    ("python: ", "undefined symbol", "symbol lookup error: /env/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"),
    ("/AppleInternal/MPSCore/Types/MPSNDArray.mm:78: ", "Assertion", "failed assertion `[MPSNDArray sliceDimension:] error: dimension (2)'"),
    ("OSError: ", "OSError", "[WinError 126] 找不到指定的模块"),
    ("OSError: ", "OSError", "[WinError 1455] Die Auslagerungsdatei ist zu klein, um diesen Vorgang durchzuführen"),
    ("process.BrokenProcessPool: ", "process.BrokenProcessPool", "A process in the process pool was terminated abruptly"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "type_", "message"), AFTER_ITS_KIND)
def test_a_message_is_read_with_its_kind(before, type_, message):
    assert errors_in(before + message) == [(type_, message)]
    assert errors_in(f"epoch 3 loss 0.52\n{before}{message}\n") == [(type_, message)]


def test_full_width_punctuation_of_windows_is_folded():
    assert errors_in("[WinError 1455] 页面文件太小，无法完成操作。") == [
        ("OSError", "[WinError 1455] 页面文件太小,无法完成操作.")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "My job gets killed after an hour, why?",
        "I killed the process and started again.",
        "The run was aborted because I pressed a key",
        "Process finished with exit code 0",
        "the script exits with code 1 whenever I use two GPUs",
        "torch.nn.Linear: what does bias do?",
        "E1001: is not a CANN code without a second letter? see AEZ1001: no",
        "What does the kernel size of a convolution mean?",
        "abort",
        "requirements: torch==2.3.1",
        "a status of 200 and code = 7",
    ],
)
def test_prose_and_other_lines_are_none(text):
    assert errors_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: /env/a.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        "RuntimeError: CUDA error: device-side assert triggered",
        "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
        "RuntimeError: call aclnnCast failed, detail:EZ9999: Inner Error!",
        "OSError: [WinError 1455] The paging file is too small for this operation to complete.",
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Segmentation fault.",
    ],
)
def test_a_message_inside_that_of_an_exception_is_not_read_twice(text):
    assert [type_ for type_, _ in errors_in(text)] == [text.partition(":")[0]]


def test_an_exit_status_counts_only_where_no_error_is_shown():
    assert errors_in("ValueError: no\n\nProcess finished with exit code 1") == [("ValueError", "no")]


def test_an_exception_whose_name_does_not_say_so_is_read_below_a_traceback():
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nzmq.error.Again: Resource temporarily unavailable'
    assert errors_in(text) == [("zmq.error.Again", "Resource temporarily unavailable")]


def test_a_crash_shows_the_innermost_own_frame():
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        "Current thread 0x00007fad8780fb80 (most recent call first):\n"
        '  File "/env/lib/python3.11/site-packages/torch/_tensor.py", line 519 in backward\n'
        '  File "/home/me/train.py", line 31 in step\n'
        '  File "/home/me/train.py", line 50 in <module>'
    )
    normalized = normalize(text)
    frame = own_frame(normalized, find_errors(normalized)[0])
    assert (frame.file, frame.line, frame.function) == ("/home/me/train.py", 31, "step")


def test_every_signal_has_a_line_of_its_own():
    assert {type_ for type_, _ in WHOLE_LINE} >= set(SIGNALS) - {"Floating point exception", "Terminated"}
    for signal in SIGNALS:
        assert errors_in(signal) == [(signal, signal)]


@pytest.mark.parametrize(
    "bar", ["50%|#####     | 1/2 [00:03<00:03, 13.82it/s]", "50%|#####     | 1/2 [00:03<00:03, 2.1s/it]"]
)
def test_what_a_shell_prints_behind_a_progress_bar_is_a_message(bar):
    assert errors_in(f"{bar}Killed") == [("Killed", "Killed")]
