"""A program of a user's, as a type checker sees it.

What stands after `#:` is what mypy must say about the line: the type that
`reveal_type` shows, or the code of the error. The test is in `test_uses.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypedDict, reveal_type

from pydantic import BaseModel

from bridge import (
    AgentOutput,
    AsyncBridge,
    Bridge,
    NoHost,
    RequestFailed,
    Result,
    WaitTimeout,
    ask,
    load_subagent_definition,
    start_agent,
)


class Modules(BaseModel):
    modules: list[str]


class Point(TypedDict):
    x: int


@dataclass
class Line:
    begin: int


b = Bridge.open()
YesOrNo = Literal["yes", "no"]
SCHEMA: dict[str, Any] = {"type": "integer"}

reveal_type(b.ask("?"))  #: Result[AgentOutput]
reveal_type(b.ask("?").parsed.summary)  #: str
reveal_type(b.ask("?", schema=None))  #: Result[AgentOutput]
reveal_type(b.ask("?", schema=Modules))  #: Result[Modules]
reveal_type(b.ask("?", "Plan", schema=Modules).parsed.modules)  #: list[str]
reveal_type(b.ask("?", schema=AgentOutput).parsed)  #: AgentOutput
reveal_type(b.ask("?", schema=list[Modules]).parsed)  #: list[Modules]
reveal_type(b.ask("?", schema=Point).parsed["x"])  #: int
reveal_type(b.ask("?", schema=Line).parsed.begin)  #: int
reveal_type(b.ask("?", schema=int).parsed)  #: int
reveal_type(b.ask("?", schema=YesOrNo).parsed)  #: Literal['yes'] | Literal['no']
reveal_type(b.ask("?", schema=Modules | int).parsed)  #: Modules | int
reveal_type(b.ask("?", schema=SCHEMA))  #: Result[Any]
reveal_type(b.ask("?", schema={"type": "integer"}))  #: Result[Any]
reveal_type(ask("?", schema=Modules))  #: Result[Modules]
reveal_type(start_agent(prompt="?"))  #: Result[AgentOutput]

reveal_type(b.wait("id"))  #: Result[Any]
reveal_type(b.wait("id", schema=Modules, timeout_s=timedelta(1)))  #: Result[Modules]
reveal_type(b.wait("id", schema=Literal["yes"]).parsed)  #: Literal['yes']
reveal_type(b.wait(["id"]))  #: Iterator[Result[Any]]
reveal_type(b.wait({"id"}, schema=Modules))  #: Iterator[Result[Modules | None]]
reveal_type(b.wait(b.submit("?", schema=Modules), schema=Modules).parsed)  #: Modules
reveal_type(b.respond("id", "{}"))  #: Result[Any]
reveal_type(load_subagent_definition("a.yaml", Path()).max_turns)  #: int


async def asynchronous(a: AsyncBridge, ids: Iterable[str]) -> None:
    reveal_type(await a.ask("?"))  #: Result[AgentOutput]
    reveal_type(await a.ask("?", schema=Modules))  #: Result[Modules]
    reveal_type(await a.wait("id", schema=list[int]))  #: Result[list[int]]
    reveal_type(await a.cancel("id"))  #: bool
    async for result in a.as_completed(ids, schema=Modules):
        reveal_type(result.parsed)  #: Modules | None
    await a.wait(ids)  #: call-overload


def wanted(result: Result[Modules | None]) -> str:
    return "" if result.parsed is None else result.parsed.modules[0]


wanted(b.ask("?", schema=Modules))
str(b.ask("?", schema=Modules).parsed.modles)  #: attr-defined
str(b.ask("?").parsed.modules)  #: attr-defined
b.ask("?", schema=3)  #: call-overload
b.ask("?", timeout=3)  #: call-overload
b.ask("?", timeout_s="3")  #: call-overload
b.ask("?", route="hots")  #: call-overload
b.ask("?", request_id="mine")  #: call-overload
b.submit("?", on_stage=print)  #: call-arg
b.ask(b"?")  #: call-overload
str(next(b.wait(["id"], schema=Modules)).parsed.modules)  #: union-attr

try:
    b.ask("?")
except RequestFailed as exc:
    reveal_type(exc.response.raw_output)  #: str
except (NoHost, WaitTimeout) as exc:
    reveal_type(exc.request_id)  #: str | None
