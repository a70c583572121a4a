"""How `hostbridge models` shows models: those that are here, those worth fetching."""

from collections.abc import Iterator
from typing import Any

from bridge.cli.screen.screen import Line, Styled
from bridge.cli.screen.table import Column, table
from bridge.config import Settings
from bridge.llama.hub import size_text
from bridge.llama.model_files import HOW_TO_USE_ONE, SMALL_BELOW, models_folder
from bridge.llama.recommended import RECOMMENDED

_BOUND = f"{SMALL_BELOW / 1e9:g} billion parameters"
_COLUMNS = (
    Column("NAME"), Column("PARAMETERS", spare=1), Column("SIZE"), Column("LICENCE"),
    Column("FILE", whole=True),
)  # fmt: skip
_NOTE = f"""
Names, sizes and licences are from the models' pages.
None of these was run here: hostbridge's own tests run SmolLM2-135M.
Answers of a model below {_BOUND} are marked degraded.

Fetch one: hostbridge models pull NAME"""


def recommended_facts() -> list[dict[str, Any]]:
    """The models worth fetching, as JSON."""
    return [
        {
            "name": name,
            "repository": model.file.repository,
            "path": model.file.path,
            "parameters": round(model.billions * 1e9),
            "gigabytes": model.gigabytes,
            "licence": model.licence,
        }
        for name, model in RECOMMENDED.items()
    ]


def recommended_lines(width: int | None) -> Iterator[Line]:
    """The models worth fetching; in a pipe the table alone."""
    rows = [
        (
            name,
            f"{model.billions:.1f} billion",
            f"{model.gigabytes:.2f} GB",
            model.licence,
            str(model.file),
        )
        for name, model in RECOMMENDED.items()
    ]
    yield from table(_COLUMNS, rows, width)
    if width is not None:
        yield from _NOTE.splitlines()


def model_lines(facts: dict[str, Any]) -> Iterator[Line]:
    """One model: its name, a star if it is in use, and what is known of it."""
    mark = Styled("*", "green") if facts["inUse"] else " "
    yield mark, f" {facts['path'].stem}"
    if facts["problem"] is not None:
        yield Styled(f"    cannot be used: {facts['problem']}", "red")
    else:
        yield from (f"    {line}" for line in _of_header(facts))
    path, found = facts["path"], facts["found"]
    yield f"    {path}" + ("" if found == str(path.parent) else f" ({found})")


def _of_header(facts: dict[str, Any]) -> Iterator[str]:
    parts = [
        f"{_many(facts['parameters'])} parameters",
        facts["quantization"],
        size_text(facts["bytes"]),
        f"context {facts['contextLength']:,}",
        facts["licence"],
    ]
    yield ", ".join(filter(None, parts))
    if facts["whyNot"] is not None:
        yield f"does not answer unless it is named: {facts['whyNot']}"
    if facts["degraded"]:
        yield f"small (below {_BOUND}): its answers are marked degraded"
    test = facts.get("test")
    if test and test["problem"] is not None:
        yield f"test failed: {test['problem']}"
    elif test:
        speed = f"{test['tokensPerSecond']:.0f} tokens/s"
        yield f"test: {test['seconds']:.1f} s with loading, then {speed}"
        yield f"it said: {test['reply']}"


def _many(count: int) -> str:
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return str(count)


def advice_lines(
    listed: list[dict[str, Any]], missing: str | None, settings: Settings
) -> Iterator[Line]:
    """Why the one in use is in use, and what to do next."""
    in_use = next((facts for facts in listed if facts["inUse"]), None)
    if missing is not None and in_use is None:
        # What it brings may be enough; nothing can be fetched before.
        yield Styled(f"{missing} (it brings SmolLM2-135M)", "red")
        return
    if listed:
        yield ""
    folder = models_folder(settings)
    if in_use is None:
        yield f"no model is in use (none in {folder}); {HOW_TO_USE_ONE}"
    elif in_use["problem"] is not None:
        yield "correct BRIDGE_LOCAL_MODEL, or unset it"
    elif settings.local_model is not None:
        yield "in use (*): BRIDGE_LOCAL_MODEL names it"
    else:
        yield f"in use (*): the largest that can be loaded, also from {folder}"
    if in_use is not None and in_use.get("degraded"):
        yield "larger models answer better: hostbridge models pull"
    if missing is not None:
        yield Styled(missing, "red")
