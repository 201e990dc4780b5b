"""`pytest --kb`: the answer under each failure, and one answer for the failures that share a cause.

Without `--kb` the plugin is an option and nothing more. A failure for which there is no answer looks as ever.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--kb`."""
    help_text = "answer PyTorch's errors under the failures that they cause"
    parser.getgroup("terminal reporting").addoption("--kb", action="store_true", help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    """Listen to failures if `--kb` is given."""
    if config.getoption("--kb"):
        from kb.integrations.pytest_answers import make_plugin

        config.pluginmanager.register(make_plugin(is_worker=hasattr(config, "workerinput")), "kb-answers")
