"""The prompt that a subagent was given, as the client wrote it down."""

import json
import os
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from hookworld import GOOD

from bridge.host.events import HookEvent
from bridge.host.transcript import was_given


def said(content: Any, kind: str = "user") -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}})


LINES: dict[str, tuple[str, bool | None]] = {
    "ours": (f"{said('Say hello.')}\n", True),
    "in a block": (f"{said([{'type': 'text', 'text': 'Say hello.'}])}\n", True),
    "with a reminder around": (f"{said('<r>x</r> Say hello. <r>y</r>')}\n", True),
    "behind other records": (f'{{"type":"attachment"}}\n{said("Say hello.")}\n', True),
    "behind junk": (f"\x00 junk\n{said('Say hello.')}\n", True),
    "another": (f"{said('Sing.')}\n", False),
    "ours only later": (f"{said('Sing.')}\n{said('Say hello.')}\n", False),
    "behind a reminder": (
        (
            f'{{"type":"user","isMeta":true,"message":{{"content":"Sing."}}}}\n'
            f"{said('Say hello.')}\n"
        ),
        True,
    ),
    "half a line": (said("Sing."), None),
    "nothing": ("", None),
    "no message": ('{"type":"user"}\n', None),
    "only the agent's": (f"{said('Say hello.', 'assistant')}\n", None),
    "a number": (f"{said(7)}\n", None),
}


@pytest.mark.parametrize("case", LINES)
def test_what_was_given(tmp_path, case):
    lines, expected = LINES[case]
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_text(lines)
    event = HookEvent({"transcript_path": str(tmp_path / "s.jsonl")})

    assert was_given(event, "a1", "Say hello.") is expected


def test_no_transcript_tells_nothing(tmp_path):
    event = HookEvent({"transcript_path": str(tmp_path / "s.jsonl")})

    assert was_given(event, "a1", "Say hello.") is None
    assert was_given(HookEvent({}), "a1", "Say hello.", patience_s=60) is None


def bytes_read() -> int:
    """How many this process has read from anywhere."""
    words = Path("/proc/self/io").read_text().split()
    return int(words[words.index("rchar:") + 1])


def _without_end(file: Path) -> None:
    """Three gigabytes of holes, a line break here and there."""
    with file.open("wb") as holes:
        for _ in range(50):
            holes.seek(60 << 20, os.SEEK_CUR)
            holes.write(b"\n")


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir, _without_end])
def test_what_is_no_transcript_holds_nobody_up(tmp_path, put):
    """A hook has twenty seconds in all, and words to save."""
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    put(folder / "agent-a1.jsonl")
    event = HookEvent({"transcript_path": str(tmp_path / "s.jsonl")})
    before = bytes_read()

    assert was_given(event, "a1", "Say hello.") is None
    assert bytes_read() - before < 70 << 20


def test_one_that_is_written_a_moment_later(tmp_path):
    """The client writes its files while our hook already runs."""
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    event = HookEvent({"transcript_path": str(tmp_path / "s.jsonl")})
    file = folder / "agent-a1.jsonl"
    late = Timer(0.1, lambda: file.write_text(f"{said('Sing.')}\n"))
    late.start()

    assert was_given(event, "a1", "Say hello.", patience_s=30) is False
    late.join()


@pytest.mark.parametrize("way", ["stop", "handback"])
def test_the_answer_to_another_prompt_is_none(world, way):
    """Whatever it says: the launch has not shown its prompt yet."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    call = world.launch(request)
    world.prompts[call] = "Sing."
    agent = world.start(call)

    if way == "stop":
        world.stop(agent, GOOD)
    else:
        world.use(agent, "SubagentHandback", tool_input={"message": GOOD})

    assert world.code(request) == "prompt_replaced"
    assert world.response(request).raw_output == GOOD


def test_no_transcript_is_no_reason_to_refuse(world):
    """A client that keeps none still answers."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    call = world.launch(request)
    del world.prompts[call]

    world.stop(world.start(call), GOOD)

    assert world.code(request) == "success"
