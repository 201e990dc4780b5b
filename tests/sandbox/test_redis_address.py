"""Addresses of a Redis: those that libraries would read otherwise than they are meant are refused, and no fault repeats one."""

import pytest

from sandbox.redis_address import AddressError, check_address


@pytest.mark.parametrize(
    "url",
    [
        "redis://host",
        "redis://host:6379/0",
        "redis://:pass@host:6379/15",
        "rediss://user:p%40ss%2Fword@[::1]:6379/0",
        "rediss://:a@b@host/0",
        f"rediss://:pass@host/0?ssl_ca_certs={__file__}&ssl_certfile={__file__}&ssl_keyfile={__file__}",
    ],
)
def test_an_address_is_taken_as_it_is(url):
    assert check_address(url) == url


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("", "write redis://"),
        ("amqp://:secret@host", "write redis://"),
        ("redis://", "cannot be read"),
        ("redis://:secret@", "cannot be read"),
        ("redis://:secret@host:port/0", "cannot be read"),
        ("redis://:secret@host:99999/0", "cannot be read"),
        ("redis://:sec/ret@host:6379/0", "write / as %2F"),
        ("redis://:12/34secret@host:6379/0", "cannot be read"),
        ("redis://:sec#ret@host:6379/0", "# as %23"),
        ("redis://:sec?ret@host:6379/0", "? as %3F"),
        ("redis://user:12?secret@host:6379/0", "cannot be read"),
        ("redis://[::1/secret", "cannot be read"),
        ("redis://:secret@host/database", "cannot be read"),
        ("rediss://:secret@host/0?ssl_cert_reqs=none", "always checked"),
        ("rediss://:secret@host/0?timeout=3", "after the question mark may stand"),
        ("rediss://:secret@host/0?ssl_ca_certs=/nowhere/secret.pem", "ssl_ca_certs names no file"),
        (f"redis://:secret@host/0?ssl_ca_certs={__file__}", "write rediss://"),
    ],
)
def test_another_is_refused_without_being_repeated(url, named):
    with pytest.raises(AddressError) as refused:
        check_address(url)
    assert named in str(refused.value)
    assert not {"secret", "ret@", "sec"} & set(str(refused.value).split())
    assert "secret" not in str(refused.value)
