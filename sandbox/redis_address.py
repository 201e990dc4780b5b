"""The address of a Redis as an operator writes it: checked before anything connects, and repeated in no message, because it may hold a password."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

__all__ = ["AddressError", "check_address", "why_refused"]

_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
"""What may follow the question mark of a `rediss://` address: the certificates to trust, and this machine's own with its key."""


class AddressError(ValueError):
    """An address cannot be used. The text says what to write instead, without the address."""


def check_address(url: str) -> str:
    """Return the address of a Redis unchanged. Raises AddressError for one that the libraries would read in another way than it is meant, or not at all.

    `rediss://` is TLS. The certificate is always checked, against the system's authorities or those of `ssl_ca_certs`.
    """
    if not url.startswith(("redis://", "rediss://")):
        raise AddressError("write redis://:PASSWORD@HOST:6379/0, or rediss:// for TLS")
    try:
        parts = urlsplit(url)
        has_host = parts.port != 0 and bool(parts.hostname)
        parameters = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        has_host, parameters = False, []
    if not has_host or "#" in url or not re.fullmatch(r"/?\d{0,5}", parts.path, re.ASCII):
        raise AddressError("it cannot be read; write / as %2F in a password, # as %23, ? as %3F, @ as %40 and % as %25")
    for name, value in parameters:
        if name == "ssl_cert_reqs":
            raise AddressError("the certificate is always checked; leave ssl_cert_reqs out")
        if name not in _FILES:
            raise AddressError(f"after the question mark may stand {', '.join(_FILES)}")
        if parts.scheme != "rediss":
            raise AddressError(f"{name} needs TLS; write rediss://")
        if not Path(value).is_file():
            raise AddressError(f"{name} names no file on this machine")
    return url


def why_refused(error: BaseException | None) -> str:
    """Return why this Redis will go on to refuse the address, as an exception of redis or kombu tells it; empty where it may only be away."""
    from redis.exceptions import AuthenticationError, NoPermissionError

    while error is not None:
        if isinstance(error, AuthenticationError | NoPermissionError):
            return "refuses the password"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"has a certificate that is not trusted ({error.verify_message}); ssl_ca_certs=FILE in the address names its authority"
        error = error.__cause__ or error.__context__
    return ""
