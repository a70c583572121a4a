"""Every argument of every public function, with values that it cannot be.

A program without a type checker gets our error, which names the argument, and nothing
is asked.
"""

import asyncio
import inspect
from typing import Any

import pytest
from servingworld import bridge_in

import bridge as package
from bridge.api import options
from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.errors import InvalidRequest

RIGHT = {
    "prompt": "Which?",
    "request": "first",
    "requests": ["first"],
    "words": "{}",
    "path": "definition.yaml",
    "agents_dir": ".",
}
OPTIONS = {
    "ask": options.AskOptions,
    "submit": options.SubmitOptions,
    "wait": options.WaitOptions,
    "as_completed": options.WaitOptions,
}
METHODS = ("ask", "submit", "wait", "cancel", "respond", "status", "story", "prune")

# What nothing here can be.
ODD: dict[str, Any] = {
    "object": object(), "bytes": b"x", "surrogate": "\ud800", "complex": 1j,
    "huge": 10**5000, "objects": [object()],
}  # fmt: skip
# None means the default, where there is one.
ALSO: dict[str, tuple[Any, ...]] = {
    "prompt": (None, 5),
    "agent": (None, 5),
    "words": (None, {}),
    "request": (None, 5, True),
    "requests": (None, 5, "first"),
    "priority": (1, "urgent", [], {}),
    "route": (1, "hots", []),
    "timeout_s": ("3", True, float("nan"), []),
    "arguments": ([], {1: 2}, {"a": object()}, {"a": "\ud800"}, {"a": 10**400}, "a"),
    "variables": ([], {1: 2}, {"a": b"x"}),
    "node": (5, {}),
    "model": (5, {}),
    "task_id": (5, {}),
    "answer_to_host": (1, "yes"),
    "on_stage": (5, "print", 0, ""),
    "path": (5, []),
    "older_than_days": ("1", -1),
    "max_bytes": ("1", -1, 1.5),
}


def arguments_of(way: str, call: Any) -> list[str]:
    """Its parameters, and its options one by one."""
    known = OPTIONS[way].__optional_keys__ if way in OPTIONS else ()
    found = inspect.signature(call).parameters.keys() - {"self", "options"}
    return sorted({*found, *known})


def called(call: Any, name: str, value: object) -> InvalidRequest:
    """The error of a call in which one argument is wrong."""
    known = inspect.signature(call).parameters.values()
    # A prompt may be left out only where a template says all.
    required = [each.name for each in known if each.default in (each.empty, "")]
    given = {each: RIGHT[each] for each in required if each in RIGHT} | {name: value}
    if name == "fallback":
        given["fallback_after_s"] = 1

    async def ended():
        found = call(**given)
        if hasattr(found, "__aiter__"):
            async for _ in found:
                pass
        elif hasattr(found, "__await__"):
            await found

    with pytest.raises(InvalidRequest) as caught:
        asyncio.run(ended())
    return caught.value


def check_all(way: str, call: Any) -> None:
    """Pass every wrong value to every argument."""
    for name in arguments_of(way, call):
        odd = {**ODD, **{f"{v!r:.20}": v for v in ALSO.get(name, ())}}
        if name == "max_bytes":
            # Any limit is one.
            del odd["huge"]
        for what, value in odd.items():
            try:
                error = called(call, name, value)
                assert str(error).startswith((name, name.removesuffix("s")))
                assert len(str(error)) < 250
            except Exception as exc:
                exc.add_note(f"{way}({name}={what})")
                raise


@pytest.fixture
def bridge(tmp_path):
    opened = bridge_in(tmp_path)
    opened.submit("Which?", request_id="first")
    return opened


@pytest.mark.parametrize("way", METHODS)
def test_error_a_wrong_kind(bridge, way):
    check_all(way, getattr(bridge, way))
    assert len(bridge.store.waiting()) == 1


@pytest.mark.parametrize("way", [*METHODS, "as_completed"])
def test_error_a_wrong_kind_with_asyncio(bridge, way):
    check_all(way, getattr(AsyncBridge(bridge), way))
    assert len(bridge.store.waiting()) == 1


@pytest.mark.parametrize("way", ["ask", "load_subagent_definition"])
def test_error_a_wrong_kind_in_a_function(tmp_path, monkeypatch, way):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("BRIDGE_HOME", str(tmp_path / "home"))

    check_all(way, getattr(package, way))


@pytest.mark.parametrize("kind", [Bridge, AsyncBridge])
def test_error_a_project_that_is_no_path(kind):
    check_all("open", kind.open)


@pytest.mark.parametrize(
    ("way", "option", "near"),
    [
        ("ask", "timeout", "; did you mean 'timeout_s'?"),
        ("wait", "timeout", "; did you mean 'timeout_s'?"),
        ("ask", "modell", "; did you mean 'model'?"),
        ("submit", "on_stage", ""),
        ("ask", "request_id", ""),
    ],
)
@pytest.mark.parametrize("kind", [Bridge, AsyncBridge])
def test_error_an_option_that_does_not_exist(bridge, kind, way, option, near):
    """`timeout` is what most libraries call it; ours says the unit."""
    call = getattr(bridge if kind is Bridge else AsyncBridge(bridge), way)

    assert str(called(call, option, 3)) == f"{way} has no option {option!r}{near}"


def test_durations(bridge):
    """A number is seconds; a timedelta says so itself."""
    from datetime import timedelta

    asked = [
        bridge.status(bridge.submit("Which?", timeout_s=each)).request.timeout
        for each in (7.5, 7, timedelta(minutes=1), None)
    ]

    assert asked == [7500, 7000, 60_000, 120_000]
