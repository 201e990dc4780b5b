"""What ships is small, complete and asked without much reading."""

import zlib
from pathlib import Path

import pytest

from kb.record import store
from kb.record.data_folder import data_folder, record_path
from kb.record.name_answer import Facts
from kb.record.name_errors import explain_missing_name, explain_name_error
from kb.record.name_history import name_history
from kb.record.packages import PACKAGES
from kb.record.provenance import provenance, versions_printing
from kb.record.query import open_record, recorded_packages
from kb.record.replacements import curated
from kb.record.sentences import answer_sentences, range_text

MOST_BYTES = 12 << 20


def test_the_record_is_small():
    assert sum(path.stat().st_size for path in Path(data_folder()).iterdir()) <= MOST_BYTES


def test_every_file_is_that_of_a_package():
    assert set(recorded_packages()) <= set(PACKAGES)


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("torch._six.container_abcs", "1.9"),
        ("huggingface_hub.cached_download", "0.26"),
        ("torchtext.legacy", "0.12"),
    ],
)
def test_well_known_removals_are_recorded(name, gone):
    assert name_history(name).ranges[-1].gone == gone


@pytest.mark.parametrize("line", sorted(curated()), ids=lambda line: "(".join(filter(None, line)))
def test_what_has_a_curated_replacement_is_in_the_record(line):
    name, parameter = line
    history = name_history(name)
    assert history is not None
    if parameter:
        assert parameter in {known.name for known in history.parameters}


def test_a_message_of_torch_is_traced_to_its_function():
    message = "Sum of input lengths does not equal the length of the input dataset!"
    origin = next(origin for origin in provenance(message) if origin.package == "torch")
    assert origin.function.endswith("random_split")


def test_a_message_of_the_compiled_library_is_known():
    assert versions_printing("RuntimeError: mat1 and mat2 shapes cannot be multiplied ({int}x{int} and {int}x{int})")[
        "torch"
    ][0].since


def test_a_message_of_nobody_comes_from_nowhere():
    assert provenance("the frobnicator of the quux has been unplugged") == ()


def test_a_look_up_reads_few_blocks(monkeypatch):
    open_record.cache_clear()
    blocks = []
    real = zlib.decompress
    monkeypatch.setattr(store.zlib, "decompress", lambda data: blocks.append(len(data)) or real(data))
    explain_name_error("AttributeError", "module 'torch' has no attribute 'symeig'")
    assert len(blocks) <= 8
    assert sum(blocks) < Path(record_path("torch")).stat().st_size / 4


@pytest.mark.parametrize(
    ("name", "gone"), [("numpy.bool", "1.24"), ("numpy.int", "1.24"), ("PIL.Image.ANTIALIAS", "10.0")]
)
def test_names_that_getattr_served_are_gone_where_it_stops(name, gone):
    assert name_history(name).ranges[0].gone == gone


def test_a_function_that_only_raises_is_no_function_any_more():
    history = name_history("torch.symeig")
    assert history.removed[0].since == "2.0"
    assert "now removed" in history.removal


@pytest.mark.parametrize(
    ("message", "name", "gone"),
    [
        ("Trainer.__init__() got an unexpected keyword argument 'gpus'", "pytorch_lightning.Trainer", "2.0"),
        ("SFTTrainer.__init__() got an unexpected keyword argument 'dataset_text_field'", "trl.SFTTrainer", "0.13"),
        (
            "TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
            "transformers.TrainingArguments",
            "4.51",
        ),
        (
            "ReduceLROnPlateau.__init__() got an unexpected keyword argument 'verbose'",
            "torch.optim.lr_scheduler.ReduceLROnPlateau",
            "2.7",
        ),
    ],
)
def test_a_class_that_a_message_names_is_the_one_that_its_package_offers(message, name, gone):
    package = name.partition(".")[0]
    answer = explain_name_error("TypeError", message, Facts(packages=(package,)))
    assert (answer.verdict, answer.name, answer.gone) == ("removed", name, gone)


def test_a_name_that_is_elsewhere_is_imported_from_the_outermost_module():
    answer = explain_name_error("ImportError", "cannot import name 'Conv2d' from 'torch.nn.functional'")
    assert (answer.verdict, answer.moved_to[0]) == ("never", "torch.nn")
    assert "It is in `torch.nn`" in " ".join(answer_sentences(answer, "en"))


def test_a_name_that_only_raises_an_error_is_said_to():
    answer = explain_name_error("AttributeError", "module 'torch' has no attribute 'symeig'")
    said = "`torch.symeig` works in torch up to 1.13; since 2.0 it does nothing but raise an error."
    assert answer_sentences(answer, "en")[0] == said


@pytest.mark.parametrize(("name", "today"), [("gesv", "torch.linalg.solve"), ("gels", "torch.linalg.lstsq")])
def test_what_a_notice_recommends_is_followed_to_what_is_there_today(name, today):
    answer = explain_name_error("AttributeError", f"module 'torch' has no attribute '{name}'")
    assert answer.replacement == today


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("torch.nn.Sofmax", ("Softmax", "Softmax2d")), ("torch.nn.zzz", ()), ("nowhere.x", None), ("torch..x", None)],
)
def test_a_name_that_no_release_has_gets_the_nearest_spelling(name, nearest):
    answer = explain_missing_name(name)
    assert (answer.nearest if answer else None) == nearest


def test_a_module_of_a_private_subpackage_may_import_what_it_no_longer_defines():
    """functorch._src.vmap imports its names from torch._functorch since torch 2.0, and the record leaves that out."""
    assert name_history("functorch._src.vmap._flat_vmap").is_dynamic
    assert explain_name_error("ImportError", "cannot import name '_flat_vmap' from 'functorch._src.vmap'") is None


@pytest.mark.parametrize("method", ["add_", "view", "addmm"])
def test_methods_of_tensors_that_old_releases_do_not_show_may_be_older(method):
    first = name_history(f"torch.Tensor.{method}").ranges[0]
    assert first.is_unread
    assert range_text([first], "en") == f"since {first.since} at the latest"
    error = f"'Tensor' object has no attribute '{method}'"
    assert explain_name_error("AttributeError", error, Facts(versions={"torch": "1.0"})) is None


def test_a_method_is_as_old_as_its_class_although_the_class_moved_to_another_module():
    assert name_history("torch.Tensor.norm").ranges[0].is_first
    assert len(name_history("transformers.BertModel.forward").ranges) == 1
    assert name_history("torch.optim.lr_scheduler.LRScheduler.step").ranges[0].since == "2.0"


@pytest.mark.parametrize(("method", "since"), [("nan_to_num", "1.8"), ("adjoint", "1.11")])
def test_methods_of_tensors_are_as_old_as_they_are_although_their_base_class_was_renamed(method, since):
    assert name_history(f"torch.Tensor.{method}").ranges[0].since == since
