"""What a request may hold: bodies and forms are bounded, and a hostile one is refused and not a fault of the server."""

import pytest

from webapp.request import MAX_BODY_BYTES, MAX_FORM_FIELDS, MAX_JSON_CONTAINERS

PLAIN = "application/x-www-form-urlencoded"


def test_a_form_of_very_many_fields_is_refused(client):
    fields = "&".join(f"field{number}=" for number in range(MAX_FORM_FIELDS - 1))
    assert client.post("/", data=f"{fields}&text=", content_type=PLAIN).status_code == 200
    assert client.post("/", data=f"{fields}&text=&one_more=", content_type=PLAIN).status_code == 413


def test_a_multipart_form_of_very_many_parts_is_refused(client):
    part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'
    body = part * (MAX_FORM_FIELDS + 1) + "--x--\r\n"
    assert client.post("/", data=body, content_type="multipart/form-data; boundary=x").status_code == 413


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", PLAIN),
        ("/", "multipart/form-data; boundary=x"),
        ("/api/v1/lookup", "text/plain"),
        ("/api/v1/lookup", "application/json"),
    ],
)
def test_a_body_above_the_limit_is_refused(client, path, kind):
    assert client.post(path, data=b"a" * (MAX_BODY_BYTES + 1), content_type=kind).status_code == 413


@pytest.mark.parametrize("body", ["[" * 100_000, '{"text": ' * 100_000, '{"text": ' + "[" * 5000 + "]" * 5000 + "}"])
def test_deep_json_is_a_mistake_of_the_client(client, body):
    response = client.post("/api/v1/lookup", data=body, content_type="application/json")
    assert response.status_code in (400, 422)
    assert response.mimetype == "application/problem+json"


def test_json_of_very_many_lists_is_not_even_parsed(client):
    def send(count):
        text = r"brackets in a text do not count, whatever is escaped: [{ \" \\ \\\" " * 1000
        return client.post("/api/v1/lookup", json={"text": text, "unknown": [[]] * (count - 2)}).status_code

    assert [send(MAX_JSON_CONTAINERS), send(MAX_JSON_CONTAINERS + 1)] == [200, 400]
    for encoding in ("utf-16", "utf-32"):
        body = '{"text": "\\"", "unknown": [[]]}'.encode(encoding)
        assert client.post("/api/v1/lookup", data=body, content_type="application/json").status_code == 400


@pytest.mark.parametrize("body", [b"\xff\xfe", b'{"text": "\\ud800"}', b'{"text": 1' + b"0" * 5000 + b"}", b"null"])
def test_odd_json_is_no_fault_of_the_server(client, body):
    assert client.post("/api/v1/lookup", data=body, content_type="application/json").status_code < 500
