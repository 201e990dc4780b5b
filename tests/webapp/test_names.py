"""The history of a name: a page in both languages and an end point. The record is the one that ships."""

import pytest


@pytest.mark.parametrize(("lang", "said"), [("en", "up to 0.8"), ("zh", "0.8 及更早版本")])
def test_the_page_of_a_name_says_since_when_and_until_when(client, lang, said):
    page = client.get(f"/api/torchtext.data.Field?lang={lang}")
    assert page.status_code == 200
    assert said in page.text
    assert page.text.count('<li class="has"') >= 5


def test_a_name_that_no_release_has_is_a_page_that_says_so(client):
    page = client.get("/api/torch.no_such_name")
    assert (page.status_code, page.mimetype) == (404, "text/html")
    assert "torch.no_such_name" in page.text
    assert 'content="noindex"' in page.text


@pytest.mark.parametrize("name", ["torch%0Amatmul", "torch..x", "a" * 400, "%00", "torch.<b>"])
def test_what_is_no_name_is_not_looked_for(client, name):
    assert client.get(f"/api/{name}").status_code == 404


def test_the_end_point_returns_ranges_and_parameters(client):
    history = client.get("/api/v1/names/torchtext.data.Field").json
    assert (history["package"], history["kind"]) == ("torchtext", "class")
    assert history["ranges"][-1]["gone"] == "0.9"
    assert "sequential" in {parameter["name"] for parameter in history["parameters"]}
    assert client.get("/api/v1/names/torch.no_such_name").status_code == 404


def test_an_answer_says_what_the_released_packages_say_and_links_to_the_history(client):
    page = client.post("/", data={"text": "AttributeError: module 'torchtext.data' has no attribute 'Field'"})
    assert "<code>torchtext&lt;0.9</code>" in page.text
    assert "/api/torchtext.data.Field" in page.text
    assert "not a verified fix" in page.text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_where_no_entry_answers_the_page_says_who_raises_the_error_and_links_to_the_source(client, lang):
    page = client.post(f"/?lang={lang}", data={"text": "TypeError: 'x' is not a Module subclass"})
    assert "torch.nn.modules.module.Module.add_module" in page.text
    assert "https://github.com/pytorch/pytorch/blob/v" in page.text


def test_a_name_that_only_raises_says_so_with_the_message(client):
    history = client.get("/api/v1/names/torch.symeig").json
    assert history["removed"][0]["since"] == "2.0"
    assert "now removed" in history["removal"]
    page = client.get("/api/torch.symeig")
    assert '<li class="removed"' in page.text
    assert "now removed" in page.text


@pytest.mark.parametrize(
    ("lang", "said"), [("en", "Did you mean <code>Softmax</code>"), ("zh", "是不是想写 <code>Softmax</code>")]
)
def test_a_name_that_is_misspelt_is_a_page_with_the_nearest_spelling(client, lang, said):
    page = client.get(f"/api/torch.nn.Sofmax?lang={lang}")
    assert page.status_code == 404
    assert said in page.text
    assert "Did you mean `Softmax`" in client.get("/api/v1/names/torch.nn.Sofmax").text
