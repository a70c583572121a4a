"""`hostbridge models pull`: a whole file or none, from a hub on this machine."""

import hashlib
import json
import os

import pytest
from hubserver import CHUNK, DIGEST, FILE, MODEL, REVISION

pytestmark = pytest.mark.slow


def test_a_model_is_fetched_and_checked(pull, hub, pulled):
    kept = pulled.parents[1] / ".cache" / "huggingface" / "token"
    kept.parent.mkdir(parents=True)
    kept.write_text("hf_y")

    ran = pull(FILE, "--json", HF_TOKEN="hf_x")  # noqa: S106

    path = pulled / "small-q4.gguf"
    place = {"repository": "owner/small-GGUF", "path": "small-q4.gguf"}
    note = {**place, "revision": REVISION, "sha256": DIGEST}
    assert (ran.code, json.loads(ran.out)) == (0, {"model": str(path), **note})
    assert path.read_bytes() == MODEL
    assert json.loads((pulled / "small-q4.gguf.source.json").read_bytes()) == note
    assert len(os.listdir(pulled)) == 2
    # Whoever is signed in to the hub does not ask as that person.
    assert {credential for _, _, credential in hub.seen} == {None}


def test_what_is_here_is_not_fetched_again(pull, hub):
    pull(FILE)

    assert pull(FILE).code == 0
    assert [method for method, _, _ in hub.seen] == ["HEAD", "GET", "HEAD"]


def test_a_transfer_goes_on_where_it_stopped(pull, hub, pulled):
    hub.cut_at = CHUNK + 1000

    first = pull(FILE)

    assert first.code == 1
    assert first.err.endswith("; run it again: it goes on where it stopped\n")
    [partial] = os.listdir(pulled)
    assert partial == f"small-q4.gguf.{DIGEST[:12]}.partial"
    assert (pulled / partial).read_bytes() == MODEL[:CHUNK]

    hub.cut_at = hub.refusal = None
    assert pull(FILE).code == 0
    assert hub.seen[-1][:2] == ("GET", f"bytes={CHUNK}-")
    assert (pulled / "small-q4.gguf").read_bytes() == MODEL


@pytest.mark.parametrize(
    ("content", "problem"),
    [(MODEL[:-1] + b"x", "the hub states"), (b"<html>" + MODEL[6:], "it is no model")],
    ids=["other bytes", "no model"],
)
def test_error_what_arrives_is_not_the_model(pull, hub, pulled, content, problem):
    hub.content = content
    if problem != "the hub states":
        hub.digest = hashlib.sha256(content).hexdigest()

    ran = pull(FILE)

    ran.refuses(1, problem)
    assert ran.err.endswith("it was removed\n")
    assert os.listdir(pulled) == []


def test_error_another_file_of_that_name(pull, pulled):
    pulled.mkdir(parents=True)
    (pulled / "small-q4.gguf").write_bytes(b"mine")

    pull(FILE).refuses(1, "is there already and differs")
    assert (pulled / "small-q4.gguf").read_bytes() == b"mine"


NO_SIZE = {"elsewhere": "http://localhost:9", "stated_size": -1}
ODD_HUBS = [
    ({"refusal": (404, "RepoNotFound")}, "has no public repository owner/small-GGUF"),
    ({"refusal": (403, "GatedRepo")}, "only to those who sign in"),
    ({"refusal": (500, "")}, "could not be fetched"),
    # A small file in git has another kind of digest.
    ({"digest": "0" * 40}, "the hub states no SHA-256"),
    # It was shown as -0 MB, and anything that came was too much.
    (NO_SIZE, "the hub states no SHA-256 and size"),
    ({"stated_size": 10**17}, "small-q4.gguf takes 100000000.00 GB more, and "),
    ({"elsewhere": "http://u:sk-secret@127.0.0.1:9"}, ""),
]


@pytest.mark.parametrize(("state", "problem"), ODD_HUBS, ids=str)
def test_error_an_odd_hub(pull, hub, pulled, state, problem):
    """Nothing arrived, so nothing is left; no password is shown."""
    for name, value in state.items():
        setattr(hub, name, value)

    ran = pull(FILE)

    ran.refuses(1, problem)
    assert "Traceback" not in ran.err
    assert "sk-secret" not in ran.err
    assert not pulled.exists() or list(pulled.iterdir()) == []
    if hub.stated_size:
        # It is seen before anything is fetched.
        assert [how for how, _, _ in hub.seen] == ["HEAD"]


@pytest.mark.parametrize(
    ("env", "code", "problem"),
    [
        (
            {"HF_ENDPOINT": "http://u:pw@127.0.0.1:9"},
            1,
            " could not be fetched from http://…@127.0.0.1:9: [Errno 111] ",
        ),
        ({"HF_ENDPOINT": "foo"}, 1, " could not be fetched from foo: "),
        ({"HF_ENDPOINT": "http://[::1"}, 2, "HF_ENDPOINT is no address: "),
        ({"HF_HUB_OFFLINE": "1"}, 1, "offline mode is enabled"),
    ],
    ids=["refused", "no scheme", "no address", "offline"],
)
def test_error_no_hub(pull, env, code, problem):
    """A password in its address is not shown."""
    ran = pull(FILE, **env)

    ran.refuses(code, problem)
    assert "pw" not in ran.err


@pytest.mark.parametrize(
    "wanted",
    [
        "small",
        "owner/name/file.bin",
        "a/b/m-00001-of-00002.gguf",
        "owner/name/../../x.gguf",
        "../name/x.gguf",
        "owner/name/.gguf",
        "owner/name/x\x1b[31m.gguf",
        "a//b.gguf",
    ],
)
def test_error_what_names_no_file(pull, hub, wanted):
    ran = pull(wanted)

    assert ran.code == 2
    assert hub.seen == []


def test_some_models_are_recommended(pull, hub):
    """In a pipe they are a table."""
    ran = pull()

    assert ran.code == 0
    assert ran.out.splitlines()[3] == (
        "llama-3.2-3b\t3.2 billion\t2.02 GB\tllama3.2\t"
        "bartowski/Llama-3.2-3B-Instruct-GGUF/Llama-3.2-3B-Instruct-Q4_K_M.gguf"
    )
    assert hub.asked == []


def test_a_recommended_name_stands_for_its_file(pull, hub):
    """Also its page's address does, as a browser shows it."""
    path = "unsloth/Qwen3-4B-Instruct-2507-GGUF", "Qwen3-4B-Instruct-2507-Q4_K_M.gguf"
    page = f"https://huggingface.co/{path[0]}/blob/main/{path[1]}"

    for wanted in ("qwen3-4b", "/".join(path), page):
        pull(wanted)

    head = f"/{path[0]}/resolve/main/{path[1]}"
    assert [each for each in hub.asked if "/api/" not in each] == [head] * 3


def test_error_a_name_that_is_nearly_one(pull):
    pull("smollm2").fails(
        2,
        "no model 'smollm2': expected OWNER/NAME/FILE.gguf or one of smollm2-1.7b, "
        "qwen2.5-3b, llama-3.2-3b, qwen3-4b; did you mean 'smollm2-1.7b'?",
    )
