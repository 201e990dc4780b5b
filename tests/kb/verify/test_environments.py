"""An entry that requires packages runs in the environment that has them, which its own folder may bring, and says so where that is not built."""

import pytest

from kb.cli import main
from kb.corpus.ledger import load_ledgers, write_records
from kb.lint.linter import check
from kb.verify.case_runner import run_case
from kb.verify.environments import NotBuilt
from kb.verify.recording import to_record
from kb.verify.verifier import RunOptions, select, verify
from tests import tiny_environment
from tests.entry_factory import Programs

PROCESS = RunOptions(backend="process")


@pytest.fixture
def tiny_entries(entries, tmp_path, monkeypatch):
    """A folder with an environment of its own, and an entry that requires its package."""
    tiny_environment.write_entries(entries, tmp_path, monkeypatch)
    return entries


def rules(entries):
    return [(fault.rule, fault.what) for fault in check(entries.corpus())]


@pytest.fixture
def built(tiny_entries):
    """The folder after `kb env build`."""
    assert main(["env", "build", "tiny-own"]) == 0
    return tiny_entries


def test_what_is_not_built_is_not_run_and_says_how_to_build_it(tiny_entries):
    corpus = tiny_entries.corpus()
    (case,) = select(corpus)
    (verdict,) = verify(corpus, [case], tiny_entries.index(), options=PROCESS).verdicts
    assert (verdict.outcome, verdict.reason) == (
        "not run here",
        "the environment tiny-own is not built; kb env build tiny-own builds it",
    )
    with pytest.raises(NotBuilt, match="kb env build tiny-own"):
        run_case(case, backend="process")


@pytest.mark.docker
@pytest.mark.torch
def test_it_is_proved_with_the_versions_that_it_ran_with(built):
    corpus = built.corpus()
    (case,) = select(corpus)
    try:
        done = verify(corpus, [case], built.index())
        assert done.proved
        assert ", kb-tiny 1.5 in docker" in str(done.environment)
        write_records(built.folder, {case.id: to_record(done.verdicts[0])}, [case])
        (record,) = load_ledgers([built.folder]).records(case)
        assert dict(record.packages) == {"kb-tiny": "1.5"}
    finally:
        main(["env", "remove", "tiny-own"])


@pytest.mark.torch
@pytest.mark.bubblewrap
def test_a_reader_runs_it(built):
    (case,) = select(built.corpus())
    outcomes = run_case(case, backend="bubblewrap")
    assert (outcomes["repro"].raised.type, outcomes["fix"].passed) == ("ValueError", True)
    main(["env", "remove", "tiny-own"])


def test_an_entry_that_requires_what_its_folder_has_keeps_every_rule(tiny_entries):
    assert rules(tiny_entries) == []


@pytest.mark.parametrize(
    ("requires", "rule", "said"),
    [
        (["kb-tiny>=1", "no-such-package"], "KB090", "no environment has no-such-package"),
        (["kb-tiny>=2"], "KB090", "has kb-tiny 1.5, which '>=2' leaves out"),
        (["kb-tiny>=1", "transformers"], "KB090", "together"),
        ([], "KB029", "imports kbtiny, which the sandbox does not have"),
        (["peft"], "KB029", "imports kbtiny, which `requires` does not name"),
    ],
)
def test_what_is_required_is_in_an_environment_and_what_is_imported_is_required(tiny_entries, requires, rule, said):
    cases = [Programs(repro=tiny_environment.REPRO, fix=tiny_environment.FIX)]
    tiny_entries.write(requires=requires, messages=tiny_environment.MESSAGES, cases=cases)
    assert any(found == rule and said in what for found, what in rules(tiny_entries)), rules(tiny_entries)


def test_what_needs_a_gpu_may_require_what_its_reader_has(tiny_entries):
    cases = [
        Programs("sizes", "device=cuda", repro="import flash_attn\n\nflash_attn.run()\n", fix=tiny_environment.FIX)
    ]
    tiny_entries.write(requires=["flash-attn"], messages=tiny_environment.MESSAGES, cases=cases)
    assert "KB090" not in dict(rules(tiny_entries))


@pytest.mark.parametrize(
    ("file", "text", "where"),
    [
        ("environments/tiny-own.txt", "-r /etc/passwd\n", "tiny-own.txt"),
        ("environments/tiny-own.txt", "", "tiny-own.toml"),
        ("environments/tiny-own.toml", "packages = 3\n", "tiny-own.toml"),
    ],
)
def test_an_environment_that_is_wrong_is_a_fault_of_its_file(tiny_entries, file, text, where):
    tiny_entries.write_file(file, text)
    (fault,) = [fault for fault in check(tiny_entries.corpus()) if fault.rule == "KB053"]
    assert fault.path.endswith(where)


def test_a_link_out_of_the_folder_is_not_read(tiny_entries, tmp_path):
    (tmp_path / "secret.toml").write_text(tiny_environment.definition())
    (tiny_entries.folder / "environments" / "other.toml").symlink_to(tmp_path / "secret.toml")
    (fault,) = [fault for fault in check(tiny_entries.corpus()) if fault.rule == "KB053"]
    assert "leads out of its folder" in fault.what


@pytest.mark.docker
@pytest.mark.torch
def test_an_entry_is_begun_from_a_script_in_its_environment(tiny_entries, tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(tiny_environment.REPRO)
    monkeypatch.delenv("KB_CACHE")  # there is an index of the entries that ship
    assert main(["env", "build", "tiny-own"]) == 0
    monkeypatch.delenv("KB_ENTRIES")
    try:
        assert (
            main(
                [
                    "new",
                    "--from",
                    str(script),
                    "--into",
                    str(tiny_entries.folder),
                    "--topic",
                    "tensors",
                    "--slug",
                    "tiny-odd",
                ]
            )
            == 0
        )
        text = tiny_entries.folder.joinpath("tensors", "tiny-odd.md").read_text("utf-8")
        assert "requires: [kb-tiny]" in text
        assert "tiny refuses a size of {int}, which is odd" in text
    finally:
        monkeypatch.setenv("KB_ENTRIES", str(tiny_entries.folder))
        main(["env", "remove", "tiny-own"])


def test_environments_are_listed_with_what_they_hold(tiny_entries, capsys):
    assert main(["env"]) == 0
    shown = capsys.readouterr().out
    assert "not built: kb env build tiny-own" in shown
    assert "kb-tiny 1.5" in shown
    assert "transformers " in shown


def test_an_unknown_environment_is_named_with_those_that_resemble_it(capsys):
    assert main(["env", "build", "ecosysten"]) == 2
    assert "did you mean ecosystem?" in capsys.readouterr().err
