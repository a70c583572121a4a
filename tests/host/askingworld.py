"""Agents that ask back, in a world of hooks."""

import json

import pytest

from bridge.host import asking

FORM = {"enum": ["red", "blue"]}


def asks(words: str = "Which colour?", form: object = FORM) -> str:
    return json.dumps({"hostbridge_question": {"words": words, "form": form}})


def asked(world, **fields):
    """An agent that may ask; returns request, call and agent."""
    return world.begin(may_ask=True, **fields)


def ended_asking(world, words: str | None = None, **fields):
    """An agent whose question nobody has answered in time; the client has told so."""
    request, call, agent = asked(world, **fields)
    assert world.stop(agent, words or asks()) == {}
    world.notice(agent, **{"tool-use-id": call})
    return request, agent


def dies_while_it_holds(world, agent, monkeypatch):
    """The hook is killed that holds an agent which has asked."""
    with monkeypatch.context() as patch:
        patch.setattr(asking, "hold", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            world.stop(agent, asks())


def continued(world, request, agent):
    """The session is told of a reply, and sends it; the call, and its message."""
    world.say("UserPromptSubmit", prompt="hello")
    call, output = world.send(request, agent)
    return call, output["updatedInput"]["message"], output
