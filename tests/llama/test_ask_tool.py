"""A model of this machine may ask back: its reply can be held to the tool's form."""

from __future__ import annotations

from bridge.agent_loop.reply_schema import call_shape
from bridge.llama.grammar import problem_of_shape
from bridge.protocol.outcome import Control
from bridge.protocol.request import Request
from bridge.worker.ask_tool import ask_tool


def test_the_tool_compiles_to_a_grammar():
    request = Request(request_id="a", prompt="p", may_ask=True)
    control = Control(0.0, lambda _: None, lambda: False)

    [tool] = ask_tool(request, control)

    assert problem_of_shape(call_shape({tool.name: tool.parameters})) is None
