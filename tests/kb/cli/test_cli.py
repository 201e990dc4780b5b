"""The command line: every command documented, exit statuses as designed, answers on stdout and the rest on stderr, nothing loaded in vain."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kb.cli import COMMANDS, main
from kb.cli.commands.doctor import _EXTRAS
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.slow

PASTE = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/me/train.py", line 12, in <module>
[rank0]:     out = model(x)
[rank0]: ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])
"""


def kb(*arguments, text="", **environment):
    done = subprocess.run(
        [sys.executable, "-m", "kb", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: kb {command}" in shown
    assert len(shown.split("\n\n")[1]) > 10, "says what it does"


def test_kb_alone_lists_the_commands_with_examples(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert shown.count("kb lookup") >= 3


def test_a_paste_is_answered():
    status, out, err = kb("lookup", "-", text=PASTE)
    assert (status, err) == (0, "")
    assert "batchnorm-one-value-per-channel" in out
    assert "drop_last=True" in out
    assert "train.py:12" in out
    assert "\033" not in out, "no colours but on a terminal"


def test_json_is_the_interface_that_scripts_read():
    status, out, _ = kb("lookup", "--json", PASTE.splitlines()[-1])
    answer = json.loads(out)
    assert (status, answer["answered"]) == (0, True)
    assert set(answer) >= {"answered", "matches", "errors"}
    assert set(answer["matches"][0]) >= {"id", "confidence", "score", "title", "evidence"}
    assert (answer["matches"][0]["id"], answer["matches"][0]["confidence"]) == (
        "batchnorm-one-value-per-channel",
        "exact",
    )


VIEW = (
    "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). "
    "Use .reshape(...) instead."
)


def test_json_has_the_change_of_the_readers_own_line():
    text = f'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    flat = y.view(2, -1)\n{VIEW}\n'
    change = json.loads(kb("lookup", "--json", "-", text=text)[1])["change"]
    assert (change["file"], change["line"], change["case"]) == ("train.py", 7, "after-permute")
    assert (change["before"], change["after"]) == (["flat = y.view(2, -1)"], ["flat = y.reshape(2, -1)"])
    assert json.loads(kb("lookup", "--json", PASTE)[1])["change"] is None


LOG = "".join(
    f"2026-01-02T03:04:05.1234567Z {line}\n"
    for line in f"""\
____________________________ test_a ____________________________
>       y = x.permute(1, 0).view(12)
E       {VIEW}

tests/test_x.py:7: RuntimeError
____________________________ test_b ____________________________
E       OSError: the pond has frozen over

tests/test_x.py:9: OSError
____________________________ test_c ____________________________
>       a @ b
E       RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)

tests/test_x.py:12: RuntimeError
==================== short test summary info ====================
FAILED tests/test_x.py::test_a - RuntimeError: view size is not compatible""".split("\n")
)


def test_a_log_becomes_annotations_of_the_lines_that_failed():
    status, out, err = kb("lookup", "--format", "github", "-", text=LOG)
    assert (status, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith("::error file=tests/test_x.py,line=7,title=kb%3A view()")
    assert "%0A+y = x.permute(1, 0).reshape(12)%0A" in first
    assert second.startswith("::error file=tests/test_x.py,line=12,title=kb%3A ")


def test_tracebacks_of_a_log_are_annotated_each_and_what_has_no_frame_beside_the_run():
    message = PASTE.splitlines()[-1].removeprefix("[rank0]: ")
    two = "".join(
        f'Traceback (most recent call last):\n  File "{file}", line 3, in <module>\n    model(x)\n{message}\n'
        for file in ("a.py", "b.py")
    )
    places = [line.partition(",title")[0] for line in kb("lookup", "--format", "github", "-", text=two)[1].splitlines()]
    assert places == ["::error file=a.py,line=3", "::error file=b.py,line=3"]
    assert kb("lookup", "--format", "github", message)[1].startswith("::error title=kb%3A ")
    assert kb("lookup", "--format", "github", "xyzzy plugh")[:2] == (1, "")


def test_no_entry_is_said_with_status_1():
    status, out, _ = kb("lookup", "KeyError: 'flask_sqlalchemy_of_mine'")
    assert status == 1
    assert "no entry" in out


def test_a_question_in_chinese_is_answered_in_chinese():
    status, out, _ = kb("lookup", "最后一个 batch 只有一个样本，BatchNorm 报错")
    assert status == 0
    assert "怎么改" in out


def test_only_the_fix(tmp_path):
    _, out, _ = kb("lookup", "--fix", PASTE)
    (tmp_path / "fix.py").write_text(out)
    compile(out, "fix.py", "exec")
    assert "drop_last=True" in out


def test_a_file_can_be_named(tmp_path):
    (tmp_path / "log.txt").write_text(PASTE)
    assert "batchnorm-one-value-per-channel" in kb("lookup", str(tmp_path / "log.txt"))[1]


def test_of_a_log_that_is_too_long_the_end_is_read(tmp_path):
    log = "step and all is well\n" * 150_000 + PASTE
    (tmp_path / "log.txt").write_text(log)
    for answer in (kb("lookup", str(tmp_path / "log.txt")), kb("lookup", "-", text=log)):
        assert "batchnorm-one-value-per-channel" in answer[1]
        assert "train.py:12" in answer[1]


def test_which_of_several_programs_is_printed_is_said_by_its_name():
    paste = "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
    _, out, err = kb("lookup", "--fix", paste)
    compile(out, "fix.py", "exec")
    assert err.startswith(
        "load-cuda-checkpoint-on-cpu/no-gpu; kb show --fix prints the others: load-cuda-checkpoint-on-cpu/"
    )


def test_batch_answers_in_order(tmp_path):
    texts = [PASTE, "hello", PASTE]
    (tmp_path / "q.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    status, out, _ = kb("lookup", "--batch", str(tmp_path / "q.jsonl"))
    assert status == 0
    assert [json.loads(line)["answered"] for line in out.splitlines()] == [True, False, True]


def test_a_broken_batch_names_the_line(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"text": "x"}\n{"txt": 1}\n')
    status, _, err = kb("lookup", "--batch", str(tmp_path / "q.jsonl"))
    assert status == 2
    assert "q.jsonl:2:" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["lookup", "-n", "0", "x"],
        ["lookup", "--batch", "/nowhere"],
        ["show"],
        ["show", "--lang", "fr", "x"],
        ["verify", "no-such-entry"],
        ["check", "/nowhere"],
    ],
)
def test_usage_errors_have_status_2_and_no_stack(arguments):
    status, out, err = kb(*arguments)
    assert (status, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_nothing_to_look_up_says_so():
    status, _, err = kb("lookup", "-", text="  \n")
    assert status == 2
    assert "nothing to look up" in err


def test_with_standard_input_closed_it_says_what_to_give(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert main(["lookup"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_an_unknown_entry_names_the_nearest():
    status, _, err = kb("show", "batchnorm-one-value")
    assert status == 1
    assert "batchnorm-one-value-per-channel" in err


def test_show_prints_both_programs():
    status, out, _ = kb("show", "batchnorm-one-value-per-channel", "--lang", "zh")
    assert status == 0
    assert "原因" in out
    assert out.count("DataLoader(data") >= 2


def test_list_filters():
    everything = json.loads(kb("list", "--json")[1])
    silent = json.loads(kb("list", "--json", "--kind", "silent")[1])
    assert 0 < len(silent) < len(everything)
    assert {entry["kind"] for entry in silent} == {"silent"}
    assert kb("list", "--topic", "no-such-topic")[0] == 1


def test_an_english_lookup_loads_nothing_it_does_not_need():
    code = "import sys; from kb.cli import main; main(['lookup', '--json', sys.argv[1]]); print('\\n'.join(sys.modules), file=sys.stderr)"
    environment = os.environ | {"KB_LANG": "en"}
    warm = [sys.executable, "-c", code, PASTE.strip().rpartition("\n")[2]]  # a message alone; words are read for more
    subprocess.run(warm, capture_output=True, check=True, env=environment)
    loaded = set(subprocess.run(warm, capture_output=True, text=True, check=True, env=environment).stderr.splitlines())
    assert "kb.search.lookup" in loaded
    assert not loaded & {
        "jieba",
        "flask",
        "docker",
        "torch",
        "whoosh.index",
        "yaml",
        "markdown",
        "jsonschema_rs",
        "dataclasses",
    }


def test_no_time_goes_into_cycles_when_a_command_ends():
    code = (
        "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "from kb.cli import main\nmain(['completion', 'bash'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"


def test_a_closed_pipe_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m kb list | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_check_names_file_and_line(tmp_path, good_entry):
    path = tmp_path / "tensors" / "add-two.md"
    path.parent.mkdir()
    path.write_text(good_entry.replace("kind: error", "kind: odd"), "utf-8")
    status, out, _ = kb("check", str(path))
    assert status == 1
    assert ":5: KB004" in out
    assert '"odd" is not one of' in out


def test_run_streams_both_programs_and_tells_how_they_ended():
    status, _, err = kb("run", "batchnorm-one-value-per-channel/last-batch", "--backend", "process")
    assert status == 0
    assert "Expected more than 1 value per channel" in err
    assert "exit status 1" in err
    assert "exit status 0" in err


def test_what_is_left_out_is_said_again_when_nothing_is_built(tmp_path, good_entry):
    (tmp_path / "loss").mkdir()
    (tmp_path / "loss" / "draft-of-mine.md").write_text(good_entry.replace("kind: error", "kind: eror"))
    for _ in range(2):
        status, _, err = kb("index", KB_ENTRIES=str(tmp_path))
        assert status == 1
        assert "left out" in err
        assert "draft-of-mine.md" in err
    status, out, _ = kb("doctor", KB_ENTRIES=str(tmp_path))
    assert status == 1
    assert "1 faults" in out


def test_doctor_tells_what_works_here():
    status, out, _ = kb("doctor")
    assert status == 0
    assert all(word in out for word in ("entries", "index", "bubblewrap", "docker", "torch"))


@pytest.mark.parametrize("extra", _EXTRAS)
def test_doctor_looks_for_all_that_an_extra_brings(extra):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [re.match(r"[\w-]+", one).group() for one in project["optional-dependencies"][extra]]
    assert sorted(map(str.lower, _EXTRAS[extra])) == sorted(needed)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_commands_options_and_slugs(shell):
    kb("index")
    status, out, _ = kb("completion", shell)
    assert status == 0
    assert "--isolation" in out
    assert "batchnorm-one-value-per-channel" in out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


def test_debug_shows_the_stack():
    assert "Traceback" in kb("show", "nonsense", "--debug")[2]


def test_the_module_and_the_script_are_the_same_command():
    script = Path(sys.executable).with_name("kb")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == kb("--version")[1]


def test_a_cache_that_cannot_be_written_is_one_line_that_says_what_to_set(tmp_path):
    (tmp_path / "file").write_text("")
    status, out, err = kb("lookup", PASTE, KB_CACHE=str(tmp_path / "file"))
    assert (status, out) == (1, "")
    assert err.startswith("kb lookup: the index cannot be written")
    assert "set KB_CACHE" in err
    assert "Error" not in err


def test_an_answer_reaches_a_terminal_whose_encoding_lacks_a_character():
    status, out, err = kb("lookup", "--lang", "zh", PASTE, PYTHONIOENCODING="ascii")
    assert (status, err) == (0, "")
    assert "batchnorm-one-value-per-channel" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lokup", "x"], "did you mean kb lookup?"),
        (["RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)"], "kb lookup"),
        (["lookup", "--batch", "{latin}"], "it is not UTF-8"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(arguments, said, tmp_path):
    (tmp_path / "latin").write_bytes(b'{"text": "\xe9"}')
    status, out, err = kb(*(word.format(latin=tmp_path / "latin") for word in arguments))
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("path", ["train.log", "./nowhere/slurm-12", "/tmp"])
def test_that_a_named_file_is_missing_is_said(path):
    assert f"{path}: there is no such file" in kb("lookup", path)[2]
    assert kb("lookup", "aten::_foo/bar")[2] == ""


def test_help_is_a_command_too(capsys):
    assert main(["help"]) == 0
    assert "Commands:" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["help", "lookup"])
    assert capsys.readouterr().out.startswith("usage: kb lookup")


@pytest.mark.parametrize(
    "name",
    ["nn/batchnorm-one-value-per-channel", "entries/nn/batchnorm-one-value-per-channel.md"],
)
def test_an_entry_may_be_named_as_kb_prints_it(name):
    assert kb("show", name)[0] == 0
    assert "drop_last=True" in kb("show", "--fix", name.removesuffix(".md") + "/last-batch")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "batchnorm-one-value"], "did you mean batchnorm-one-value-per-channel"),
        (["verify", "batchnorm-one-value"], "did you mean batchnorm-one-value-per-channel"),
        (["run", "batchnorm-one-value-per-channel/last"], "batchnorm-one-value-per-channel/last-batch"),
        (["list", "--topic", "shaps"], "did you mean shapes"),
        (["list", "--tag", "batchnrm"], "did you mean batchnorm"),
    ],
)
def test_what_there_is_not_names_the_nearest(arguments, said):
    status, out, err = kb(*arguments)
    assert (status > 0, out) == (True, "")
    assert said in err


@pytest.mark.parametrize("command", ["run", "verify"])
def test_an_entry_with_faults_is_not_said_to_be_missing(command, tmp_path, good_entry):
    (tmp_path / "loss").mkdir()
    (tmp_path / "loss" / "draft-of-mine.md").write_text(good_entry.replace("kind: error", "kind: eror"))
    status, _, err = kb(command, "draft-of-mine", KB_ENTRIES=str(tmp_path))
    assert status == 2
    assert "draft-of-mine.md has faults" in err
    assert "kb check" in err


def test_a_log_in_utf_16_is_read(tmp_path):
    (tmp_path / "log.txt").write_bytes(PASTE.encode("utf-16"))
    assert "batchnorm-one-value-per-channel" in kb("lookup", str(tmp_path / "log.txt"))[1]


def test_doctor_tells_a_folder_that_is_none():
    _, out, _ = kb("doctor", KB_ENTRIES="/nowhere")
    line = next(line for line in out.splitlines() if " entries " in line)
    assert line.startswith("--")
    assert "/nowhere, which is no folder" in line
