"""HTTP requests as bytes: what readers and programs send to the server, and tracebacks of which no two are alike."""

from collections.abc import Iterator
from itertools import count
from urllib.parse import urlencode

PASTE = """Traceback (most recent call last):
  File "/home/me/train.py", line 88, in <module>
    main()
  File "/home/me/train.py", line 41, in main
    out = model(x)
  File "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (48x300 and 512x10)
"""
URLENCODED = "application/x-www-form-urlencoded"


def get(path: str, *headers: str) -> bytes:
    """Return a GET request."""
    return _request("GET", path, headers)


def post(path: str, content_type: str, body: bytes, *headers: str) -> bytes:
    """Return a POST request with its body."""
    return _request("POST", path, (f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *headers)) + body


def page_lookup(paste: str, *headers: str) -> bytes:
    """Return the request that the page's script sends for a paste."""
    return post("/", URLENCODED, urlencode({"text": paste}).encode(), *headers)


def api_lookup(paste: str) -> bytes:
    """Return the request that a program sends for a paste."""
    return post("/api/v1/lookup", "text/plain", paste.encode())


def new_pastes() -> Iterator[str]:
    """Yield tracebacks of which no two are alike: another line and other sizes each time."""
    for number in count():
        yield PASTE.replace("line 41", f"line {number}").replace("48x300", f"{number % 97 + 1}x{number}")


def _request(method: str, path: str, headers: tuple[str, ...]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", "Accept-Language: en", *headers]
    return "\r\n".join([*lines, "", ""]).encode()
