"""`python -m kb torchrun …`: torchrun with kb in each process that it starts.

torchrun names a process in its report after the first argument that does not begin with a hyphen. So each process is started as `python -u -mkb train.py`,
and the report names train.py.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["launch"]


def launch(launcher: str, arguments: list[str]) -> None:
    """Run a launcher with these arguments in this process; what it ends with leaves as ever."""
    from importlib import import_module

    from torch.distributed import run

    plain = run.config_from_args

    def with_kb(args: Any) -> Any:
        config, command, command_arguments = plain(args)
        if command_arguments[:1] == ["-u"]:
            command_arguments.insert(1, "-mkb")
        return config, command, command_arguments

    sys.argv[:] = ["torchrun", *arguments]
    run.config_from_args = with_kb
    import_module(launcher).main(arguments)
