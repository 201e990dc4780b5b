"""List the files of a package on the package index, and download them, with pip's own client.

This is the only module that touches pip's internals, which are no stable interface. `pip download` itself is not used because it runs the `setup.py`
of a source archive to learn its metadata, and the record never runs what it reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PackageIndex", "RemoteFile", "open_index"]


class RemoteFile(NamedTuple):
    """A file on the package index. `requires_python` is a specifier or empty; `link` is pip's own object for it."""

    filename: str
    requires_python: str
    is_yanked: bool
    sha256: str
    link: Any


class PackageIndex:
    """The package index that pip is set up to use."""

    def __init__(self, session: Any, collector: Any) -> None:
        self._session, self._collector = session, collector

    def files(self, package: str) -> list[RemoteFile]:
        """Return every wheel and source archive of the package. An index that does not have the package contributes none."""
        from pip._internal.index.collector import parse_links
        from pip._internal.models.link import Link

        files = {}
        for url in self._collector.search_scope.get_index_urls_locations(package):
            response = None if url.startswith("file:") else self._collector.fetch_response(Link(url))
            for link in parse_links(response) if response is not None else ():
                digest = (link._hashes or {}).get("sha256", "")  # noqa: SLF001 - public only in newer versions of pip
                files[link.filename] = RemoteFile(
                    link.filename, link.requires_python or "", link.is_yanked, digest, link
                )
        return list(files.values())

    def upload_times(self, package: str) -> dict[str, str]:
        """Return when each file of the package was uploaded, by its name; empty where the index does not say it."""
        from pip._internal.models.link import Link

        times: dict[str, str] = {}
        for url in self._collector.search_scope.get_index_urls_locations(package):
            response = None if url.startswith("file:") else self._collector.fetch_response(Link(url))
            if response is not None and response.content_type.lower().startswith("application/vnd.pypi.simple.v1+json"):
                files = json.loads(response.content)["files"]
                times |= {file["filename"]: file["upload-time"] for file in files if "upload-time" in file}
        return times

    def metadata(self, file: RemoteFile) -> str:
        """Return the core metadata of a wheel, of which only the end is fetched; empty where the index cannot do that."""
        from zipfile import BadZipFile, ZipFile

        from pip._internal.exceptions import NetworkConnectionError
        from pip._internal.network.lazy_wheel import HTTPRangeRequestUnsupported, LazyZipOverHTTP

        try:
            with LazyZipOverHTTP(file.link.url_without_fragment, self._session) as lazy, ZipFile(lazy) as archive:
                names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
                return archive.read(names[0]).decode("utf-8", "replace") if names else ""
        except (HTTPRangeRequestUnsupported, NetworkConnectionError, BadZipFile):
            return ""

    def download(self, file: RemoteFile, folder: Path) -> Path:
        """Download a file into the folder, unless it is there, and return its path. Raises ValueError if its hash is not the index's."""
        target = folder / file.filename
        if target.exists() and file.sha256 in ("", hashlib.sha256(target.read_bytes()).hexdigest()):
            return target
        from pip._internal.network.utils import HEADERS, raise_for_status

        response = self._session.get(file.link.url_without_fragment, headers=HEADERS, stream=True)
        raise_for_status(response)
        digest, partial = hashlib.sha256(), target.with_suffix(".part")
        with partial.open("wb") as output:
            for chunk in response.iter_content(1 << 20):
                digest.update(chunk)
                output.write(chunk)
        if file.sha256 and digest.hexdigest() != file.sha256:
            partial.unlink()
            raise ValueError(f"{file.filename}: its SHA-256 is not the index's; download it again")
        return partial.rename(target)


@contextmanager
def open_index() -> Iterator[PackageIndex]:
    """Open a session with the index; pip's configuration says which one, through which proxy, with which certificates."""
    from pip._internal.commands import create_command
    from pip._internal.index.collector import LinkCollector

    command: Any = create_command("download", isolated=False)
    options, _ = command.parse_args(["pip", "--quiet", "--no-cache-dir"])
    with command.main_context():
        session = command.get_default_session(options)
        yield PackageIndex(session, LinkCollector.create(session, options=options))
