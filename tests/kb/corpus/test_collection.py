"""A folder of entries has a name and may ask for an image of its own; what runs its cases gives it that image, and nothing else changes."""

import pytest

import sandbox
from kb.corpus.collection import Settings, origin, read_settings
from kb.corpus.ledger import program_hash
from kb.corpus.loader import load
from kb.index.manager import open_index
from kb.lint.autofix import repair
from kb.lint.linter import check
from kb.verify.case_runner import run_case
from kb.verify.verifier import RunOptions, select, verify
from tests.entry_factory import EntryFactory
from webapp import create_app
from webapp.snapshot import SnapshotProvider


@pytest.fixture
def make_folder(tmp_path):
    """Write a folder with one entry and give it this `kb.yaml`."""

    def make(name, slug="add-two", text=None):
        entries = EntryFactory(tmp_path / name)
        entries.write(slug)
        if text is not None:
            entries.write_file("kb.yaml", text)
        return entries.folder

    return make


@pytest.fixture
def asked(monkeypatch):
    """What the sandbox is asked for: (image, backend, program names) of each call; every program ends as if it had been cancelled."""
    calls = []

    def run(programs, *, image, backend, **options):
        calls.append((image, backend, sorted(program.name for program in programs)))
        outcomes = [sandbox.Outcome(program.name, "refused") for program in programs]
        for place, outcome in enumerate(outcomes):
            if heard := options.get("on_outcome"):
                heard(place, outcome)
        return outcomes

    monkeypatch.setattr("sandbox.run", run)
    return calls


def test_a_folder_without_settings_is_called_by_its_own_name(make_folder):
    assert read_settings(make_folder("team")) == (Settings("team"), [])


def test_settings_are_read(make_folder):
    folder = make_folder("team", text="name: Vision team\nimage: registry.example.org/vision/torch:2.13\n")
    assert read_settings(folder) == (Settings("Vision team", "registry.example.org/vision/torch:2.13"), [])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name: a\nimages: b\n", 2, "unknown key 'images'"),
        ("name: a\nimage: -v/:/host\n", 2, "image takes"),
        ("name: [a]\n", 1, "name takes"),
        ("- name\n", 1, "no settings"),
        ("name: a\nimage: 'b\n", 3, "no YAML"),
        ("name: a\nname: b\n", 2, "is there twice"),
        ("name: 2024-01-01\n", 1, "a date"),
        ("name: &a x\nimage: *a\n", 2, "write it out"),
    ],
)
def test_what_is_wrong_with_them_is_a_fault_and_nothing_of_it_is_used(make_folder, text, line, said):
    folder = make_folder("team", text=text)
    corpus = load([folder])
    (fault,) = [fault for fault in check(corpus) if fault.rule == "KB051"]
    assert (fault.line, fault.path) == (line, str(folder / "kb.yaml"))
    assert said in fault.what
    assert [case.image for entry in corpus for case in entry.cases] == [""]


def test_where_an_entry_comes_from(make_folder, corpus):
    entry = load([make_folder("team", text="name: Vision team\n")]).entries["add-two"]
    assert origin(entry) == "Vision team"
    assert origin(next(iter(corpus))) == ""


def test_an_image_changes_no_badge(make_folder):
    (plain,) = load([make_folder("plain")]).entries["add-two"].cases
    (own,) = load([make_folder("own", text="image: own\n")]).entries["add-two"].cases
    assert (own.image, plain.image) == ("own", "")
    assert program_hash(own) == program_hash(plain)


def test_every_case_runs_in_the_image_of_its_folder(make_folder, asked, tmp_path):
    folders = [
        make_folder("own", "a-own", "image: own\n"),
        make_folder("plain", "b-plain"),
        make_folder("other", "c-other", "image: other\n"),
    ]
    corpus = load(folders)
    done = verify(
        corpus, select(corpus), open_index(folders, tmp_path / "cache"), options=RunOptions(isolation="corpus")
    )
    plain = (None, "auto", ["b-plain/sizes:fix", "b-plain/sizes:repro"])
    other = ("other", "docker", ["c-other/sizes:fix", "c-other/sizes:repro"])
    own = ("own", "docker", ["a-own/sizes:fix", "a-own/sizes:repro"])
    assert asked == [
        *(plain, other, own),
        *(own, plain, other),  # once more, in the order of the cases, because all failed
    ]
    assert [verdict.subject.entry for verdict in done.verdicts] == ["a-own", "b-plain", "c-other"], (
        "in the order asked for"
    )


def test_an_image_or_a_sandbox_asked_for_by_name_wins(make_folder, asked, tmp_path):
    folders = [make_folder("own", "a-own", "image: own\n"), make_folder("plain", "b-plain")]
    corpus, index = load(folders), open_index(folders, tmp_path / "cache")
    verify(corpus, select(corpus), index, options=RunOptions(isolation="corpus", image="mine", backend="bubblewrap"))
    together, *again = [(image, backend) for image, backend, _ in asked]
    assert together == ("mine", "bubblewrap")
    assert again == [together] * 2  # once more for each case, because both failed


def test_kb_run_uses_it_too(make_folder, asked):
    (case,) = load([make_folder("own", text="image: own\n")]).entries["add-two"].cases
    run_case(case)
    assert [(image, backend) for image, backend, _ in asked] == [("own", "docker")]


def test_a_folder_may_link_to_entries_of_another_which_stay_as_they_are(make_folder):
    folders = [make_folder("shipped", "b-plain"), make_folder("own", "a-own")]
    path = folders[1] / "tensors" / "a-own.md"
    path.write_text(path.read_text("utf-8").replace("\nkind:", "\nrelated: [b-plain]\nkind:"), "utf-8")
    corpus = load(folders)
    assert [fault for fault in check(corpus) if fault.rule == "KB040"] == []
    assert repair(corpus) == []


@pytest.mark.docker
def test_the_programs_of_a_folder_really_run_in_its_image(make_folder, tmp_path):
    import docker

    client = docker.APIClient(version="auto")
    client.tag("kb-sandbox", "kb-test-own", "1")
    try:
        folders = [make_folder("own", text="image: kb-test-own:1\n")]
        corpus = load(folders)
        done = verify(corpus, select(corpus), open_index(folders, tmp_path / "cache"))
        assert (done.proved, done.environment.backend) == (True, "docker")
    finally:
        client.remove_image("kb-test-own:1")
        client.close()


@pytest.mark.docker
def test_an_image_that_is_not_there_is_not_fetched(make_folder, tmp_path):
    folders = [make_folder("own", text="image: kb-test-none:1\n")]
    corpus = load(folders)
    with pytest.raises(sandbox.BackendUnavailable, match="kb-test-none:1"):
        verify(corpus, select(corpus), open_index(folders, tmp_path / "cache"))


def test_the_page_says_where_an_entry_comes_from(make_folder):
    folders = [make_folder("own", text="name: Vision team\n")]
    client = create_app({"SNAPSHOTS": SnapshotProvider(folders, refresh_seconds=0), "RATE": ""}).test_client()
    assert "From Vision team" in client.get("/e/add-two?lang=en").text
    assert "来自 Vision team" in client.get("/e/add-two?lang=zh").text
