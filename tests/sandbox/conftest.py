import pytest

BACKENDS = [
    "process",
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    return request.param
