"""A package made for the tests, a wheel of it, and an environment of a folder of entries that has it: built without a network."""

import base64
import hashlib
import zipfile
from pathlib import Path

from tests.entry_factory import Programs

SOURCE = 'def refuse(size):\n    raise ValueError(f"tiny refuses a size of {size}, which is odd")\n'
REPRO = "import kbtiny\n\nkbtiny.refuse(3)\n"
FIX = "import kbtiny\nimport torch\n\nassert torch.ones(4).numel() == 4\nassert kbtiny.__name__.islower()\n"
MESSAGES = ["ValueError: tiny refuses a size of {size:int}, which is odd"]


def write_wheel(
    folder: Path, version: str = "1.5", *, name: str = "kb_tiny", module: str = "kbtiny", source: str = SOURCE
) -> Path:
    """Write a wheel of one module: kb-tiny, which is imported as kbtiny, where no other is asked for."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{module}/__init__.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{name},sha256={_digest(text)},{len(text)}" for name, text in files.items()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for path_inside, text in files.items():
            wheel.writestr(path_inside, text)
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return path


def lock_of(wheel: Path, version: str = "1.5") -> str:
    """Return the lock that pins this wheel."""
    return f"kb-tiny=={version} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def definition(modules: str = "kbtiny") -> str:
    """Return the definition of the environment."""
    return f'packages = ["kb-tiny>=1"]\n\n[modules]\nkb-tiny = ["{modules}"]\n\n[preload]\nkb-tiny = ["kbtiny"]\n'


def write_entries(entries, tmp_path: Path, monkeypatch) -> None:
    """Write a folder with the environment tiny-own, and an entry that requires its package; pip finds that without a network."""
    wheel = write_wheel(tmp_path / "wheels")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    monkeypatch.setenv("KB_CACHE", str(tmp_path / "cache"))
    entries.write_file("environments/tiny-own.toml", definition())
    entries.write_file("environments/tiny-own.txt", lock_of(wheel))
    cases = [Programs(repro=REPRO, fix=FIX)]
    entries.write(requires=["kb-tiny>=1"], messages=MESSAGES, cases=cases)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
