"""What the model is told of the step that its workflow is in."""

from __future__ import annotations

from bridge.protocol.wording import fitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge.policy.step_record import StepRecord

MAX_MESSAGE = 20_000


def shortened(text: str) -> str:
    """A text for the model, at most as long as one may be."""
    return fitted(text, MAX_MESSAGE)


def introduction(record: StepRecord) -> str:
    """What the model is told of the step that it is in: on entry, and again later."""
    return "\n".join(part for part in (_heading(record), record.get("message")) if part)


def _heading(record: StepRecord) -> str:
    code = record["code"]
    step = code["steps"][record["step"]]
    lines = [f"Workflow {code['name']}, step {record['step']}."]
    gate = step["gate"]
    if gate["tools"] is not None:
        named = [*gate["tools"], *(gate["mcp"] or ())]
        lines.append(f"Tools: {', '.join(named) or 'none'}.")
    if gate["blocked"] or gate["blockedMcp"]:
        lines.append(f"Refused: {', '.join([*gate['blocked'], *gate['blockedMcp']])}.")
    lines += [f"Goes on to {t['to']} when {t['text']}." for t in step["transitions"]]
    own = code["variables"].keys() - code["owners"].keys()
    asked = sorted(name for name in own if name in step["asks"])
    if asked:
        names = ", ".join(asked)
        lines.append(
            f"You set {names}: with the tool set_variables of hostbridge, or with "
            f"`hostbridge vars set {asked[0]}:=true`."
        )
    return " ".join(lines)
