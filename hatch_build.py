"""Build the index of the entries into the wheel, so the first look-up after an installation needs no build."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IndexBuildHook(BuildHookInterface):
    """Adds `kb/_index` to a wheel. An editable installation builds its index from the checkout when it is first asked."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the index in a temporary folder and include it."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from kb.index.builder import build_for_package

        self._folder = tempfile.TemporaryDirectory(prefix="kb-index-")
        place = Path(self._folder.name, "index")
        place.mkdir()
        build_for_package(Path(self.root, "entries"), place)
        build_data["force_include"][str(place)] = "kb/_index"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling calls it
        """Remove the temporary folder."""
        if version != "editable":
            self._folder.cleanup()
