"""Answers: exact where a message stands in the paste, likely or related by words, an honest no where nothing fits."""

import json
import subprocess
import sys

import pytest

from kb import lookup as public_lookup
from kb.index.manager import open_index
from kb.search.evidence import fill_explain
from kb.search.lookup import lookup
from kb.text.languages import LANGUAGES
from kb.text.software import frameworks
from tests.kb.entries_to_find import write_entry
from tests.kb.pastes import traceback_of

SHAPES = "RuntimeError: first and second shapes cannot be combined ({first:shape} and {second:shape})"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    root = tmp_path_factory.mktemp("answers")
    folder = root / "entries"
    write_entry(
        folder,
        "shapes-cannot-combine",
        messages=[SHAPES],
        explain="The layer expects {second[0]} features, your batch has {first[1]} in {first}.",
        en="Shapes that do not fit",
        zh="形状不合",
    )
    write_entry(
        folder,
        "weights-left-out",
        messages=["Warning: these weights of the network were left out ({weights:text})."],
        explain="Not loaded: {weights}.",
    )
    write_entry(folder, "general-trouble", messages=["RuntimeError: first and second shapes cannot be combined"])
    write_entry(folder, "worker-gone", messages=["RuntimeError: Loader worker {pid:int} exited without a word"])
    write_entry(folder, "old-call", messages=["UserWarning: this way of calling it is old and will go"])
    write_entry(folder, "bare-type", messages=["torch.made.up.TellingError: {text}"])
    write_entry(
        folder, "gpu-wording", messages=["RuntimeError: input kinds differ between the two"], why="ModuleList of layers"
    )
    write_entry(
        folder,
        "cpu-wording",
        messages=["RuntimeError: input kinds differ between the two"],
        why="gradient clipping norm",
    )
    write_entry(
        folder,
        "memory-grows",
        alias_en="memory grows with every iteration",
        alias_zh="每次迭代显存都在涨",
        why="The loss keeps its graph. Accumulate loss.item() instead.",
        why_zh="累加 loss 会保留计算图。",
    )
    return open_index([folder], cache=root / "cache")


@pytest.fixture(scope="module")
def published():
    return open_index()


def ids(answer):
    return [(match.id, match.confidence) for match in answer.matches]


def whole(answer):
    """Return the slugs of the entries whose message stands whole in the paste."""
    return [match.id for match in answer.matches if match.evidence.is_whole]


def test_a_message_in_a_traceback_is_matched_whole_and_shown_with_its_line(index):
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
        "RuntimeError: first and second shapes cannot be combined (32x512 and 256x10)"
    )
    answer = lookup(text, index=index)
    match = answer.matches[0]
    assert answer.answered
    assert (match.id, match.evidence.is_whole) == ("shapes-cannot-combine", True)
    assert match.evidence.line_number == 4
    assert match.evidence.line == text.split("\n")[3]
    assert match.evidence.template == SHAPES
    assert match.evidence.values == {"first": "32x512", "second": "256x10"}
    assert match.evidence.explain["en"] == "The layer expects 256 features, your batch has 512 in 32x512."
    assert match.title == {"en": "Shapes that do not fit", "zh": "形状不合"}


def test_the_more_specific_of_two_templates_wins_and_the_other_still_serves(index):
    match = lookup("first and second shapes cannot be combined, but why", index=index).matches[0]
    assert (match.id, match.evidence.is_whole) == ("general-trouble", True)


def test_no_explain_line_where_a_message_ends_before_its_value(index):
    assert (
        lookup("Warning: these weights of the network were left out", index=index).matches[0].evidence.explain is None
    )


def test_an_explain_line_is_left_out_where_a_value_is_missing():
    assert fill_explain("{a} and {a[1]}", {"a": "[3, 4]"}) == "[3, 4] and 4"
    assert fill_explain("{b}", {"a": "1"}) is None
    assert fill_explain("{a[5]}", {"a": "[3, 4]"}) is None
    assert fill_explain("no value", {}) == "no value"


@pytest.mark.parametrize(
    ("message", "printed", "values"),
    [
        (
            "TypeError: rand() got ({got:text}), but expected one",
            "rand() got (float, int), but expected one of:",
            "float, int",
        ),
        (
            "ValueError: Target modules {got:text} not found in model",
            "Target modules ['q', 'v'] not found in model",
            "q, v",
        ),
        (
            'RuntimeError: "{got:text}" not implemented for Half',
            '"addmm_impl_cpu_" not implemented for Half',
            "addmm_impl_cpu_",
        ),
        ("ValueError: wrong size of the batch={got:text}", "wrong size of the batch=0", "0"),
        ("OSError: no weights in the folder {got:text}.", "no weights in the folder ./out/step-1.", "./out/step-1"),
        ("OSError: the cache is full ({got:text}).", "the cache is full (5.2 GiB). Based on what is left", "5.2 GiB"),
        (
            "ValueError: guard on the expression {got:text} unhinted",
            "guard on the expression Eq(u0, 1) (unhinted",
            "Eq(u0, 1)",
        ),
        ("OSError: no weights for these layers ({got:text}).", "no weights for these layers (a\nb).", "a"),
        (
            "OSError: no weights for these layers {got:text}",
            "no weights for these layers " + "w" * 201,
            "w" * 200 + "…",
        ),
        ("ValueError: pass this option {got:text} to it", "pass this option `mode='max'` to it", "mode='max'"),
        ("OSError: cannot read this file {got:path}", "cannot read this file ../train/a-b.", "../train/a-b"),
        ("OSError: {got:path}: no such library here", "lib-c15.so.4: no such library here", "lib-c15.so.4"),
        ("OSError: Can't read what is at {got:path}", "Can't read what is at a/b", "a/b"),
        ("OSError: Can't read what is at {got:path}", "Can't read what is at out/run.", "out/run"),
    ],
)
def test_an_open_placeholder_is_shown_as_printed_without_quotes_and_brackets(tmp_path, message, printed, values):
    write_entry(tmp_path / "entries", "open-placeholder", messages=[message], explain="It got {got}.")
    type_ = message.partition(":")[0]
    text = f"a line before\n{type_}: {printed}\na line after"
    evidence = lookup(text, index=open_index([tmp_path / "entries"], cache=tmp_path / "cache")).matches[0].evidence
    assert evidence.explain["en"] == f"It got {values}."


def test_each_of_several_errors_is_answered_the_cause_first(index):
    text = (
        "UserWarning: this way of calling it is old and will go\n"
        "RuntimeError: Loader worker 17 exited without a word\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "RuntimeError: first and second shapes cannot be combined (1x2 and 3x4)\n"
    )
    answer = lookup(text, index=index)
    assert whole(answer) == ["worker-gone", "shapes-cannot-combine", "old-call"]
    assert [error.type for error in answer.errors] == ["RuntimeError", "RuntimeError", "UserWarning"]


def test_a_warning_does_not_answer_for_an_error_that_nothing_explains(index):
    text = "UserWarning: this way of calling it is old and will go\nKeyError: 'some column of a table'"
    answer = lookup(text, index=index)
    assert not answer.answered
    assert ("old-call", "related") in ids(answer)


def test_a_notice_does_not_answer_for_an_error_or_a_traceback_that_nothing_explains(published):
    notice = (
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, "
        "please further tune the variable for optimal performance in your application as needed.\n"
    )
    trace = traceback_of("ValueError: the flux of this plan is odd")
    cut_off, _, _ = trace.rpartition("\n")
    assert whole(lookup(notice, index=published)) == ["torchrun-sets-one-thread"]
    for text in (notice + trace, notice + cut_off):
        confidences = dict(ids(lookup(text, index=published)))
        assert confidences.get("torchrun-sets-one-thread", "related") == "related"


def test_a_warning_does_not_answer_for_a_traceback_that_is_cut_off_before_its_error(index):
    warning = "UserWarning: this way of calling it is old and will go\n"
    cut_off, _, _ = traceback_of("KeyError: 'x'").rpartition("\n")
    assert not lookup(warning + cut_off, index=index).answered
    assert lookup(cut_off + "\n" + warning, index=index).matches[0].id == "old-call"


def test_a_line_that_reports_another_error_does_not_answer_for_it(published):
    report = "-- Process 0 terminated with the following error:\n"
    cause = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nModuleNotFoundError: No module named 'own_ops'\n"
    assert lookup(report, index=published).matches[0].id == "elastic-child-failed"
    answer = lookup(report + cause, index=published)
    assert not (answer.answered and answer.matches[0].id == "elastic-child-failed")


def test_equals_name_each_other_and_without_context_the_popular_one_comes_first(published):
    message = "RuntimeError: a leaf Variable that requires grad has been used in an in-place operation."
    answer = lookup(message, index=published)
    assert answer.matches[0].id == "leaf-variable-in-place"
    assert [match.id for match in answer.equals] == ["custom-function-changes-its-input"]


def test_a_misspelt_message_is_still_likely(index):
    answer = lookup("RuntimeEror: frist and second shaps cannot be combned", index=index)
    assert ids(answer)[0] == ("general-trouble", "likely")


def test_a_message_cut_in_half_is_recognised_where_the_paste_ends(index):
    answer = lookup("RuntimeError: Loader worker 17 exited without", index=index)
    assert answer.answered
    assert answer.matches[0].id == "worker-gone"


def test_a_type_that_no_other_error_has_is_enough(index):
    assert ids(lookup("torch.made.up.TellingError: whatever it says", index=index))[0] == ("bare-type", "likely")
    in_prose = lookup("I made up a telling error", index=index).matches[0]
    assert not in_prose.evidence.template


def test_entries_with_the_same_message_are_told_apart_by_the_rest(index):
    message = "RuntimeError: input kinds differ between the two"
    for said, slug in (
        ("I keep layers in a ModuleList", "gpu-wording"),
        ("with gradient clipping by norm", "cpu-wording"),
    ):
        match = lookup(f"{said}\n{message}", index=index).matches[0]
        assert (match.id, match.evidence.is_whole) == (slug, True)


@pytest.mark.parametrize(
    "text", ["why does memory grow with every iteration?", "显存每次迭代都在增加，为什么？", "顯存每次迭代都在增加"]
)
def test_a_question_finds_its_entry_in_either_language(index, text):
    answer = lookup(text, index=index)
    assert answer.matches[0].id == "memory-grows"
    assert answer.matches[0].evidence.words


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'price'",
        "AssertionError",
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    assert x == y\nAssertionError',
        "fatal: refusing to do anything",
        "hello",
        "",
        "   \n\n",
        "???",
    ],
)
def test_what_no_entry_answers_is_declined(index, text):
    answer = lookup(text, index=index)
    assert not answer.answered
    assert all(match.confidence == "related" for match in answer.matches)


@pytest.mark.parametrize("name", ["TensorFlow", "keras", "JAX", "Paddle"])
def test_what_is_said_of_another_framework_is_declined_unless_pytorch_is_named(published, name):
    asked = "loss becomes nan after some steps{}"
    assert lookup(asked.format(""), index=published).answered
    other = lookup(asked.format(f" in {name}"), index=published)
    assert not other.answered
    both = lookup(asked.format(f" in PyTorch, unlike {name}"), index=published)
    assert both.matches[0].score > other.matches[0].score + 0.1


def test_a_question_that_names_another_tool_is_answered_with_less_certainty(published):
    asked = "the gpu is not used during training{}"
    bare, named = (lookup(asked.format(tool), index=published).matches[0] for tool in ("", " in Kubernetes"))
    assert bare.id == named.id
    assert named.score < bare.score
    more = "training in Docker stops with a bus error when workers run out of shared memory, how large should it be"
    assert lookup(more, index=published).matches[0].id == "dataloader-bus-error-shm"


def test_an_error_of_another_framework_is_not_answered_by_its_words(published):
    message = "MXNetError: src/ndarray/engine.cc:57: cudaMalloc failed: out of memory"
    assert not lookup(f"mxnet.base.{message}", index=published).answered


def test_code_tells_what_is_asked_where_no_error_does(published):
    asked = (
        "x = torch.randn(4, 1)\ny = torch.randn(4)\nloss = F.mse_loss(x, y)\nprint(loss)  # larger than it should be"
    )
    found = [match.id for match in lookup(asked, index=published).matches[:3]]
    assert "loss-does-not-decrease-wrong-shape-broadcast" in found


@pytest.mark.slow
@pytest.mark.parametrize("says", ["gives", "报"])
def test_what_stands_before_an_error_on_its_line_is_read(published, says):
    asked = lookup(f"with torch.no_grad {says} AttributeError: __enter__", index=published)
    assert asked.matches[0].id == "inference-mode-decorator-without-parentheses"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tails", "most"), [({"en": "?", "zh": "？"}, 0.005), ({"en": ", any help?", "zh": "，求助"}, 0.075)]
)
def test_what_people_type_by_an_entry_s_own_account_leads_to_it(corpus, published, tails, most):
    """A whole title or alias is known as such; with words behind it, the ranking has to find it."""
    typed = [
        (entry.id, text + tails[lang])
        for entry in corpus
        for lang in LANGUAGES
        for text in (entry.title[lang], *entry.aliases[lang])
    ]
    declined, missed = [], []
    for slug, text in typed[::5]:
        answer = lookup(text, index=published)
        declined += [text] if not answer.answered else []
        missed += [(slug, text)] if slug not in [match.id for match in answer.matches[:1]] else []
    assert len(missed) <= len(typed[::5]) * most, missed
    assert len(declined) <= len(typed[::5]) * most, declined


def test_a_library_with_torch_in_its_name_is_not_pytorch(published):
    said = "ImportError: cannot import name 'fused_norm' from '{}'"
    assert lookup(said.format("torch.nn.utils"), index=published).answered
    assert not lookup(said.format("acme_torch_utils.layers"), index=published).answered


def test_other_names_are_folded_and_none_is_what_entries_are_about(published):
    assert all(name == name.lower() and name.isalnum() for name in frameworks())
    assert not frameworks() & {"torch", "pytorch", "torchvision", "lightning", "transformers", "cuda", "cudnn", "nccl"}


def test_a_question_about_another_framework_is_declined_unless_it_is_only_compared(published):
    asked = "how can I print a summary of my model with the output shape of every layer"
    assert lookup(f"{asked}, like Keras does", index=published).answered
    assert not lookup(f"{asked} in MXNet", index=published).answered


def test_what_another_framework_s_own_code_raised_is_declined(published):
    frame = '  File "/usr/lib/python3/dist-packages/{}/optimizer.py", line 7, in apply\n'
    paste = "Traceback (most recent call last):\n" + frame + "RuntimeError: Adam does not support sparse gradients\n"
    assert lookup(paste.format("torch"), index=published).answered
    assert not lookup(paste.format("tensorflow_core/python"), index=published).answered


def test_the_part_of_a_long_line_that_matched_is_shown(index):
    message = "RuntimeError: first and second shapes cannot be combined (2x3 and 4x5)"
    line = lookup("step done " * 500 + message + " and more" * 500, index=index).matches[0].evidence.line
    assert message in line
    assert len(line) <= 500


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("ERROR: Failed building wheel for mamba", "ERROR: Failed building wheel for mamba-ssm"),
        ("our engine does not work", "ValueError: Prefix tuning does not work with gradient checkpointing."),
    ],
)
def test_a_message_that_ends_in_another_name_or_begins_in_a_sentence_is_no_part_of_a_longer_one(published, text, whole):
    (about, *_), parts = lookup(whole, index=published).matches, lookup(text, index=published).matches
    assert about.evidence.template == whole
    assert all(not match.evidence.template for match in parts)


def test_the_language_is_told_from_the_text_unless_it_is_given(index):
    assert lookup("memory grows", index=index).lang == "en"
    assert lookup("显存一直涨", index=index).lang == "zh"
    assert lookup("显存一直涨", index=index, lang="en").lang == "en"


def test_no_more_matches_than_asked_for_and_scores_never_rise(index):
    answer = lookup("memory and shapes and worker and loss and gradient", index=index, limit=2)
    assert len(answer.matches) <= 2
    scores = [match.score for match in lookup("memory shapes worker loss", index=index, limit=9).matches]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_the_answer_is_plain_data_for_json(index):
    data = json.loads(json.dumps(lookup("RuntimeError: Loader worker 17 exited without a word", index=index).to_dict()))
    assert set(data) == {"answered", "matches", "errors", "record", "understood"}
    assert set(data["matches"][0]) == {"id", "confidence", "score", "title", "evidence"}
    assert set(data["errors"][0]) == {"type", "message", "line_number", "frame"}


def test_the_package_offers_it():
    assert public_lookup is lookup


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: inner() the last dimension must match on both input tensors but got shapes [2, 3] and [4]",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)",
    ],
    ids=["the message names its cause", "the cause is open"],
)
def test_the_answer_of_a_message_loads_nothing_that_it_does_not_need(error):
    program = (
        "import sys\nfrom kb.index.manager import open_index\nfrom kb.search.lookup import lookup\nindex = open_index()\n"
        "before = set(sys.modules)\n"
        f"answer = lookup({error!r}, index=index)\n"
        "assert answer.matches[0].evidence.is_whole, answer\n"
        "avoided = ('whoosh', 'jieba', 'yaml', 'opencc', 'dataclasses', 'flask', 'torch', 'docker')\n"
        "print(*sorted(name for name in set(sys.modules) - before if name.partition('.')[0] in avoided))\n"
    )
    open_index()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_question_imports_whoosh_without_what_whoosh_does_not_use():
    program = (
        "import sys\nfrom kb.index.manager import open_index\nfrom kb.search.lookup import lookup\n"
        "assert lookup('why does my loss become nan after some steps', index=open_index()).matches\n"
        "unused = {'asyncio', 'http', 'pathlib', 'cached_property', 'urllib.request', 'html', 'shutil', 'tempfile', '_hashlib'}\n"
        "print(*({'whoosh.reading', *unused} & set(sys.modules)))\n"
        "from urllib.request import Request\nimport urllib.request\nprint(urllib.request.Request is Request)\n"
        "from whoosh.compat import htmlescape\nprint(htmlescape('<'))\n"
    )
    open_index()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["whoosh.reading", "True", "&lt;"]


def test_a_second_thread_finds_the_modules_themselves():
    program = (
        "import sys, threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()\n"
        "import kb.index.fulltext\nstop.set()\nprint(*({'asyncio', 'urllib.request'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["asyncio", "urllib.request"]


@pytest.mark.parametrize(
    ("message", "slug"),
    [
        ("OSError: [Errno 24] Too many open files", "dataloader-too-many-open-files"),
        ("BrokenPipeError: [Errno 32] Broken pipe", "dataloader-main-guard-spawn"),
        ("TypeError: cannot pickle 'generator' object", "dataloader-cannot-pickle"),
        ("AttributeError: 'list' object has no attribute 'shape'", "list-has-no-tensor-method"),
        ("AttributeError: 'NoneType' object has no attribute 'size'", "value-is-none-instead-of-tensor"),
    ],
)
def test_what_any_program_may_print_is_exact_only_where_pytorch_is_shown(published, message, slug):
    frame = 'Traceback (most recent call last):\n  File "/x/torch/utils/data/dataloader.py", line 3, in f\n    g()\n'
    bare, shown = (lookup(text, index=published).matches[0] for text in (message, frame + message))
    assert (bare.id, bare.confidence, bare.evidence.is_whole) == (slug, "likely", False)
    assert (shown.id, shown.evidence.is_whole) == (slug, True)


@pytest.mark.parametrize(
    ("printed", "slug"),
    [
        ("run.sh: line 5:  3132 Killed                  python train.py", "process-killed-by-oom-killer"),
        ("zsh: killed     python train.py", "process-killed-by-oom-killer"),
        ("./serve.sh: line 2:  77 Bus error               (core dumped) python serve.py", "dataloader-bus-error-shm"),
    ],
)
def test_the_name_of_a_signal_is_a_message_where_a_shell_prints_it(published, printed, slug):
    log = "loading the converted engine\nwriting /tmp/half/engine.plan\n"
    answer = lookup(log + printed, index=published)
    assert ids(answer)[0] == (slug, "likely")
    assert answer.matches[0].evidence.line == printed
    assert not lookup("nobody was killed by a bus error in this log", index=published).matches[0].evidence.line


def test_what_a_library_s_caller_raises_counts_where_the_library_is_among_the_frames(published):
    frame = '  File "/x/{}", line 52, in f\n    g()\n'
    message = "IndexError: list index out of range"

    def first(*files):
        frames = "".join(frame.format(file) for file in files)
        return whole(lookup(f"Traceback (most recent call last):\n{frames}{message}", index=published))[:1]

    fetch, own = "torch/utils/data/_utils/fetch.py", "my/data.py"
    slug = "dataset-item-raises-index-error"
    assert first("train.py", fetch, own) == first(fetch, own, own, own) == [slug]
    assert slug not in first("train.py", own) + first("torch/other.py", own)


@pytest.mark.parametrize("kind", ["list", "dict", "numpy.ndarray", "NoneType", "tuple"])
def test_an_attribute_of_tensors_alone_is_answered_and_one_of_python_is_not(published, kind):
    wording = "AttributeError: '{}' object has no attribute '{}'"
    assert lookup(wording.format(kind, "unsqueeze"), index=published).answered
    assert not lookup(wording.format(kind, "rsplit"), index=published).answered


def test_of_two_alike_templates_the_one_that_fixes_more_letters_wins(published):
    for module in ("func", "accelerator", "made_up", "distributed.made_up"):
        answer = lookup(f"ModuleNotFoundError: No module named 'torch.{module}'", index=published)
        assert ids(answer)[0] == ("renamed-or-removed-api", "exact")


def test_a_message_that_is_tied_to_a_file_comes_before_a_more_literal_one(tmp_path):
    write_entry(
        tmp_path / "entries", "any-box", messages=["AttributeError: 'Box' object has no attribute '{name:name}'"]
    )
    tied = {"text": "AttributeError: '{kind:name}' object has no attribute 'lid'", "raised_below": "torch/made/up.py"}
    write_entry(tmp_path / "entries", "closed-box", messages=[tied])
    opened = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    message = "AttributeError: 'Box' object has no attribute 'lid'"
    below = lookup(traceback_of(message, raised_in="torch/made/up.py"), index=opened)
    assert whole(below) == ["closed-box", "any-box"]
    assert whole(lookup(traceback_of(message), index=opened)) == ["any-box"]


def test_the_log_above_an_error_without_a_message_is_no_answer_of_an_entry_about_a_message(published):
    log = "GPU available: False, used: False\nTPU available: False, using: 0 TPU cores\n`Trainer.fit` stopped: `max_epochs=2` reached.\n"
    error = 'Traceback (most recent call last):\n  File "train.py", line 27, in <module>\n    assert weight.any()\nAssertionError'
    answer = lookup(log + error, index=published)
    assert answer.matches
    assert not answer.answered


@pytest.mark.parametrize("key", ["raised_in", "raised_below"])
def test_a_message_may_name_several_files(tmp_path, key):
    files = ["torch/old/place.py", "torch/new/place.py"]
    message = "AttributeError: 'Box' object has no attribute 'lid'"
    write_entry(tmp_path / "entries", "any-box", messages=[{"text": message, key: files}])
    opened = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    answers = [lookup(traceback_of(message, raised_in=file), index=opened) for file in [*files, "torch/other.py"]]
    assert [whole(answer) for answer in answers] == [["any-box"], ["any-box"], []]


def test_a_message_that_may_come_from_another_cause_has_the_nearest_entries_beside_it(published):
    line = "opt = torch.optim.SGD([pixels], lr=1.0)"
    paste = f'Traceback (most recent call last):\n  File "paint.py", line 8, in <module>\n    {line}\nValueError: can\'t optimize a non-leaf Tensor'
    first, *others = lookup(paste, index=published).matches
    assert (first.id, first.confidence) == ("optimize-non-leaf-tensor", "likely")
    assert {match.confidence for match in others} == {"related"}
    assert "leaf-variable-in-place" in [match.id for match in others]


def test_a_message_that_the_rest_of_the_paste_speaks_against_is_much_less_sure(published):
    message = "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    paste = (
        "I use DataParallel on two GPUs, with one GPU all is fine. Each GPU returns its loss and my code adds them.\n"
        "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector.\n"
        f'Traceback (most recent call last):\n  File "train.py", line 88, in <module>\n    loss = loss + prior\n{message}'
    )
    answer, alone = lookup(paste, index=published), lookup(message, index=published)
    assert {"broadcast-size-mismatch", "data-parallel-gather-scalars"} <= {match.id for match in answer.matches}
    assert alone.answered
    assert answer.matches[0].score < alone.matches[0].score - 0.3


def test_a_size_that_an_assert_prints_is_no_message_of_pytorchs():
    line = "assert model(image).shape == image.shape, model(image).shape"
    answer = public_lookup(
        f'Traceback (most recent call last):\n  File "train.py", line 8, in <module>\n    {line}\nAssertionError: torch.Size([1, 1, 52, 52])'
    )
    assert not answer.answered


def test_a_warning_above_the_traceback_does_not_take_a_message_that_begins_in_its_frames(tmp_path):
    wording = "line {int}, in {function:name} model.load({file:name}[{asked:name}]) KeyError: {missing:name}"
    write_entry(tmp_path / "entries", "no-such-part", messages=[wording])
    opened = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    warning = "train.py:7: FutureWarning: the default of load will change.\n  saved = load(path)\n"
    traceback = "Traceback (most recent call last):\n  File \"train.py\", line 8, in <module>\n    model.load(saved['net'])\nKeyError: 'net'"
    answer = lookup(warning + traceback, index=opened)
    assert whole(answer) == [match.id for match in answer.matches] == ["no-such-part"]
