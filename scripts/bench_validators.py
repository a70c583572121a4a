"""What five validators over one change cost beside one, each scripted to take 1 s.

    scripts/bench_validators.py            about two minutes
    scripts/bench_validators.py --quick    a smoke test

`claude` runs a program in the place of `claude -p`, so that only our own share is
measured; `session` runs the real client with a scripted model, whose subagents answer
after 1 s. There are five slots. With four, the default, the fifth waits for one of the
others: that is shown beside, without a goal.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import host
from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import take_turns

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply
from bridge.testing.stage.stream import StreamSession
from bridge.validation.report import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = tuple(f"judge-{number}" for number in range(5))
SAID = {
    "verdict": "APPROVED", "summary": "fine", "issues": [],
    "checks": [{"name": "all", "passed": True}],
}  # fmt: skip
DEFINITION = """\
name: {name}
description: One of five
prompt: "Judge it. {{{{ task }}}}"
tools: [Read]
context: [change]
output_schema:
  type: object
  required: [verdict, summary, checks, issues]
"""
PROGRAM = """\
#!/bin/sh
cat >/dev/null
sleep 1
cat <<'END'
{said}
END
"""


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    chosen = option_parser(__doc__).parse_args()
    rounds = 1 if chosen.quick else 7
    with scratch() as root:
        rows = [*by_claude(root / "claude", rounds), *in_session(root, rounds)]
    show(f"validators that take 1 s each, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


def prepare(home: Path, project: Path) -> None:
    """Five validators of the user's, and a change."""
    agents = home / ".hostbridge" / "agents"
    agents.mkdir(mode=0o700, parents=True)
    agents.parent.chmod(0o700)
    for name in NAMES:
        (agents / f"{name}.yaml").write_text(DEFINITION.format(name=name))
    project.mkdir(parents=True, exist_ok=True)
    (project / "a.py").write_text("one = 1\n" * 200)
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "a.py"],
        ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "begin"],
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    (project / "a.py").write_text("one = 2\n" * 200)


def timed(bridge: Bridge, count: int, **options: Any) -> float:
    """How long so many validators take, in milliseconds."""
    begun = time.perf_counter()
    found = bridge.validate(validators=NAMES[:count], **options)
    assert found.verdict is Verdict.APPROVED, found
    return (time.perf_counter() - begun) * 1e3


def by_claude(root: Path, rounds: int) -> list[Row]:
    """By a program in the place of `claude -p`."""
    home, project = root / "home", root / "project"
    prepare(home, project)
    program = root / "claude"
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "x"}
    said = json.dumps(result | {"structured_output": SAID})
    program.write_text(PROGRAM.format(said=said))
    program.chmod(0o755)
    usual: Any = {"home": home / ".hostbridge", "claude_dir": home / ".claude"}
    usual["claude"] = str(program)
    five, four = (Settings(**usual, slots=slots) for slots in (5, 4))
    found = take_turns(
        [
            lambda: {"one": timed(Bridge(five, project), 1, route="claude")},
            lambda: {"five": timed(Bridge(five, project), 5, route="claude")},
            lambda: {"in four": timed(Bridge(four, project), 5, route="claude")},
        ],
        rounds,
    )
    return [
        Row("claude: one validator", found["one"]),
        Row("claude: five", found["five"], found["one"], 1.3),
        Row("claude: five in four slots", found["in four"], found["one"]),
    ]


def in_session(root: Path, rounds: int) -> Iterator[Row]:
    """By agents of the real client."""
    model = obedient_model(lambda *_: reply(json.dumps(SAID), delay_s=1.0))
    with ScriptedApi(model) as api:
        limits = {"BRIDGE_SLOTS": "5"}
        stage = host.world(root / "session", api, host.our_hooks(), limits)
        (stage.project / ".git").rmdir()
        prepare(stage.home, stage.project)
        settings = Settings(
            home=stage.home / ".hostbridge", claude_dir=stage.home / ".claude"
        )
        bridge = Bridge(settings, stage.project)
        with StreamSession(stage, args=["--permission-mode", "default"]) as session:
            session.ask("hello", timeout_s=60)
            found = take_turns(
                [
                    lambda: {"one": timed(bridge, 1)},
                    lambda: {"five": timed(bridge, 5)},
                ],
                rounds,
            )
    yield Row("session: one validator", found["one"])
    yield Row("session: five", found["five"], found["one"], 1.3)


if __name__ == "__main__":
    sys.exit(main())
