"""The kinds of nodes that the engine runs. Pure.

    kind      what is done when it is reached        what ends it
    agent     a request is submitted                 its response
    call      a run of its own is begun              that run's end
    approval  nothing: a person is waited for        what the person says
    pass      nothing, it only leads on              at once
    tool      one of our tools is called             its result
    exec      a program is run                       its exit
    worktree  a worktree is made, merged, removed    that it is done
    change    a change is read                       that it was read
    wait      nothing                                a time, or the end of a step

What a tool, a program, a worktree or a change gave is in `results/`. Whoever looks does
what is open and has no result: calls of tools at once, `LONG` ones in a process of
their own. A tool's call has a key, by which what was done once is not done again.

A new kind is a row of `KINDS`, besides its name in `bridge.flow.plan`. What it has done
is a row of `EFFECTS` in `bridge.engine.effects`, what ends it one of `ENDS` in
`bridge.engine.ends`, and how it is shown a case of `label_of` in
`bridge.flow.drawing`. `bridge.engine.rehearsal` says what it would ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# What is due in the world when a node of this kind is reached; empty for nothing, or
# for what is done as long as it has no result.
KINDS: Mapping[str, str] = {
    "agent": "ask", "call": "call", "approval": "", "pass": "", "tool": "", "exec": "",
    "worktree": "", "change": "", "wait": "",
}  # fmt: skip
# What takes longer than a hook may.
LONG = frozenset({"exec", "worktree", "change"})
# What has a result in the folder of the run.
DONE_HERE = LONG | {"tool"}
