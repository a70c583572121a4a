"""With `--json`, whatever ends a command is one object on stdout, in one form."""

import json
import signal
from importlib import import_module

import pytest

from bridge.cli.commands import COMMANDS, module_of
from bridge.cli.main import main, run
from bridge.errors import BridgeError, StateUnavailable

NAMED = sorted(COMMANDS)


def told(out: str) -> tuple[str, str]:
    """The code and the message of the one object that was printed."""
    (line,) = out.splitlines()
    value = json.loads(line)
    assert {*value} == {"requestId", "success", "error"}
    assert value["success"] is False
    assert {*value["error"]} == {"code", "message", "stage"}
    return value["error"]["code"], value["error"]["message"]


@pytest.mark.parametrize("name", NAMED)
def test_error_usage(capsys, name):
    assert run([name, "--no-such-option", "--json"]) == 2

    out, err = capsys.readouterr()
    code, message = told(out)
    assert code == "usage"
    assert err == f"hostbridge: {message}\n"


ERRORS = {
    "one of ours": (StateUnavailable("a disk is full"), 1, "state_unavailable"),
    "a bug": (ZeroDivisionError(), 3, "bug"),
    "the machine": (PermissionError(13, "Permission denied", "/x"), 1, "os_error"),
}


@pytest.mark.parametrize(("error", "exit_code", "code"), ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("name", NAMED)
def test_error_of_each_kind(capsys, monkeypatch, name, error, exit_code, code):
    module = import_module(module_of(name))

    def fail(_options: object) -> int:
        raise error

    monkeypatch.setattr(module, "command", fail, raising=False)
    where = import_module("bridge.cli.records.where").OPTIONS
    monkeypatch.setattr(module, "OPTIONS", where, raising=False)
    monkeypatch.delattr(module, "VERBS", raising=False)
    monkeypatch.setattr("sys.argv", ["hostbridge", name, "--json"])
    # The process would end.
    monkeypatch.setattr("gc.freeze", lambda: None)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == exit_code
    assert told(capsys.readouterr().out)[0] == code


@pytest.mark.parametrize("words", ["stat --json", "-C /nowhere status --json"])
def test_error_before_a_command_is_known(capsys, words):
    assert run(words.split()) == 2

    assert told(capsys.readouterr().out)[0] == "usage"


@pytest.mark.usefixtures("host")
def test_error_interrupted(project, until):
    """Ctrl-C is told, too; the request is cancelled."""
    with project.start("ask", "Which?", "--json", "--timeout", "60") as process:
        until(lambda: project.bridge.overview().waiting)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)

    (request_id,) = project.ids()
    assert process.returncode == 130
    assert told(out.decode())[0] == "interrupted"
    assert json.loads(out)["requestId"] == request_id


def test_every_kind_of_error_has_a_code():
    """A program need not read prose."""
    kinds = [BridgeError]
    for kind in kinds:
        kinds += kind.__subclasses__()

    # A failed request has the code of its failure.
    without = {kind.__name__ for kind in kinds if kind.code == BridgeError.code}
    assert without == {"BridgeError", "RequestFailed"}
