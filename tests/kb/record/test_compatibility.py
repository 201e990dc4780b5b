import pytest

from kb.record.compatibility import UnknownPackageError, fits
from kb.record.name_answer import Facts
from kb.record.requirement_errors import explain_requirement_error
from kb.record.requirements import ReleaseRequirements, all_requirements, read_metadata, save_requirements


def release(*requires, python=">=3.8", pythons=("cp310", "cp311"), cuda="", platforms=("linux",)):
    return ReleaseRequirements(python, requires, cuda, pythons, platforms)


@pytest.fixture(autouse=True)
def requirements(record_folder):
    save_requirements(
        {
            "torch": {
                "2.0.1": release(cuda="11.7"),
                "2.1.0": release(cuda="12.1"),
                "1.3.1": release(pythons=("cp37",), python=""),
            },
            "torchvision": {
                "0.15.2": release("torch==2.0.1"),
                "0.16.0": release("torch (==2.1.0)"),
                "0.2.0": release(),
            },
            "numpy": {"1.26.4": release(), "2.5.0": release(pythons=("cp314",))},
        }
    )


def pins(*names):
    return [found.versions for found in fits(names)]


def test_the_release_that_is_built_for_a_torch_is_found():
    assert pins("torch==2.0.1", "torchvision") == [{"torch": "2.0.1", "torchvision": "0.15.2"}]


def test_torch_alone_brings_what_is_pinned_to_it():
    (found,) = fits(["torch==2.1.0"])
    assert found.versions == {"torch": "2.1.0", "torchvision": "0.16.0"}
    assert (found.cuda, found.pythons) == ("12.1", ("3.10", "3.11"))


def test_a_companion_fits_only_the_torch_that_it_names():
    save_requirements(
        {
            "torch": {"1.12.1": release(), "2.4.1": release()},
            "xformers": {
                "0.0.13": release("torch (>=1.12)"),
                "0.0.28": release("torch==2.4.1"),
                "0.0.1": release("torch"),
            },
        }
    )
    all_requirements.cache_clear()
    assert pins("torch==2.4.1", "xformers") == [{"torch": "2.4.1", "xformers": "0.0.28"}]
    assert pins("torch==1.12.1", "xformers") == [{"torch": "1.12.1", "xformers": "0.0.13"}]


def test_what_says_nothing_of_the_others_or_has_no_wheels_is_named():
    save_requirements(
        {
            "torch": {"2.4.1": release()},
            "flash-attn": {"2.6.3": release("torch", pythons=(), platforms=())},
            "deepspeed": {"0.15.1": release("torch>=1.9")},
        }
    )
    all_requirements.cache_clear()
    (unsaid,), (bounded,) = fits(["torch==2.4.1", "flash-attn"]), fits(["torch==2.4.1", "deepspeed"])
    assert (unsaid.unknown, unsaid.source_only) == (("flash-attn",), ("flash-attn",))
    assert (bounded.unknown, bounded.source_only) == ((), ())


def test_releases_that_contradict_each_other_do_not_fit():
    assert pins("torch==2.0.1", "torchvision==0.16.0") == []


def test_releases_without_a_python_in_common_do_not_fit():
    assert pins("torch==2.1.0", "numpy") == [{"torch": "2.1.0", "numpy": "1.26.4"}]


def test_a_package_that_is_named_twice_has_to_meet_both():
    assert pins("torch>=2.0", "torch<2.1", "torchvision") == pins("torch>=2.0,<2.1", "torchvision") != []


def test_python_restricts_the_releases():
    assert fits(["torch"], "3.7")[0].versions["torch"] == "1.3.1"


@pytest.mark.parametrize("text", ["nonesuch", "torch=="])
def test_what_is_no_package_of_the_record_is_refused(text):
    with pytest.raises(UnknownPackageError):
        fits([text])


def test_a_conflict_that_pip_reports_is_answered_both_ways():
    answer = explain_requirement_error(
        "torchvision 0.15.2 requires torch==2.0.1, but you have torch 2.1.0+cu118 which is incompatible."
    )
    assert (answer.keep, answer.install, answer.instead) == (
        "torch==2.1.0",
        ("torchvision==0.16.0",),
        ("torch==2.0.1",),
    )


def test_a_release_that_pip_does_not_find_names_its_pythons():
    assert explain_requirement_error("ERROR: No matching distribution found for torch==1.3.1").pythons == ("3.7",)


def test_an_undefined_symbol_names_the_build_for_the_torch_that_is_there():
    message = "/x/site-packages/torchvision/_C.so: undefined symbol: _ZN3c10"
    assert explain_requirement_error(message, Facts({"torch": "2.1.0"})).install == ("torchvision==0.16.0",)


def test_metadata_is_read_without_extras():
    text = (
        "Metadata-Version: 2.1\nName: x\nRequires-Python: >=3.8\nRequires-Dist: torch==2.1.0\nRequires-Dist: scipy; extra == 'dev'\n"
        "Requires-Dist: nvidia-cuda-runtime-cu12==12.1.105; platform_system == 'Linux'\nRequires-Dist: filelock\n\nText"
    )
    needs = read_metadata(
        text, ["x-1-cp38-abi3-manylinux1_x86_64.whl", "x-1-cp310-cp310-win_amd64.whl"], ["torch", "scipy"]
    )
    assert needs == ReleaseRequirements(
        ">=3.8", ("torch==2.1.0",), "12.1", ("cp310", "cp38-abi3"), ("linux", "windows")
    )


def test_which_torch_a_package_wants_that_works_without_is_read_from_its_extra():
    metadata = "Name: x\nRequires-Dist: numpy; extra == 'dev'\nRequires-Dist: torch>=2.4; extra == \"torch\"\n"
    assert read_metadata(metadata, [], ["torch", "numpy"]).requires == ("torch>=2.4",)


def test_a_package_that_transformers_finds_too_new_is_answered_with_what_it_takes():
    save_requirements(
        {
            "tokenizers": {"0.13.3": release(), "0.15.2": release()},
            "transformers": {"4.30.2": release("tokenizers<0.14"), "4.2.0": release("tokenizers>=0.5")},
        }
    )
    all_requirements.cache_clear()
    message = (
        "tokenizers>=0.11,<0.14 is required for a normal functioning of this module, but found tokenizers==0.15.2."
    )
    answer = explain_requirement_error(message)
    assert (answer.install, answer.instead) == ((), ("tokenizers==0.13.3",))
    of_itself = "transformers>=4.2.0,<=4.30 is required for a normal functioning of this module, but found transformers==4.48.0."
    assert explain_requirement_error(of_itself) is None
