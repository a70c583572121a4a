"""Generate state/schemas, state/example and state/FAILURES.md.

    python scripts/make_state.py

Schemas and failures come from the program's own tables. The example is what the store
itself writes, with each file as it was when it appeared; the time, the process and the
answer are made up.
"""

from __future__ import annotations

import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from bridge.api.record_schemas import schema_for, schema_names
from bridge.cli.common import exit_codes
from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.protocol.claim import HostProcess
from bridge.protocol.failure_codes import ALIASES, CURES, MEANINGS
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import judge
from bridge.protocol.request import Request
from bridge.protocol.response import answered
from bridge.store import Claimant
from bridge.store.location import locate
from bridge.store.store import Store
from bridge.store.subagent_runs import AgentRun, note_call
from bridge.tasks.task_record import TaskRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE = Path(__file__).resolve().parents[1] / "state"
ID = RequestId("1k0t3fvvgkr-n-hj92wn")
ANSWER = '{"status": "success", "summary": "billing has no test", "evidence": []}'
HOST = HostProcess(
    pid=4711,
    start_time="123456",
    boot="3f0c7b6e-0000-4000-8000-000000000000",
    pid_namespace="pid:[4026531836]",
)


_KIND = re.compile(r'^class (\w+)\(\w+\):(?=(?:\n(?!class ).*)*?\n    code = ")', re.M)

FAILURES = """\
# How a request can fail

Written by `scripts/make_state.py` from the tables that the program itself obeys.

## Exit codes

| exit | meaning |
| --- | --- |
{exits}

## Failure codes

A response has the code in `error.code`, and `--json` prints it.
`error.alias` is the code's name in the first description of hostbridge.
Records of earlier versions have that as their code, and are still read.
`ask`, and `wait` for one request, end with the exit code beside it.
A request that is refused before it is submitted leaves no record.
Then the command ends with 2 if it must be called differently, or if something must be
mended first: an unknown agent, a definition with problems or without trust, options
that exclude one another, an extra that `--node` or `models` needs.
It ends with the exit code of `depth` if too many agents stand above the request, and
with that of `no_route` if this machine lacks what its route needs.
With an unknown id, `show`, `wait`, `cancel` and `reply` end with 1.

| code | exit | meaning | what to do | alias |
| --- | --- | --- | --- | --- |
{failures}

## Other errors of a command

With `--json`, every error of a command is one object on stdout: `requestId`, `success`
(false) and `error`, with `code`, `message` and `stage`.
A code is one of the table above or of this one. The message says what helps.

| code | exit | meaning |
| --- | --- | --- |
{others}
"""


class OneMoment:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.us = 1_795_300_080_000_000

    def now_us(self) -> int:
        """The time, in microseconds since 1970."""
        return self.us

    def monotonic_s(self) -> float:
        """The same time, in seconds."""
        return self.us / 1e6


def main() -> None:
    """Write everything."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    write_schemas(STATE / "schemas")
    write_example(STATE / "example")
    write_failures(STATE / "FAILURES.md")


def write_schemas(folder: Path) -> None:
    """One JSON Schema for each kind of record."""
    folder.mkdir(exist_ok=True)
    for name in schema_names():
        data = orjson.dumps(schema_for(name), option=orjson.OPT_INDENT_2)
        (folder / f"{name}.json").write_bytes(data + b"\n")


def write_failures(file: Path) -> None:
    """Every exit code, every failure code, and what to do."""
    exits = re.findall(r"^(\d+) +(.+)$", exit_codes.__doc__ or "", re.M)
    rows = []
    for code, meaning in MEANINGS.items():
        cure = CURES[code]
        exit_code = exit_codes.of_failure(code)
        alias = ALIASES.get(code, "")
        rows.append(f"| `{code}` | {exit_code} | {meaning} | {cure} | {alias} |")
    others = {kind.code: kind for kind in all_kinds()}
    file.write_text(
        FAILURES.format(
            exits="\n".join(f"| {code} | {means} |" for code, means in exits),
            failures="\n".join(rows),
            others="\n".join(
                f"| `{code}` | {exit_codes.of_kind(kind)} | {_first_line(kind)} |"
                for code, kind in sorted(others.items())
                if code not in MEANINGS
            ),
        )
    )


def all_kinds() -> Iterator[type[BridgeError]]:
    """Every kind of error that has a code of its own."""
    package = STATE.parent / "bridge"
    for file in sorted(package.rglob("*.py")):
        if named := _KIND.findall(file.read_text()):
            module = import_module(".".join(_parts(file)))
            kinds = (getattr(module, name) for name in named)
            yield from (kind for kind in kinds if issubclass(kind, BridgeError))


def _parts(file: Path) -> tuple[str, ...]:
    return file.relative_to(STATE.parent).with_suffix("").parts


def _first_line(kind: type[BridgeError]) -> str:
    line = (kind.__doc__ or "").partition("\n")[0].rstrip(".")
    return line[:1].lower() + line[1:]


def write_example(folder: Path) -> None:
    """One exchange, with each file as it was when it appeared."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary, "home")
        place = locate(Settings(home=home), Path(temporary))
        clock = OneMoment()
        store = Store(place, clock=clock)
        with store.state() as state:
            state.directory.create("key", bytes(32))

        def keep(stage: str, name: str = f"{ID}.json") -> None:
            kept = folder / stage / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes((place.state / stage / name).read_bytes())

        store.submit(
            Request(
                request_id=ID,
                prompt="Which modules under src/ have no test?",
                created_at=store.now_ms(),
                requester="make (pid 4242)",
            )
        )
        keep("requests")
        clock.us += 700_000
        [request] = store.claim(Claimant("b1946ac9", HOST), 4, lambda _: "take")
        clock.us += 300_000
        launched = {"tool_use_id": "toolu_01A", "launched_at": store.now_ms()}
        store.change_claim(ID, HOST, lambda c: c.with_(**launched), event="launched")
        note_call(
            store,
            AgentRun(
                request_id=ID,
                tool_use_id="toolu_01A",
                session="b1946ac9",
                host=HOST,
                launched_at=store.now_ms(),
                answer_by=request.deadline_ms - 18_000,
                answer_at=4_242_000,
            ),
        )
        keep("processing")
        keep("agents", "call-toolu_01A.json")
        clock.us += 5_000_000
        verdict = judge(request, ANSWER, calls=(), now_ms=store.now_ms())
        response = answered(
            request,
            raw=ANSWER,
            parsed=verdict.parsed,
            now_ms=store.now_ms(),
            route="host",
            agent_id="a035a17bd706138cf",
        )
        store.publish(response, source="SubagentStop")
        keep("responses")
        keep("done")
        keep(".", "events.jsonl")
    folder.joinpath("tasks.jsonl").write_bytes(example_tasks())


def example_tasks() -> bytes:
    """Two tasks, as `hostbridge task export` prints them."""
    usual = {"created_at": 1_795_300_080_000, "updated_at": 1_795_300_080_000}
    first, second = (f"01a20033-0780-7000-8000-00000000000{n}" for n in (1, 2))
    return b"".join(
        TaskRecord(**usual, **more).exported().to_line()
        for more in (
            {"uuid": first, "title": "Uploads have a limit", "isExpanded": True},
            {
                "uuid": second,
                "title": "Refuse what is larger than 10 MB",
                "parent": first,
                "validation_criteria": "A test uploads 11 MB, and is refused.",
            },
        )
    )


if __name__ == "__main__":
    main()
