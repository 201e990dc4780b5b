"""Settings come from the environment, and a mistake in one is named."""

import pytest

from webapp import create_app
from webapp.settings import SETTINGS, SettingError, from_environment


def test_settings_have_their_defaults_and_types():
    assert from_environment({}) == {setting.name: setting.default for setting in SETTINGS}
    settings = from_environment(
        {"KB_WEB_WORKERS": "3", "KB_WEB_METRICS": "off", "KB_WEB_REFRESH": "0.5", "KB_WEB_URL": "https://x.example"}
    )
    assert (settings["WORKERS"], settings["METRICS"], settings["REFRESH"]) == (3, False, 0.5)
    assert settings["URL"] == "https://x.example"


@pytest.mark.parametrize(
    "wrong",
    [
        {"KB_WEB_WORKERS": "many"},
        {"KB_WEB_WORKERS": "0"},
        {"KB_WEB_PROXIES": "-1"},
        {"KB_WEB_REFRESH": "nan"},
        {"KB_WEB_METRICS": "perhaps"},
    ],
)
def test_a_wrong_value_is_named(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        from_environment(wrong)


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        ("KB_WEB_RATTE", "did you mean KB_WEB_RATE?"),
        ("KB_WEB_WORKER", "did you mean KB_WEB_WORKERS?"),
        ("KB_WEB_RECENT", "docs/web.md"),
        ("KB_WEB_", "docs/web.md"),
    ],
)
def test_a_variable_that_sets_nothing_is_an_error_with_the_nearest_name(variable, advice):
    with pytest.raises(SettingError, match=f"{variable} is no setting") as error:
        from_environment({variable: "1", "KB_CACHE": "/tmp"})
    assert advice in str(error.value)


def test_an_application_is_not_made_with_a_misspelt_setting(snapshots, monkeypatch):
    monkeypatch.setenv("KB_WEB_METRIC", "off")
    with pytest.raises(SettingError, match="KB_WEB_METRICS"):
        create_app({"SNAPSHOTS": snapshots})


@pytest.mark.parametrize(
    "config",
    [
        {"RATE": "often"},
        {"URL": "kb.example.org"},
        {"URL": "https://kb.example.org/?x"},
        {"URL": "https://kb.example.org//evil"},
        {"URL": "https://kb.example.org:port"},
        {"URL": "https://kb.example.org/static"},
        {"URL": "https://kb.example.org/e/kb"},
        {"RUN": True, "RUN_BACKEND": "process"},
        {"RUN": True, "WORKERS": 2},
    ],
)
def test_what_cannot_work_or_would_be_unsafe_is_refused_at_the_start(snapshots, config):
    with pytest.raises(SettingError, match=f"KB_WEB_{next(iter(config))}"):
        create_app({"SNAPSHOTS": snapshots, **config})
