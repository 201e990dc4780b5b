"""The error inside a wrapper comes first and shows its own frame; a wrapper that stands alone is the error."""

from pathlib import Path
from textwrap import dedent

import pytest

from kb.text.normalize import normalize
from kb.text.tracebacks import find_errors, own_frame

PASTES = Path(__file__).parent.parent / "data/wrapped"
"""Pastes as the named programs print them, around the same error."""

MATMUL = "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"


def read(name):
    return (PASTES / f"{name}.txt").read_text("utf-8")


def paste(text):
    return dedent(text).strip("\n")


def first_error(text):
    """Return type, message and frame of the first error, and the types of the wrappers."""
    normalized = normalize(text)
    errors = find_errors(normalized)
    return (
        errors[0].type,
        errors[0].message,
        own_frame(normalized, errors[0]),
        [error.type for error in errors if error.role == "wrapper"],
    )


@pytest.mark.parametrize("name", ["dynamo-fake-tensor-call", "dynamo-failed-running", "dynamo-error-above"])
def test_an_error_of_the_readers_code_under_torch_compile(name):
    type_, message, frame, wrappers = first_error(read(name))
    assert type_ in ("RuntimeError", "")
    assert message == "a and b must have same reduction dim, but got [4, 8] X [7, 3]."
    assert frame == ("/home/me/net.py", 21, "mix", "return a @ b")
    assert wrappers == ["torch._dynamo.exc.TorchRuntimeError"]


def test_a_message_in_double_quotes_inside_dynamos():
    text = (
        "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_method view(*(1, 2), **{}): "
        "got AttributeError(\"'ndarray' object has no attribute 'add'\")"
    )
    assert first_error(text)[:2] == ("AttributeError", "'ndarray' object has no attribute 'add'")


def test_a_failed_backend_comes_behind_its_cause():
    text = paste("""
        Traceback (most recent call last):
          File "/home/me/train.py", line 7, in <module>
            f(torch.ones(3))
          File "/env/lib/python3.11/site-packages/torch/_dynamo/output_graph.py", line 1493, in _call_user_compiler
            raise BackendCompilerFailed(self.compiler_fn, e)
        torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
        RuntimeError: Cannot find a working triton installation.

        Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information
    """)
    assert [error.type for error in find_errors(normalize(text))] == [
        "RuntimeError",
        "torch._dynamo.exc.BackendCompilerFailed",
    ]


def test_what_dynamo_does_not_support_shows_the_line_of_user_code():
    text = paste("""
        Traceback (most recent call last):
          File "/home/me/train.py", line 9, in <module>
            f(torch.ones(3))
          File "/env/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 1177, in compile_wrapper
            raise e.with_traceback(
        torch._dynamo.exc.Unsupported: Data-dependent branching
          Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).

        from user code:
           File "/home/me/net.py", line 4, in f
            if x.sum() > 0:

        Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
    """)
    assert first_error(text)[0] == "torch._dynamo.exc.Unsupported"
    assert first_error(text)[2] == ("/home/me/net.py", 4, "f", "if x.sum() > 0:")


@pytest.mark.parametrize(
    ("message", "type_"),
    [
        ("No module named 'flash_attn'", "ModuleNotFoundError"),
        ("cannot import name 'cached_download' from 'huggingface_hub'", "ImportError"),
    ],
)
def test_a_part_that_a_library_cannot_import_when_it_is_asked_for(message, type_):
    outer = "RuntimeError: Failed to import diffusers.loaders because of the following error (look up to see its traceback):"
    assert first_error(f"{outer}\n{message}")[:2] == (type_, message)
    assert first_error(outer)[0] == "RuntimeError"


WRAPPERS_IN = {
    "accelerate-launch": ["subprocess.CalledProcessError"],
    "torchrun": ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError"],
    "deepspeed-launcher": [],
    "ray": ["ray.exceptions.RayTaskError"],
    "joblib": [],
    "concurrent-futures": [],
    "torch-multiprocessing-spawn": ["torch.multiprocessing.spawn.ProcessRaisedException"],
    "a-replica-of-dataparallel": ["RuntimeError"],
    "hydra": ["Error"],
    "nnu-net": ["RuntimeError"],
    "comfyui": [],
    "stable-diffusion-s-web-page": ["Error"],
    "gradio": ["gradio.exceptions.Error"],
    "lightning": [],
    "vllm": ["RuntimeError"],
    "ascend": ["ERR99999"],
    "papermill": ["papermill.exceptions.PapermillExecutionError"],
}


@pytest.mark.parametrize("name", WRAPPERS_IN)
def test_the_error_inside_comes_first(name):
    type_, message, frame, wrappers = first_error(read(name))
    assert (type_, message) == ("RuntimeError", MATMUL)
    assert frame is not None
    assert frame.line == 5
    assert frame.code in ("return a @ b", "a @ b")
    assert wrappers == WRAPPERS_IN[name]


def test_an_exception_that_hydra_printed_as_repr():
    text = f"""hydra.errors.InstantiationException: Error in call to target 'net.Net':\nRuntimeError('{MATMUL}')\nfull_key: model"""
    assert first_error(text)[:2] == ("RuntimeError", MATMUL)


def test_torchruns_root_cause_comes_before_the_errors_of_processes_that_failed_later():
    text = paste("""
        torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
        ============================================================
        train.py FAILED
        ------------------------------------------------------------
        Failures:
        [1]:
          exitcode  : 1 (pid: 15240)
          error_file: /tmp/torchelastic_x/attempt_0/1/error.json
          traceback : Traceback (most recent call last):
            File "/home/me/train.py", line 9, in main
              dist.barrier()
          torch.distributed.DistBackendError: Connection closed by peer

        ------------------------------------------------------------
        Root Cause (first observed failure):
        [0]:
          exitcode  : 1 (pid: 15239)
          error_file: /tmp/torchelastic_x/attempt_0/0/error.json
          traceback : Traceback (most recent call last):
            File "/home/me/train.py", line 5, in main
              return a @ b
          RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)

        ============================================================
    """)
    assert first_error(text)[:2] == ("RuntimeError", MATMUL)
    assert first_error(text)[2] == ("/home/me/train.py", 5, "main", "return a @ b")


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.", "subprocess.CalledProcessError"),
        ("subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.", "subprocess.CalledProcessError"),
        ("torch.distributed.elastic.errors.ChildFailedError:\n=====\ntrain.py FAILED", "torch.distributed.elastic.errors.ChildFailedError"),
        ("RuntimeError: Caught RuntimeError in DataLoader worker process 0.", "RuntimeError"),
        ("RuntimeError: One or more background workers are no longer alive. Exiting.", "RuntimeError"),
        ("torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call", "torch._dynamo.exc.TorchRuntimeError"),
        ("ray.exceptions.RayTaskError(RuntimeError): ray::work() (pid=15855, ip=192.0.2.2)", "ray.exceptions.RayTaskError"),
        ("Error executing job with overrides: []", "Error"),
        ("!!! Exception during processing !!! Allocation on device", "Exception"),
        ("a.py:3: UserWarning: old\nsubprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.", "subprocess.CalledProcessError"),
    ],
)  # fmt: skip
def test_a_wrapper_that_stands_alone_is_the_error(text, type_):
    error = find_errors(normalize(text))[0]
    assert (error.type, error.role) == (type_, "error")


def test_an_interrupt_is_no_error():
    assert [error.role for error in find_errors(normalize("KeyboardInterrupt"))] == ["wrapper"]


def test_lightnings_own_complaint_is_an_error():
    text = "lightning.fabric.utilities.exceptions.MisconfigurationException: No supported gpu backend found!"
    assert first_error(text)[1] == "No supported gpu backend found!"


@pytest.mark.parametrize("name", ["pytest-long", "pytest-short"])
def test_pytest_shows_the_error_once_with_its_line(name):
    type_, message, frame, _ = first_error(read(name))
    assert (type_, message) == ("RuntimeError", MATMUL)
    assert (frame.file, frame.line, frame.code) == ("test_net.py", 3, "return x @ torch.zeros(5, 6)")
    assert len(find_errors(normalize(read(name)))) == 1


def test_a_message_of_many_lines_loses_pytests_margin():
    text = 'E       RuntimeError: Error(s) in loading state_dict for Net:\nE       \tMissing key(s) in state_dict: "fc.weight".'
    assert not any(line.startswith("E") for line in normalize(text).text.split("\n"))


def test_the_trainer_in_a_notebook():
    text = paste("""
        ---------------------------------------------------------------------------
        RuntimeError                              Traceback (most recent call last)
        Cell In[12], line 1
        ----> 1 trainer.train()

        File /usr/local/lib/python3.10/dist-packages/transformers/trainer.py:1624, in Trainer.train(self, resume_from_checkpoint, trial)
           1622     hf_hub_utils.enable_progress_bars()
           1623 else:
        -> 1624     return inner_training_loop(

        RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)
    """)
    type_, message, frame, _ = first_error(text)
    assert (type_, message) == ("RuntimeError", MATMUL)
    assert (frame.file, frame.line, frame.code) == ("Cell In[12]", 1, "trainer.train()")


def test_a_shell_in_a_notebook_hides_no_error():
    text = paste("""
        RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)
        ---------------------------------------------------------------------------
        CalledProcessError                        Traceback (most recent call last)
        Cell In[4], line 1
        ----> 1 get_ipython().run_cell_magic('bash', '', 'python train.py')

        CalledProcessError: Command 'b'python train.py'' returned non-zero exit status 1.
    """)
    assert first_error(text)[:2] == ("RuntimeError", MATMUL)
    assert first_error(text)[3] == ["CalledProcessError"]
