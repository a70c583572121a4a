"""A password in the server's address is sent to the server alone."""

from __future__ import annotations

import pytest
from scripted_server import ScriptedServer

from bridge.errors import BadSetting
from bridge.setting import ADDRESS, without_passwords

pytest.importorskip("openai")
WORDS = (
    ("config",),
    ("config", "--json"),
    ("config", "get", "openai_base_url"),
    ("config", "set", "openai_base_url", "http://u:sk-secret@127.0.0.1:9/v1"),
    ("models", "--route", "endpoint"),
    ("models", "--route", "endpoint", "--json"),
    ("ask", "--route", "endpoint", "x"),
    ("ask", "--route", "endpoint", "--model", "openai:m", "--json", "x"),
    ("show",),
    ("show", "--json"),
    ("doctor",),
    ("doctor", "--json"),
)


@pytest.mark.parametrize("is_there", [True, False])
def test_no_screen_and_no_record_has_it(project, is_there):
    with ScriptedServer() as server:
        server.served = []
        url = server.url if is_there else "http://127.0.0.1:9/v1"
        project.env["BRIDGE_OPENAI_BASE_URL"] = url.replace("//", "//u:sk-secret@")
        shown = {words: project.run(*words) for words in WORDS}

    home = project.bridge.settings.home
    states = (home, project.bridge.store.place.state)
    kept = [
        str(file)
        for state in states
        for file in state.rglob("*")
        if file.is_file() and b"sk-secret" in file.read_bytes()
    ]
    leaks = [words for words, ran in shown.items() if "secret" in ran.out + ran.err]
    assert leaks == []
    assert set(kept) <= {str(home / "config.toml")}
    assert "//…@127.0.0.1" in shown["config",].out


@pytest.mark.parametrize(
    "url", ["ftp://u:sk-secret@h/v1", "u:sk-secret@h", "http://u:a sk-secret@h/v1"]
)
def test_an_address_that_is_refused_is_quoted_without(url):
    with pytest.raises(BadSetting) as caught:
        ADDRESS.read("BRIDGE_OPENAI_BASE_URL", url)

    assert "secret" not in str(caught.value)


def test_every_address_in_a_text():
    text = "http://u:p@h/v1 points to https://a:b/c@d@h, not //h/v1"

    assert without_passwords(text) == "http://…@h/v1 points to https://…@h, not //h/v1"
