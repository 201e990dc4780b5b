"""The cause that fits a paste: chosen by what only it has and by what it says, claimed only where that is probable, and never far from the recorded runs."""

import pytest

from kb.corpus.ledger import load_ledgers
from kb.index.manager import open_index
from kb.search.cause_choice import CauseChoice, cause_signals, choose_cause
from kb.search.lookup import lookup
from kb.templates.conditions import read_conditions


def case(name, repro="import torch\n", *, printed="", device="cpu", messages=()):
    return {
        "name": name,
        "device": device,
        "last_lines": [printed] if printed else [],
        "repro": repro,
        "fix": "",
        "messages": list(messages),
    }


def item(cause, *names):
    return {"cause": cause, "change": "change it.", "cases": list(names), "entries": []}


def document(
    *items, cases=(), messages=("RuntimeError: {device:device} and {other:device} meet",), causes=(), by_values=()
):
    items = {"en": list(items), "zh": list(items)}
    return {
        "id": "devices-differ",
        "items": items,
        "cases": list(cases),
        "messages": list(messages),
        "causes": dict(causes),
        "causes_by_values": {text: read_conditions(causes) for text, causes in dict(by_values).items()},
    }


TWO = document(
    item("The input is on the CPU", "batch"),
    item("The message names two GPUs", "split"),
    cases=[
        case("batch", 'x = x.to("cuda")\n', device="cuda"),
        case("split", 'x = x.to("cuda:1")\n', device="cuda"),
    ],
)


def test_the_padding_of_a_table_does_not_count():
    causes = document(item("The script stops (`exitcode: 1`)"), item("A process is killed (`exitcode: -9`)"))
    assert choose_cause(causes, "  exitcode  : -9 (pid: 4711)\n  error_file: <N/A>").item == 1
    assert choose_cause(causes, "  exitcode  : 1 (pid: 4711)").item == 0


def test_the_values_of_a_message_tell_its_cause():
    template = "ValueError: input {input:int} against target {target:int}"
    conditions = {"target == 0": 2, "input % target == 0": 3}
    items = [item("Other"), item("No target"), item("Several outputs for each target")]
    causes = document(*items, by_values={template: conditions})
    for target, expected in [(0, 1), (16, 2), (5, 0)]:
        text = f"ValueError: input 32 against target {target}"
        choice = choose_cause(causes, text, template, values={"input": "32", "target": str(target)})
        assert choice.item == expected
        assert choice.clue == (text if expected else "")
    assert choose_cause(causes, text, "ValueError: another", values={"input": "32", "target": "0"}).item == 0


def traceback(code, message, file="/home/me/train.py"):
    return f'Traceback (most recent call last):\n  File "{file}", line 3, in step\n    {code}\n{message}\n'


def test_without_a_clue_the_first_is_chosen_and_nothing_is_claimed():
    assert choose_cause(TWO, traceback("model(x)", "RuntimeError: cuda:0 and cpu meet")) == CauseChoice(0, "batch")
    assert choose_cause(TWO, "") == CauseChoice(0, "batch")


def test_the_words_of_every_traceback_are_no_clue():
    words = document(item("The input is on the CPU"), item("The last batch, as a traceback of the file shows"))
    pasted = traceback("model(x)", "RuntimeError: cuda:0 and cpu meet")
    assert choose_cause(words, pasted).item == 0
    assert choose_cause(words, pasted + "It is the last batch that fails.").item == 1


def test_a_device_that_only_one_cause_has_decides():
    choice = choose_cause(TWO, traceback("model(x)", "RuntimeError: cuda:0 and cuda:1 meet"))
    assert choice == CauseChoice(1, "split", "cuda:1", in_frame=False)


def test_a_message_that_names_its_cause_decides_against_all_other_clues():
    old = "RuntimeError: devices differ"
    causes = document(item("`optimizer.step()` fails"), item("An old message"), messages=[old], causes={old: 2})
    text = traceback("optimizer.step()", old)
    assert choose_cause(causes, text, old) == CauseChoice(1, "", old)
    assert choose_cause(causes, text).item == 0


def test_code_that_a_cause_quotes_decides_and_is_seen_in_the_traceback():
    causes = document(item("The model moved"), item("`optimizer.step()` fails after resuming"))
    choice = choose_cause(causes, traceback("optimizer.step()", "RuntimeError: they meet"))
    assert choice == CauseChoice(1, "", "optimizer.step()", in_frame=True)


def test_a_name_that_the_message_fills_in_speaks_for_the_cause_that_quotes_or_runs_it():
    wording = "AttributeError: module 'torch' has no attribute '{attribute:name}'"
    asked = "AttributeError: module 'torch' has no attribute 'symeig'"
    old = item("Old code", "old") | {"change": "`torch.symeig(A)` is `torch.linalg.eigh(A)`."}
    for program in ("torch.symeig(A)\n", "torch.linalg.eigh(A)\n"):
        causes = document(
            item("A library asks for it", "new"),
            old,
            cases=[case("new", "torch.func\n"), case("old", program)],
            messages=[wording],
        )
        new_signals, old_signals = cause_signals(causes, asked, wording, ())
        assert old_signals["filled"] > new_signals["filled"] == 0
        assert old_signals["code"] == 0


def test_words_of_any_training_loop_tell_no_cause_apart():
    causes = document(item("It was overwritten"), item("A step ran before the second backward"))
    assert choose_cause(causes, traceback("loss.backward()", "RuntimeError: they meet")).item == 0


def test_quoted_code_of_most_wordings_or_of_other_programs_tells_nothing():
    causes = document(
        item("`torch.load` is old"),
        item("Another", "one"),
        cases=[case("one", "torch.load(path)\n")],
        messages=["a", "b"],
    )
    assert choose_cause(causes, traceback("torch.load(path)", "RuntimeError: broken")).clue == ""
    reserved = document(
        item("It grows"), item("Much is `reserved but unallocated`"), messages=["{size} reserved but unallocated"]
    )
    assert choose_cause(reserved, "2 MiB reserved but unallocated").clue == ""


def test_a_name_of_the_entry_itself_tells_nothing():
    causes = document(item("It hangs"), item("It hangs with `devices` too"), item("Another"))
    assert choose_cause(causes, "my devices stop") == CauseChoice(0, "")


def test_the_words_of_the_only_program_tell_nothing():
    call = "setup(ext_modules=[CUDAExtension(name, sources, extra_compile_args)], cmdclass=BuildExtension)"
    program = case("no-toolkit", f"{call}\n")
    pasted = traceback(call, "RuntimeError: they meet")
    alone = document(item("nvcc is missing", "no-toolkit"), item("The compiler is too new"), cases=[program])
    assert choose_cause(alone, pasted).clue == ""
    beside = document(
        item("nvcc is missing", "no-toolkit"), item("It is old", "old"), cases=[program, case("old", "load(path)\n")]
    )
    assert choose_cause(beside, pasted).clue == "extra_compile_args"


@pytest.mark.parametrize(
    ("amount", "clue"), [("7.21 GiB", "7.21 GiB is reserved but unallocated"), ("3 MiB", ""), ("0.20 GiB", "")]
)
def test_a_cause_that_names_a_unit_wants_an_amount_of_it(amount, clue):
    reserved = document(
        item("It grows"),
        item("Several GiB are `reserved but unallocated`"),
        messages=["{size} is reserved but unallocated"],
    )
    assert choose_cause(reserved, f"RuntimeError: and {amount} is reserved but unallocated").clue == clue


def test_the_version_of_torch_decides_where_a_cause_is_about_it():
    causes = document(item("The file is broken"), item("You run torch 2.6 or newer"))
    assert choose_cause(causes, "torch==2.6.0\nRuntimeError: refused").clue == "torch 2.6"


def test_what_a_text_is_similar_to_decides_where_nothing_else_does():
    causes = document(item("The input is on the CPU"), item("The model is split"), item("Another"))
    assert choose_cause(causes, "they meet", similarities=(0.1, 0.2, 0.9)) == CauseChoice(2, "")


def test_words_of_a_question_choose_in_both_languages():
    causes = {
        "id": "last-batch",
        "items": {
            "en": [item("You predict alone"), item("The crash comes with the last batch of an epoch")],
            "zh": [item("只预测一个样本"), item("最后一个批次时报错")],
        },
        "cases": [],
        "messages": [],
        "causes": {},
        "causes_by_values": {},
    }
    assert choose_cause(causes, "crash in the last batch of each epoch").item == 1
    assert choose_cause(causes, "训练到最后一个批次").item == 1


def test_an_entry_without_causes_has_nothing_to_choose():
    assert choose_cause(document(), "RuntimeError: x") == CauseChoice(0, "")


def test_the_work_on_a_long_paste_is_bounded():
    choice = choose_cause(TWO, "x = cuda:1\n" * 200_000 + "RuntimeError: cuda:0 and cuda:1 meet")
    assert choice.item == 1


def test_a_message_that_a_cause_quotes_in_part_or_in_its_change_decides():
    causes = document(
        item("The model moved"),
        item("`they ... twice` is printed"),
        item("Another") | {"change": "At `meet alone` do this."},
    )
    assert choose_cause(causes, "RuntimeError: they meet twice").item == 1
    assert choose_cause(causes, "RuntimeError: they meet alone").item == 2
    assert choose_cause(causes, traceback("meet alone", "RuntimeError: they are lost")).item == 0


def test_the_cause_whose_program_printed_the_message_is_chosen():
    wordings = ["RuntimeError: {device:device} and {other:device} meet", "RuntimeError: {count:int} of them meet"]
    items = item("On two devices", "two"), item("Too many", "many"), item("None of the two", "none")
    cases = [
        case("two", printed="one", messages=wordings[:1]),
        case("many", printed="another", messages=wordings[1:]),
        case("none", printed="a third"),
    ]
    paste = traceback("f(x)", "RuntimeError: 7 of them meet")
    assert choose_cause(document(*items, cases=cases), paste, wordings[1]).case == "many"
    cases[0] = case("two")
    assert choose_cause(document(*items, cases=cases), paste, wordings[1]).case == "two"


def test_a_quoted_name_may_stand_behind_its_module_and_end_in_dots_and_backquotes_do_not_count():
    causes = document(item("The model moved"), item("`MeetError` is raised"), item("`they_...` are named"))
    assert choose_cause(causes, "acme.errors.MeetError: all").item == 1
    assert choose_cause(causes, "RuntimeError: they_all meet").item == 2
    folder = document(item("The model moved"), item("Frames in `acme/engine/`"))
    assert choose_cause(folder, traceback("f(x)", "RuntimeError: they meet", "/lib/acme/engine/step.py")).item == 1
    quoted = document(item("The model moved"), item("It `requires acme`"))
    assert choose_cause(quoted, "ImportError: it requires `acme` here").item == 1


@pytest.mark.slow
def test_what_is_claimed_of_recorded_runs_is_nearly_always_right():
    index = open_index()
    ledgers = load_ledgers().by_id
    claims = []
    for slug in index.slugs():
        entry = index.document(slug)
        for recorded in entry["cases"]:
            if len(entry["items"]["en"]) < 2 or recorded["id"] not in ledgers:
                continue
            printed = ledgers[recorded["id"]][0].printed
            matches = lookup(printed, index=index).matches
            template = matches[0].evidence.template if matches and matches[0].id == slug else ""
            choice = choose_cause(entry, printed, template)
            if choice.clue:
                claims.append(recorded["name"] in entry["items"]["en"][choice.item]["cases"])
    assert claims
    assert sum(claims) > 0.8 * len(claims)


def test_the_beginning_of_a_message_decides_and_not_the_hint_behind_it():
    index = open_index()
    written = (
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [64]] is at version 4; expected version 3 instead."
    )
    hint = " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
    for text in (written, written + hint):
        template = lookup(text, index=index).matches[0].evidence.template
        assert choose_cause(index.document("in-place-modified-for-backward"), text, template).case == "step-between"
