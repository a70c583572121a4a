"""The models of a server: listed, the only one is asked; no screen has its password."""

import pytest
from scripted_server import ScriptedServer

from bridge.errors import BadSetting
from bridge.setting import ADDRESS, without_passwords

pytestmark = pytest.mark.slow

pytest.importorskip("openai")
LIST = ("models", "--route", "endpoint")


def test_they_are_listed(project, server):
    server.served = ["a", "b"]
    none = "none is in use: name one: --model openai:NAME, or BRIDGE_OPENAI_MODEL"

    project.run(*LIST).prints(1, f"  a\n  b\n{none}\n")

    project.env["BRIDGE_OPENAI_MODEL"] = "b"
    project.run(*LIST).prints(0, "  a\n* b\n")
    assert project.run(*LIST, "--json").json == {
        "models": [{"name": "a", "inUse": False}, {"name": "b", "inUse": True}],
        "server": server.url,
    }

    server.served = ["a"]
    project.run(*LIST).prints(
        1, "  a\nthe server has no 'b', which BRIDGE_OPENAI_MODEL names\n"
    )


def test_a_name_stays_on_its_line(project, server):
    server.served = ["a\n* b", "c"]

    assert project.run(*LIST).out.startswith("  a * b\n  c\n")


def test_error_no_server(project):
    project.env["BRIDGE_OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"

    ran = project.run(*LIST)

    ran.refuses(4, "hostbridge: no server at http://127.0.0.1:9/v1/: ")


WORDS = (
    "config",
    "config --json",
    "config get openai_base_url",
    "config set openai_base_url http://u:sk-secret@127.0.0.1:9/v1",
    "models --route endpoint",
    "models --route endpoint --json",
    "ask --route endpoint x",
    "ask --route endpoint --model openai:m --json x",
    *("show", "show --json", "doctor", "doctor --json"),
)


@pytest.mark.parametrize("is_there", [True, False])
def test_no_screen_and_no_record_has_it(project, is_there):
    with ScriptedServer() as server:
        server.served = []
        url = server.url if is_there else "http://127.0.0.1:9/v1"
        project.env["BRIDGE_OPENAI_BASE_URL"] = url.replace("//", "//u:sk-secret@")
        shown = {words: project.run(*words.split()) for words in WORDS}

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
    assert "//…@127.0.0.1" in shown["config"].out


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
