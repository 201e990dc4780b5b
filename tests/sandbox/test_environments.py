"""What the files of an environment may say, and that it is built from them alone: wheels with the hashes of the lock."""

import pytest

import sandbox
from sandbox.builds import build, is_built, remove
from sandbox.environments import EnvironmentFault, Installation, parse_environment, shipped
from tests import tiny_environment

HASH = " \\\n    --hash=sha256:" + "0" * 64
GOOD = 'packages = ["kb-tiny>=1"]'
PROGRAM = "import sys, kbtiny\nprint(kbtiny.__file__)\n"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """An installation of the tiny environment that is not built yet; pip sees its wheel and nothing else."""
    wheel = tiny_environment.write_wheel(tmp_path / "wheels")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    environment = parse_environment("tiny-test", tiny_environment.definition(), tiny_environment.lock_of(wheel))
    return Installation(environment, tmp_path / "store")


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ("packages = [", "no TOML"),
        ("packages = []", "packages is a list"),
        ('packages = ["kb-tiny >"]', "no requirement"),
        ('packages = ["kb-tiny @ https://example.org/x.whl"]', "has an address"),
        (f"{GOOD}\nindex = 'x'", "unknown key 'index'"),
        (f"{GOOD}\n[modules]\nother = ['a']", "none of its packages"),
        (f"{GOOD}\n[modules]\nkb-tiny = ['a-b']", "a list of modules"),
        (f"{GOOD}\non_request = 1", "true or false"),
    ],
)
def test_a_definition_that_is_wrong_is_refused(definition, said):
    with pytest.raises(EnvironmentFault, match=said):
        parse_environment("tiny", definition, "")


@pytest.mark.parametrize(
    "line",
    [
        "kb-tiny==1",
        "kb-tiny>=1" + HASH,
        "--index-url https://example.org" + HASH,
        "-r /etc/passwd",
        "kb-tiny @ https://example.org/x.whl" + HASH,
        "kb-tiny==1 ; import os" + HASH,
        "kb-tiny==1" + HASH + " \\\n    --pre",
    ],
)
def test_a_lock_holds_versions_with_hashes_and_nothing_else(line):
    with pytest.raises(EnvironmentFault) as refused:
        parse_environment("tiny", GOOD, "a==1" + HASH + "\n" + line + "\n")
    assert (refused.value.is_lock, refused.value.line) == (True, 3)


def test_a_name_that_is_a_path_is_refused():
    with pytest.raises(EnvironmentFault, match="no name"):
        parse_environment("../tiny", GOOD, "")


def test_another_lock_is_another_environment():
    first, second = (parse_environment("tiny", GOOD, f"kb-tiny=={version}{HASH}\n") for version in ("1.5", "1.6"))
    assert first.digest != second.digest
    assert first.versions == {"kb-tiny": "1.5"}


def test_the_environments_that_ship_are_locked_and_fit_the_sandboxs_torch():
    environments = shipped()
    for environment in environments:
        assert environment.versions.keys() == environment.packages.keys(), f"kb env lock {environment.name}"
        for name, requirement in environment.packages.items():
            assert requirement.specifier.contains(environment.versions[name], prereleases=True), name
        pinned = {pin.name for pin in environment.pins}
        assert ("torch" in pinned) == environment.has_own_torch
    assert {environment.name for environment in environments if not environment.on_request} == {"ecosystem"}


@pytest.mark.slow
def test_it_is_built_once_and_programs_import_from_it(tiny):
    said = []
    assert not is_built(tiny, "process")
    build(tiny, "process", said.append)
    build(tiny, "process", said.append)
    assert said == ["installing the 1 packages of tiny-test …"]
    (outcome,) = sandbox.run(
        [sandbox.Program(PROGRAM)], backend="process", preload=(), environment=tiny, packages=["kb-tiny", "no-such"]
    )
    assert outcome.stdout.strip() == str(tiny.packages() / "kbtiny" / "__init__.py")
    assert outcome.versions["kb-tiny"] == "1.5"
    assert "no-such" not in outcome.versions
    assert remove(tiny)
    assert not is_built(tiny, "process")


def test_without_it_nothing_runs(tiny):
    with pytest.raises(sandbox.BackendUnavailable, match="of an environment"):
        sandbox.run([sandbox.Program(PROGRAM)], backend="process", environment=tiny)


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("bubblewrap", "docker")]
)
def test_a_sandbox_has_it_read_only(tiny, backend):
    build(tiny, backend)
    try:
        write = "import kbtiny, pathlib\npathlib.Path(kbtiny.__file__).write_text('')\n"
        refused, plain = sandbox.run(
            [sandbox.Program(write), sandbox.Program(PROGRAM)], backend=backend, preload=(), environment=tiny
        )
        assert refused.raised.type in ("OSError", "PermissionError")
        assert plain.passed
    finally:
        remove(tiny)


@pytest.mark.slow
def test_a_wheel_that_is_not_the_locked_one_is_refused(tiny, tmp_path):
    other = parse_environment("tiny-test", tiny_environment.definition(), f"kb-tiny==1.5{HASH}\n")
    with pytest.raises(sandbox.SandboxError, match="pip cannot install"):
        build(Installation(other, tmp_path / "store"), "process")
    assert not any((tmp_path / "store").iterdir())


@pytest.mark.slow
def test_a_module_that_no_package_brings_is_refused(tiny, tmp_path):
    pins = tiny.environment.pins
    wrong = parse_environment(
        "tiny-test",
        tiny_environment.definition("elsewhere"),
        "\n".join(str(pin).replace(" --", " \\\n --") for pin in pins),
    )
    with pytest.raises(sandbox.SandboxError, match="imported as elsewhere"):
        build(Installation(wrong, tmp_path / "store"), "process")
