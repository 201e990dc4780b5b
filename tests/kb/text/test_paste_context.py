"""What a paste shows besides its errors is read from all the forms in which people paste it."""

from itertools import pairwise

import pytest

from kb.text.normalize import normalize
from kb.text.paste_context import OWN_CODE, read_context
from kb.text.tracebacks import find_errors
from tests.kb.text.test_robustness import LONG, MEBIBYTE
from tests.kb.text.test_wrappers import read
from tests.kb.work import calls_of


def context_of(text):
    normalized = normalize(text)
    return read_context(normalized, find_errors(normalized))


@pytest.mark.parametrize(
    ("text", "package", "version"),
    [
        ("torch==2.4.1", "torch", "2.4.1"),
        ("- transformers version: 4.39.3", "transformers", "4.39.3"),
        ("- `peft` version: 0.10.0", "peft", "0.10.0"),
        ("PyTorch version: 2.1.0+cu118", "torch", "2.1.0+cu118"),
        ("- PyTorch version (GPU?): 2.2.1+cu121 (True)", "torch", "2.2.1+cu121"),
        ("Package    Version\n---------- --------\nscipy      1.11.2\ntorch      2.0.1", "scipy", "1.11.2"),
        ("torch                     2.0.1", "torch", "2.0.1"),
        ("pytorch   1.13.1   py3.10_cuda11.7_cudnn8.5.0_0    pytorch", "torch", "1.13.1"),
        ("[conda] mkl-service   2.4.0   py310h7f8727e_0  ", "mkl-service", "2.4.0"),
        ("[pip3] pytorch-lightning==2.1.0", "pytorch-lightning", "2.1.0"),
        ("torch-2.1.0+cu118-cp310-cp310-linux_x86_64.whl is not a supported wheel", "torch", "2.1.0+cu118"),
        ("我用的是 pytorch1.8.1 和 numpy 1.19", "torch", "1.8.1"),
        ("I am on torch 2.0.1 with two GPUs.", "torch", "2.0.1"),
        ("flash_attn 2.5.8 does not import", "flash-attn", "2.5.8"),
        ("Name: torch\nVersion: 1.11.0\nSummary: Tensors", "torch", "1.11.0"),
        (">>> torch.__version__\n'1.8.1'", "torch", "1.8.1"),
        ("In [2]: print(transformers.__version__)\nOut[2]: '4.2.1'", "transformers", "4.2.1"),
        ("transformers 装的是 4.46", "transformers", "4.46"),
        ("PyTorch版本：1.8.1", "torch", "1.8.1"),
        ("torch 的版本是2.0.1", "torch", "2.0.1"),
    ],
)
def test_versions_of_packages(text, package, version):
    assert context_of(text).versions[package] == version


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ('File "/env/lib/python3.8/site-packages/torch/nn/a.py", line 3, in f', "3.8"),
        (r'File "C:\Users\me\Programs\Python\Python310\lib\json.py", line 3, in f', "3.10"),
        ("torch-2.1.0-cp312-cp312-win_amd64.whl", "3.12"),
        ("Python version: 3.10.12 (main, Jun 11 2023) [GCC 11.4.0] (64-bit runtime)", "3.10"),
        ("it fails", ""),
    ],
)
def test_the_version_of_python(text, python):
    assert context_of(text).python == python


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("PyTorch version: 2.1.0+cu118", "11.8"),
        ("CUDA runtime version: 12.2.140\nCUDA used to build PyTorch: 12.1", "12.1"),
        ("| NVIDIA-SMI 535.54   Driver Version: 535.54   CUDA Version: 12.2 |", "12.2"),
        ("Cuda compilation tools, release 11.8, V11.8.89", "11.8"),
        ("conda install pytorch pytorch-cuda=11.7 -c pytorch", "11.7"),
        ("no card", ""),
    ],
)
def test_the_version_of_cuda(text, cuda):
    assert context_of(text).cuda == cuda


@pytest.mark.parametrize(
    ("text", "system"),
    [
        (r'File "D:\work\train.py", line 3, in f', "windows"),
        ("[WinError 126] x", "windows"),
        ('File "/Users/me/train.py", line 3, in f', "macos"),
        ('File "/home/me/train.py", line 3, in f', "linux"),
        ("OS: Ubuntu 22.04.3 LTS (x86_64)", "linux"),
        ("nothing", None),
    ],
)
def test_the_operating_system(text, system):
    assert context_of(text).system == system


def test_devices_in_the_order_of_their_names():
    text = "moved from mps to cuda:0; cudnn, npus and xpu_like words; on Ascend910B with torch_npu, hipBLAS"
    assert context_of(text).devices == ("mps", "cuda", "xpu", "npu")
    assert context_of("HIP error: invalid device function").devices == ("rocm",)


@pytest.mark.parametrize(
    ("text", "codes", "signals"),
    [
        ("exits with return code = -9", (-9,), ("SIGKILL",)),
        ("exits with return code = -7", (-7,), ("SIGBUS",)),
        ("exitcode  : -11 (pid: 15247)", (-11,), ("SIGSEGV",)),
        ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", (137,), ("SIGKILL",)),
        ("exit code 139", (139,), ("SIGSEGV",)),
        ("exit status 245", (245,), ("SIGSEGV",)),
        ("returned non-zero exit status 3221225477.", (3221225477,), ("SIGSEGV",)),
        ("Process finished with exit code -1073741819 (0xC0000005)", (-1073741819,), ("SIGSEGV",)),
        ("exit code 1", (1,), ()),
        ("Process finished with exit code 0", (), ()),
        ("Killed", (), ("SIGKILL",)),
        ("Segmentation fault (core dumped)", (), ("SIGSEGV",)),
        ("Aborted (core dumped)", (), ("SIGABRT",)),
        ("DataLoader worker (pid 7) is killed by signal: Bus error.", (), ("SIGBUS",)),
        ("died with <Signals.SIGKILL: 9>.", (), ("SIGKILL",)),
        ("Signal 9 (SIGKILL) received by PID 15248", (), ("SIGKILL",)),
    ],
)
def test_how_the_program_ended(text, codes, signals):
    context = context_of(text)
    assert (context.exit_codes, context.signals) == (codes, signals)


def test_the_stack_and_the_package_that_raised_the_error():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 3, in <module>\n    main()\n'
        '  File "/env/lib/python3.11/site-packages/transformers/trainer.py", line 9, in train\n    x\n'
        '  File "/env/lib/python3.11/site-packages/transformers/models/a.py", line 9, in f\n    x\n'
        '  File "/home/me/data.py", line 3, in __getitem__\n    x\n'
        '  File "/env/lib/python3.11/site-packages/PIL/Image.py", line 9, in open\n    x\n'
        '  File "/usr/lib/python3.11/contextlib.py", line 9, in inner\n    x\n'
        "ValueError: no"
    )
    context = context_of(text)
    assert context.stack == (OWN_CODE, "transformers", OWN_CODE, "PIL")
    assert context.raised_by == "PIL"
    assert context.shows_pytorch


def test_own_code_raises_and_a_paste_without_frames_says_nothing():
    assert (
        context_of('Traceback (most recent call last):\n  File "a.py", line 3, in f\n    x\nValueError: no').raised_by
        == OWN_CODE
    )
    assert context_of("ValueError: no").raised_by is None


def test_of_a_wrapped_error_the_stack_is_that_of_the_cause():
    assert context_of(read("accelerate-launch")).stack == (OWN_CODE,)
    assert "torch" in context_of(read("dynamo-failed-running")).stack


def test_evidence_of_pytorch_and_of_other_frameworks():
    assert context_of("accelerate 0.28.0 is installed").shows_pytorch
    assert not context_of("ValueError: no").shows_pytorch
    keras = context_of('File "/usr/lib/python3.8/site-packages/keras/a.py", line 3, in f\n    x\nValueError: no')
    assert (keras.shows_pytorch, keras.other_frameworks, keras.raised_by) == (False, ("keras",), "keras")


@pytest.mark.parametrize("kind", LONG)
def test_a_mebibyte_gives_a_bounded_number_of_facts_at_bounded_cost(kind):
    normalized = normalize(LONG[kind][:MEBIBYTE])
    errors = find_errors(normalized)
    context = read_context(normalized, errors)
    assert (
        max(map(len, (context.versions, context.stack, context.exit_codes, context.signals, context.other_frameworks)))
        <= 500
    )
    assert calls_of(lambda: read_context(normalized, errors)) <= 30_000


def test_a_usual_traceback_costs_a_thousand_calls_at_most():
    normalized = normalize(read("accelerate-launch"))
    errors = find_errors(normalized)
    read_context(normalized, errors)  # patterns are compiled at their first use
    assert calls_of(lambda: read_context(normalized, errors)) <= 1_000


def test_runs_of_frames_are_shortened():
    stack = context_of(read("torchrun")).stack
    assert all(first != second for first, second in pairwise(stack))
