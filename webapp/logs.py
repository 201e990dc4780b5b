"""The log on standard error, for people or as JSON."""

from __future__ import annotations

import json
import logging
import time
import traceback

__all__ = ["configure", "places"]

_LOGGERS = ("webapp", "waitress")


def configure(style: str) -> None:
    """Write the log to standard error as `json` or `text`. `off` leaves warnings and errors."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonFormatter() if style == "json" else _TextFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
    logging.getLogger("webapp").setLevel(logging.WARNING if style == "off" else logging.INFO)
    logging.getLogger("waitress").setLevel(logging.WARNING)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # one line for each request that waits


def places(error: BaseException) -> str:
    """Return the kind of an exception and the code it came through, without its text, which may quote what was pasted."""
    frames = reversed(traceback.extract_tb(error.__traceback__)[-6:])
    return f"{type(error).__name__} at " + " < ".join(
        f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames
    )


class _Formatter(logging.Formatter):
    def message(self, record: logging.LogRecord) -> str:
        """Return the record's text. Of one with an exception only the kind and the places, because waitress puts the path beside it."""
        if record.exc_info and record.exc_info[1]:
            return places(record.exc_info[1])
        return record.getMessage()


class _JsonFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _utc(record), "level": record.levelname.lower()}
        return json.dumps(line | getattr(record, "fields", {"message": self.message(record)}), ensure_ascii=False)


class _TextFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", None)
        text = " ".join(str(value) for value in fields.values()) if fields else self.message(record)
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return f"{_utc(record)} {level}{text}"


def _utc(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
