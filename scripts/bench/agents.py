"""Measure a small model with the built-in agents and the default examples."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import yaml

from bench.table import Row
from bench.timing import Series
from bridge.agent_loop.briefing import brief, call_text, result_text
from bridge.agent_loop.chat_model import Message, ModelFailed
from bridge.agent_loop.examples import DEFAULT
from bridge.agent_loop.job import Job, RunLimits
from bridge.agent_loop.model_policy import SMALL, policy_for
from bridge.agent_loop.reply_schema import (
    RequestedCall,
    call_shape,
    read_call,
    submit_schema,
)
from bridge.agent_loop.script_tools import Sandbox
from bridge.agent_loop.toolbox import Toolbox
from bridge.agent_loop.workspace import Project
from bridge.agents.load import load
from bridge.agents.prompt import instructions_of
from bridge.config import Settings
from bridge.llama.local_model import TEMPERATURE
from bridge.llama.model_files import find_model
from bridge.llama.reply import ModelReplier
from bridge.llama.runtime import Llama
from bridge.llama.worker_client import tune
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.request import Request
from bridge.shipped import agents_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.agent_loop.tool import Tool
    from bridge.agents.definition import Definition, Example

HOT = 0.8
CONTEXT = 4096
# The argument that is checked, by tool; the others are the model's choice.
MAIN = {
    "read_file": "path",
    "list_files": "folder",
    "search_text": "text",
    "run_command": "command",
}
TASK = "The change to lib/shop.py"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and the first call that a good agent makes."""

    prompt: str
    tool: str
    argument: str


def prompts(name: str = "prompts.yaml") -> list[Prompt]:
    """The prompts of a file, written before anything was tuned."""
    file = Path(__file__).with_name(name)
    return [Prompt(**each) for each in yaml.safe_load(file.read_text())]


def is_right(wanted: Prompt, call: RequestedCall) -> tuple[bool, bool]:
    """Whether the tool is right, and whether its main argument is right, too."""
    if call.tool != wanted.tool:
        return False, False
    argument = str(call.arguments.get(MAIN[call.tool], "")).strip().strip("'\"`")
    return True, argument.removeprefix("./").rstrip("/") == wanted.argument


class Bench:
    """The configured or the default model, in this process."""

    def __init__(self, *, verbose: bool = False) -> None:
        tune(os.environ)
        self.model = find_model(None, Settings.from_environment())
        self._verbose = verbose
        self._replier = ModelReplier(
            Llama(str(self.model.path), context=CONTEXT),
            self.model.header.chat_template,
            None,
        )

    def valid(self, runs: int) -> list[Row]:
        """First calls and answers at temperature 0.8, for each set of tools.

        The agents of a set share its runs; each run has its own seed.
        """
        sets: dict[tuple[str, ...], list[Definition]] = {}
        for definition in _built_ins():
            sets.setdefault(tuple(sorted(offered(definition)[0])), []).append(
                definition
            )
        rows = []
        for tools, agents in sets.items():
            each = max(2, -(-runs // len(agents)))
            bad = sum(self._not_valid(agent, each) for agent in agents)
            what = f"not valid of {each * len(agents)}: {', '.join(tools)}"
            rows.append(Row(what, Series([bad]), None, 0, "value", "runs"))
        return rows

    def _not_valid(self, definition: Definition, runs: int) -> int:
        tools, submit = offered(definition)
        request = Request(request_id="r-1", prompt=TASK)
        schema = definition.output_schema
        briefing = brief(
            definition,
            tools,
            submit,
            schema=schema,
            task=TASK,
            instructions=instructions_of(definition, request),
            policy=SMALL,
        )
        first = definition.examples[0].calls[0]
        messages = [*briefing.messages]
        later = [
            *messages,
            Message("assistant", call_text(first.tool, first.arguments)),
            Message("user", result_text(first.tool, "call-1", first.result)),
        ]
        every = {name: tool.parameters for name, tool in tools.items()}
        bad = 0
        # All first calls, then all answers: the prompt is read once for each half.
        for seed in range(runs):
            is_first = seed < runs // 2
            shown, schemas = (messages, every) if is_first else (later, {})
            call = self._call(
                shown,
                {**schemas, SUBMIT: submit},
                briefing.prefix,
                temperature=HOT,
                seed=seed,
            )
            if isinstance(call, str):
                bad += 1
                print(f"{definition.name}, seed {seed}: {call}")
        return bad

    def choice(self, count: int | None) -> list[Row]:
        """Right first calls on the prompts, with the default examples and without."""
        asked = prompts()
        # For a smoke test, a few of each tool.
        asked = asked if count is None else asked[:: max(1, len(asked) // count)]
        few, zero = (self._right(asked, way) for way in ("few-shot", "zero-shot"))
        total = len(asked)
        return [
            Row(f"right tool of {total}", Series([few["tool"]]),
                Series([zero["tool"]]), None, "times", "prompts"),
            Row(f"right tool and argument of {total}", Series([few["both"]]),
                Series([zero["both"]]), 2, "times", "prompts", at_least=True),
            *(
                Row(f"  {tool}", Series([few[tool]]), Series([zero[tool]]), None,
                    "more", "prompts")
                for tool in MAIN
            ),
        ]  # fmt: skip

    def order(self, count: int) -> list[Row]:
        """Other orders of the default examples, on other prompts; ours comes first."""
        asked = prompts("tuning.yaml")
        rows = []
        for seed in range(count):
            examples = list(DEFAULT)
            if seed:
                Random(seed).shuffle(examples)  # noqa: S311 - only an order
            right = self._right(asked, "few-shot", tuple(examples))
            order = "".join(str(DEFAULT.index(each)) for each in examples)
            rows.append(
                Row(f"right tool and argument of {len(asked)}, order {order}",
                    Series([right["both"]]), None, None, "value", "prompts")
            )  # fmt: skip
        return rows

    def _right(
        self, asked: Sequence[Prompt], way: str, examples: tuple[Example, ...] = ()
    ) -> Counter[str]:
        definition = without_examples().model_copy(update={"examples": examples})
        tools, submit = offered(definition)
        schemas = {name: tool.parameters for name, tool in tools.items()}
        right: Counter[str] = Counter()
        for each in asked:
            briefing = brief(
                definition,
                tools,
                submit,
                schema=None,
                task=each.prompt,
                policy=policy_for(is_small=way == "few-shot"),
            )
            call = self._call(
                briefing.messages,
                {**schemas, SUBMIT: submit},
                briefing.prefix,
                temperature=TEMPERATURE,
                seed=0,
            )
            tool, both = (False, False)
            if isinstance(call, RequestedCall):
                tool, both = is_right(each, call)
            right.update({"tool": tool, "both": both, each.tool: both})
            if self._verbose:
                mark = "right" if both else "tool " if tool else "-    "
                text = (
                    call
                    if isinstance(call, str)
                    else call_text(call.tool, call.arguments)
                )
                print(f"{way:9}  {mark}  {each.prompt}  ->  {text[:120]}")
        return right

    def _call(
        self,
        messages: Sequence[Message],
        schemas: dict[str, Any],
        prefix: int,
        *,
        temperature: float,
        seed: int,
    ) -> RequestedCall | str:
        """The call that the model makes, or why it makes none."""
        order = {
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "shape": call_shape(schemas, SMALL),
            "prefix": prefix,
            "maxTokens": RunLimits().reply_tokens,
            "temperature": temperature,
            "seed": seed,
        }
        try:
            reply = self._replier.reply(order, lambda _tokens, _seconds: None)
        except ModelFailed as failed:
            return f"{failed.code}: {failed}"
        call = read_call(reply.text, schemas)
        return call if isinstance(call, RequestedCall) else call.complaint


def without_examples() -> Definition:
    """An agent with all tools and no examples, for which the default ones are made.

    It may run every command that any built-in agent may run.
    """
    found = list(_built_ins())
    return found[0].model_copy(
        update={
            "name": "without-examples",
            "description": "",
            "prompt": None,
            "tools": None,
            "blocked_tools": (),
            "allow": tuple(dict.fromkeys(rule for d in found for rule in d.allow)),
            "examples": (),
            "output_schema": None,
            "require_verified_evidence": False,
        }
    )


def _built_ins() -> Iterator[Definition]:
    for file in sorted(agents_folder().glob("*.yaml")):
        definition = load(file, "built-in").definition
        assert definition is not None, file
        yield definition


class _Small:
    """Stands for a model where only its size counts."""

    name = "small"
    is_small = True


def offered(definition: Definition) -> tuple[dict[str, Tool], dict[str, Any]]:
    """The tools that a small model is offered, and the schema of its answer."""
    folder = agents_folder()
    job = Job(
        request=Request(request_id="r-1", prompt=TASK),
        model=_Small(),  # type: ignore[arg-type]
        project=folder,
        deadline_s=time.monotonic() + 60,
        definition=definition,
    )
    with Sandbox() as sandbox:
        tools = Toolbox(job, Project(folder), sandbox).tools
    return tools, submit_schema(definition.output_schema, SMALL)
