"""The request class: bodies of bounded length, forms of few fields, JSON of few containers."""

from __future__ import annotations

from io import BytesIO
from typing import IO, Any

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from webapp.settings import MAX_TEXT_BYTES

__all__ = ["MAX_BODY_BYTES", "MAX_FORM_FIELDS", "MAX_JSON_CONTAINERS", "BoundedRequest"]

_FORM_OVERHEAD = 16 << 10
"""Bytes of a request's body around the text: field names, boundaries, JSON."""
_ESCAPED_SIZE = 3
"""Factor by which a text may grow on the way, because a form without multipart writes a byte as %XX."""
MAX_BODY_BYTES = MAX_TEXT_BYTES * _ESCAPED_SIZE + _FORM_OVERHEAD
MAX_FORM_FIELDS = 100
"""Fields of a form. The site's own forms have at most three, and a million empty ones would take hundreds of MiB once parsed."""


MAX_JSON_CONTAINERS = 100
"""Lists and objects in a JSON body. The API takes one object, and parsing a million empty lists would occupy the interpreter for half a second."""
MAX_JSON_STRINGS = 1000


class _BoundedFormParser(FormDataParser):
    """Werkzeug limits the parts of a multipart form but not the fields of a plain one."""

    def parse(
        self, stream: IO[bytes], mimetype: str, content_length: int | None, options: dict[str, str] | None = None
    ) -> Any:
        """Parse a form. Raises RequestEntityTooLarge for one with too many fields."""
        if mimetype == "application/x-www-form-urlencoded":
            body = stream.read()
            if body.count(b"&") >= MAX_FORM_FIELDS:
                raise RequestEntityTooLarge
            stream = BytesIO(body)
        return super().parse(stream, mimetype, content_length, options)


class BoundedRequest(Request):
    """A request whose form has at most `MAX_FORM_FIELDS` fields. `MAX_CONTENT_LENGTH` bounds its body."""

    form_data_parser_class = _BoundedFormParser
    max_form_parts = MAX_FORM_FIELDS

    def json_object(self) -> dict[str, Any] | None:
        """Return the JSON object in the body; None where it is no JSON in UTF-8, no object, or has too many or too deep containers."""
        if not _is_simple_json(self.get_data()):
            return None
        document = self.get_json(silent=True)
        return document if isinstance(document, dict) else None


def _is_simple_json(body: bytes) -> bool:
    """Return whether JSON has few containers and strings. What is no JSON may count as either. The work is linear in its length."""
    if b"\0" in body:  # UTF-16 or UTF-32, in which the bytes below mean something else
        return False
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 2 * MAX_JSON_STRINGS:
        return False
    outside_strings = unescaped.split(b'"')[::2]
    return sum(part.count(b"[") + part.count(b"{") for part in outside_strings) <= MAX_JSON_CONTAINERS
