"""What reading a flow costs: parse, check, plan and graph, beside lark's bare parse.

The grammar for lark is as small as the text allows, and makes no tree of ours: it is
the floor for anything that reads such a text. No client and no model.

    scripts/bench_flows.py             half a minute
    scripts/bench_flows.py --quick     a smoke test
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

from bench.script import exit_code, option_parser
from bench.table import Row, show
from bench.timing import take_turns
from lark import Lark

from bridge.flow.checks import check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.drawing import graph_of
from bridge.flow.parser import parse_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GRAMMAR = r"""
start: definition* sequence
definition: "$" NAME ":=" "{" pair ("," pair)* "}"
pair: NAME ":" TEXT
sequence: chain guarded* | guarded+
guarded: GUARD chain
chain: parallel ("->" parallel)* "->"?
parallel: step ("||" step)*
?step: call | "[" sequence "]"
call: "$"? NAME (":" TEXT (":" NAME)?)?
GUARD: /\(if [^)]*\)~>/
NAME: /[^\W\d]\w*(?:-+\w+)*/
TEXT: /"(?:[^"\\]|\\.)*"/s
%ignore /\s+/
"""
# Ten nodes in four lines.
PIECE = """\
general-purpose:"Do step {n} with care":v{n} ->
[Explore:"Look {{v0}} at {n}" || $own:"Scan part {n}":w{n} || Plan:"x"] ->
[a:"{{w{n}}}" || b || c:"Look at {{v0.files}}"] -> d -> e:"Say what {n} came to" ->
(if failed && {{v0}} contains "x")~> general-purpose:"Mend {n}":x{n} ->
"""
OWN = '$own := {base: "Explore", prompt: "You look for faults.", model: "opus"}\n'
FEW, MANY = 1_000, 10_000


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    chosen = option_parser(__doc__).parse_args()
    rounds = 1 if chosen.quick else 10
    lark = Lark(GRAMMAR, parser="lalr")
    cases = [
        case
        for count in (FEW, MANY)
        for case in (
            timed(f"lark {count}", lark.parse, flow(count)),
            timed(f"parse {count}", parse_flow, flow(count)),
            timed(f"all {count}", graph, flow(count)),
        )
    ]
    found = take_turns(cases, rounds)
    few, many = found[f"all {FEW}"], found[f"all {MANY}"]
    rows = [
        Row("lark's bare parse, 1,000 nodes", found[f"lark {FEW}"]),
        Row("parse", found[f"parse {FEW}"], found[f"lark {FEW}"]),
        Row("parse, check, plan, graph", few, found[f"lark {FEW}"], 2.5),
        Row("lark's bare parse, 10,000 nodes", found[f"lark {MANY}"]),
        Row("parse", found[f"parse {MANY}"], found[f"lark {MANY}"]),
        Row("parse, check, plan, graph, beside 1,000", many, few, 12),
    ]
    show(f"flows, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


def flow(nodes: int) -> str:
    """A flow of so many nodes."""
    return OWN + "".join(PIECE.format(n=10 * n) for n in range(nodes // 10))


def graph(source: str) -> object:
    """Everything that `hostbridge flow graph` does with a text."""
    read = parse_flow(source)
    assert not check_flow(read).errors
    return graph_of(compile_flow(read))


def timed(
    name: str, work: Callable[[str], object], source: str
) -> Callable[[], Mapping[str, float]]:
    """Measure processor time, without looking for garbage, as `hostbridge flow` does.

    What else the machine does is not our concern.
    """

    def measure() -> Mapping[str, float]:
        gc.collect()
        gc.disable()
        begun = time.process_time()
        work(source)
        taken = time.process_time() - begun
        gc.enable()
        return {name: taken * 1e3}

    return measure


if __name__ == "__main__":
    raise SystemExit(main())
