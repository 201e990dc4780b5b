"""Content that is sent again and again: kept with its hash and packed once, sent as the client can read it, or not at all if it has it."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from http import HTTPStatus
from typing import NamedTuple

from flask import Response, request

__all__ = ["Stored", "send", "store"]


class Stored(NamedTuple):
    """Content, the same packed by gzip, the hash of it, and the headers that go with it."""

    body: bytes
    packed: bytes
    digest: str
    headers: tuple[tuple[str, str], ...]


def store(body: bytes, headers: Iterable[tuple[str, str]]) -> Stored:
    """Return the content ready to be sent; `headers` may not hold ETag or Content-Encoding."""
    return Stored(
        body, gzip.compress(body, 9, mtime=0), hashlib.blake2b(body, digest_size=12).hexdigest(), tuple(headers)
    )


def send(content: Stored) -> Response:
    """Answer the current request with the content: 304 when the client has it, packed when it can unpack."""
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    etag = f'"{content.digest}{"-gzip" if packed else ""}"'
    headers = [*content.headers, ("ETag", etag)]
    if etag in request.headers.get("If-None-Match", ""):
        return Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    if packed:
        return Response(content.packed, headers=[*headers, ("Content-Encoding", "gzip")])
    return Response(content.body, headers=headers)
