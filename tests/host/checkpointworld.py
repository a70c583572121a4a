"""A session whose person is asked what a flow's checkpoints ask."""

import json
import re
from itertools import count

from bridge.engine.view import view

G = "general-purpose"
CALL = re.compile(r'\{"questions".*\}')
LOOP = f'@look:"Again?":word -> {G}:"do {{word}}":x (if issues)~> @look(2)'
_calls = count(1)


def offers(world, event="UserPromptSubmit", **fields):
    """The calls that the model is told to make."""
    said = world.say(event, **{"prompt": "hello", **fields})
    words = said.get("hookSpecificOutput", {}).get("additionalContext", "")
    return [json.loads(each) for each in CALL.findall(words)]


def offer_in(words):
    """The one call in what the model is told."""
    (found,) = CALL.findall(words)
    return json.loads(found)


def call(world, tool_input, **fields):
    """The model makes a call; its id, and what the client shows."""
    fields.setdefault("tool_use_id", f"ask_{next(_calls)}")
    said = world.say(
        "PreToolUse", tool_name="AskUserQuestion", tool_input=tool_input, **fields
    )
    decision = said.get("hookSpecificOutput", {})
    assert "permissionDecision" not in decision or "deny" in decision.values(), said
    return fields["tool_use_id"], decision.get("updatedInput", tool_input), decision


def answer(world, call_id, shown, text):
    """The person answers; what the hook says."""
    question = shown["questions"][0]["question"]
    answers = {} if text is None else {question: text}
    response = {"questions": shown["questions"], "answers": answers}
    return world.say(
        "PostToolUse",
        tool_name="AskUserQuestion",
        tool_use_id=call_id,
        tool_input={**shown, "answers": answers},
        tool_response=response,
    )


def asked(world, begun, source='@ok:"Is it fine?":word -> @more:"And {word}?"'):
    """A checkpoint whose question is on the screen."""
    run = begun(source)
    (offer,) = offers(world)
    return run, *call(world, offer)[:2]


def said(world, run):
    return {
        k: (v["text"], v["by"]) for k, v in view(world.store, run).run["said"].items()
    }
