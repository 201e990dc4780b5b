"""kb mcp: coding assistants find and read entries, over stdio, with the protocol's own client."""

import asyncio
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kb.index.manager import open_index

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[3]
MESSAGE = "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"


@pytest.fixture(autouse=True)
def _index():
    open_index()


def ask(*calls):
    """Call the tools in one session with a server; return the tools it lists and each call's (is it an error, its text)."""
    mcp = pytest.importorskip("mcp")

    async def session():
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "kb", "mcp"], cwd=REPOSITORY, env=dict(os.environ)
        )
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return tools, [(result.is_error, "\n".join(part.text for part in result.content)) for result in results]

    with ThreadPoolExecutor(1) as thread:  # a loop of its own, whatever else runs in this one
        return thread.submit(asyncio.run, asyncio.wait_for(session(), 120)).result()


def test_the_tools_say_what_they_are_for():
    tools, _ = ask()
    assert {tool.name for tool in tools} == {"lookup", "show"}
    for tool in tools:
        assert len(tool.description) > 50
        assert tool.annotations.read_only_hint
        assert all(field["description"] for field in tool.input_schema["properties"].values())


def test_an_error_about_a_name_gets_what_the_released_packages_say():
    _, [(failed, text)] = ask(("lookup", {"text": "AttributeError: module 'torchtext.data' has no attribute 'Field'"}))
    assert not failed
    assert "not a verified fix" in text
    assert "`torchtext<0.9`" in text


def test_lookup_gives_cause_fix_and_programs():
    _, [(failed, text)] = ask(("lookup", {"text": MESSAGE}))
    assert not failed
    assert "exact match: `batchnorm-one-value-per-channel`" in text
    assert "Pass `drop_last=True`" in text
    assert "1. **The crash comes in the last batch" in text
    assert "## Why it happens" in text
    assert "```python repro\n" in text
    fix = text.partition("```python fix\n")[2].partition("```")[0]
    compile(fix, "fix.py", "exec")
    assert "drop_last=True" in fix


def test_the_cause_that_fits_is_named_with_its_change_before_the_entry():
    _, [(_, text)] = ask(("lookup", {"text": "RuntimeError: Need attn_mask if specifying the is_causal hint."}))
    above, _, entry = text.partition("\n# ")
    assert re.search(r"^Cause [2-5] fits \(your paste has `Need attn_mask.*: pass the causal mask", above, re.MULTILINE)
    assert "pass the causal mask" in entry.lower()


def test_the_tensors_of_the_failing_line_and_the_change_of_that_line_are_passed_on():
    frames = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    {}\n'
    sizes = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (5x64 and 100x64)"
    view = (
        "RuntimeError: view size is not compatible with input tensor's size and stride "
        "(at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
    )
    tensors = [{"name": "queries", "shape": [5, 64]}, {"name": "keys", "shape": [100, 64], "dtype": "torch.float32"}]
    _, [(_, product), (_, line)] = ask(
        ("lookup", {"text": frames.format("scores = queries @ keys") + sizes, "tensors": tensors}),
        ("lookup", {"text": frames.format("flat = y.view(2, -1)") + view}),
    )
    assert "`queries` is [5, 64], `keys` is [100, 64]" in product
    assert "train.py:7\n\n```diff\n-flat = y.view(2, -1)\n+flat = y.reshape(2, -1)\n```" in line


def test_a_change_that_depends_on_what_a_name_is_needs_to_be_told():
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    out = model(ids)\n'
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half"
    )
    ids = {"name": "ids", "shape": [2, 4], "dtype": "float32"}
    model = {"name": "model", "dtype": "float16"}
    change = "-out = model(ids)\n+out = model(ids.to(model.weight.dtype))"
    _, answers = ask(
        ("lookup", {"text": text}),
        ("lookup", {"text": text, "tensors": [ids]}),
        ("lookup", {"text": text, "tensors": [ids, model | {"kind": "module"}]}),
        ("lookup", {"text": text, "tensors": [ids, model | {"kind": "layer"}]}),
    )
    assert [change in answer for _, answer in answers] == [False, False, False, True]
    assert "`ids` is float32; `model` is float16." in answers[3][1]


def test_in_chinese_and_what_has_no_entry():
    _, [(_, chinese), (_, none)] = ask(
        ("lookup", {"text": MESSAGE, "language": "zh"}), ("lookup", {"text": "xyzzy plugh"})
    )
    assert "## 怎么改" in chinese
    assert none.startswith("No entry is known to answer this.")


def test_an_assistant_gets_the_nearest_entries_with_their_answers_to_choose_from():
    question, message = "training on two gpus is slower than on one", MESSAGE
    _, [(_, likely), (_, vague), (_, exact)] = ask(
        ("lookup", {"text": question}), ("lookup", {"text": "loss"}), ("lookup", {"text": message})
    )
    listed = [re.findall(r"^- `([a-z0-9-]+)`: .+\. .+", text, re.MULTILINE) for text in (likely, vague, exact)]
    assert [len(slugs) > 5 for slugs in listed] == [True, True, False]
    assert set(listed[0] + listed[1]) < set(open_index().slugs())


def test_show_gives_every_case_and_an_unknown_entry_is_an_error_that_helps():
    _, [(failed, entry), (wrong, near), (bad, _), (empty, _)] = ask(
        ("show", {"slug": "batchnorm-one-value-per-channel"}),
        ("show", {"slug": "batchnorm-one-value"}),
        ("show", {"slug": "batchnorm-one-value-per-channel", "language": "fr"}),
        ("lookup", {"text": ""}),
    )
    assert not failed
    assert entry.count("```python repro") == entry.count("```python fix") >= 2
    assert wrong
    assert "batchnorm-one-value-per-channel" in near
    assert bad
    assert empty


def test_without_the_sdk_it_says_what_to_install():
    code = "import sys; sys.modules['mcp'] = None; from kb.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 1
    assert "pip install 'kb-torch[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_ends_with_its_input():
    done = subprocess.run(
        [sys.executable, "-m", "kb", "mcp"],
        input="",
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
