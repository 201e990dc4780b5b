"""The API does what its description says: every request that schemathesis can think of is answered as described."""

import json
from importlib import resources

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.generation import GenerationMode

PATHS = json.loads(resources.files("webapp").joinpath("openapi.json").read_text("utf-8"))["paths"]
OPERATIONS = [(path, method) for path, methods in PATHS.items() for method in methods]


@pytest.fixture
def schema(app):
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_request_is_answered_as_described(schema, path, method, mode):
    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def every_request(case):
        case.call_and_validate(headers={"Accept-Encoding": "identity"})  # the WSGI transport does not decompress

    every_request()


def test_every_route_of_the_api_is_described(app):
    served = {
        rule.rule.replace("<", "{").replace(">", "}")
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/v1/")
    }
    assert served - {"/api/v1/openapi.json"} == set(PATHS)
