"""No page of another site can start or change anything here."""

import pytest

FORM = {"entry": "quiet-broadcast", "helped": "yes"}


@pytest.fixture
def client(make_app, tmp_path):
    return make_app(MISSES=str(tmp_path / "misses.sqlite"), URL="https://tools.example/kb").test_client()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),  # a program
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "none"}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://tools.example"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": "https://tools.example"}, 303),  # the public address
        ({"Origin": "http://localhost"}, 303),  # the address that was asked
        ({"Origin": "https://localhost"}, 403),
        ({"Origin": "http://localhost:8001"}, 403),
        ({"Origin": "https://tools.example.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
    ],
)
def test_a_form_is_taken_from_this_sites_own_pages_and_from_programs(client, headers, status):
    assert client.post("/helped", data=FORM, headers=headers).status_code == status


def test_a_forged_host_of_an_untrusted_client_names_no_origin_but_its_own(client):
    headers = {"X-Forwarded-Host": "evil.example", "Origin": "http://evil.example"}
    assert client.post("/helped", data=FORM, headers=headers).status_code == 403


def test_looking_up_changes_nothing_and_is_open_to_other_sites(client, paste):
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client.post("/api/v1/lookup", json={"text": paste}, headers=headers).status_code == 200
