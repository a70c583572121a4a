"""Which models this machine has for the local route, and which one is in use.

The one with a star answers for `haiku`, `sonnet`, `opus` and `fable`, and if no model
is named. Choose another with BRIDGE_LOCAL_MODEL=path.gguf. Ask for a model in
~/.hostbridge/models by its name: --model NAME.gguf. With --test each model is loaded
and gives one reply, which must match a schema. Exit code 1: the model in use is
missing or broken, or fails its test.

`pull OWNER/NAME/FILE.gguf` fetches a model from the Hugging Face hub (or from
HF_ENDPOINT) into that folder, and checks it against the SHA-256 that the hub states.
No account is used. `pull` alone lists some models worth trying.

For example:
  hostbridge models
  hostbridge models pull
"""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bridge.cli.options import AS_JSON, at_least, option, switch, timeout
from bridge.cli.output import say, say_json
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.llama import hub
from bridge.llama.model_files import (
    HOW_TO_USE_ONE,
    SMALL_BELOW,
    Candidate,
    known_models,
    models_folder,
    require_extra,
)
from bridge.store.config_file import settings_at

MIB = 1024 * 1024


OPTIONS = (
    option(
        "what",
        metavar="list|pull",
        nargs="?",
        choices=("list", "pull"),
        default="list",
        help="What to do; list by default.",
    ),
    option("which", metavar="OWNER/NAME/FILE", nargs="?", help="What to fetch."),
    AS_JSON,
    switch("--test", help="Load each model, and have it reply once."),
    timeout(
        "How long a test may take, in seconds; by default 120.",
        at_least(0.1),
        default=120.0,
    ),
)


def command(options: Namespace) -> int:
    """List the models, or fetch one; returns the exit code."""
    settings = settings_at(Path())
    if options.what == "pull":
        return _pull(options, settings)
    if options.which is not None:
        raise InvalidRequest(f"list takes no {options.which!r}")
    require_extra()
    works = False
    listed = []
    for candidate in known_models(settings):
        facts = _facts(candidate)
        if options.test and candidate.model is not None:
            facts["test"] = _test(candidate, settings, options.timeout_s)
        if candidate.in_use:
            failed = facts.get("test", {}).get("problem") is not None
            works = candidate.model is not None and not failed
        listed.append(facts)
        if not options.as_json:
            _print(facts)
    if options.as_json:
        say_json({"models": listed, "folder": models_folder(settings)})
    elif not any(facts["inUse"] for facts in listed):
        say(f"none is in use; {HOW_TO_USE_ONE}")
    return 0 if works else 1


def _pull(options: Namespace, settings: Settings) -> int:
    if options.which is None:
        _recommend(as_json=options.as_json)
        return 0
    path, source = hub.pull(hub.parse(options.which), models_folder(settings))
    if options.as_json:
        say_json({"model": path, **asdict(source)})
    else:
        say(f"{path}\nSHA-256 {source.sha256}, as the hub states")
        say(f"ask it with: --route local --model {path.name}")
    return 0


def _recommend(*, as_json: bool) -> None:
    if as_json:
        say_json({"models": {n: m._asdict() for n, m in hub.RECOMMENDED.items()}})
        return
    for name, model in hub.RECOMMENDED.items():
        say(f"{name}  {model.gigabytes:.1f} GB, licence {model.licence}")
        say(f"    {model.file}")
    say(
        "\nhostbridge's own tests run none of these, only SmolLM2-135M-Instruct, which "
        "comes with the extra.\nFetch one: hostbridge models pull NAME"
    )


def _facts(candidate: Candidate) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "path": candidate.path,
        "found": candidate.found,
        "inUse": candidate.in_use,
        "problem": candidate.problem,
    }
    model = candidate.model
    if model is not None:
        header = model.header
        facts |= {
            "name": model.name,
            "bytes": header.size,
            "format": f"GGUF {header.version}",
            "quantization": header.quantization,
            "architecture": header.architecture,
            "parameters": header.parameters,
            "contextLength": header.context_length,
            "chatTemplate": not model.is_base,
            "degraded": model.is_small,
        }
    return facts


def _test(candidate: Candidate, settings: Settings, timeout_s: float) -> dict[str, Any]:
    from bridge.llama.selftest import try_model

    assert candidate.model is not None  # noqa: S101 - asked before
    tested = try_model(candidate.model, settings, timeout_s=timeout_s)
    return {
        "problem": tested.problem,
        "reply": tested.reply,
        "seconds": round(tested.seconds, 2),
        "tokensPerSecond": round(tested.tokens_per_s, 1),
    }


def _print(facts: dict[str, Any]) -> None:
    mark = "*" if facts["inUse"] else " "
    say(f"{mark} {facts.get('name', facts['path'])}")
    lines = [f"{facts['path']} ({facts['found']})"]
    if facts["problem"] is not None:
        lines.append(f"cannot be used: {facts['problem']}")
    else:
        lines += _details(facts)
    say("\n".join(f"    {line}" for line in lines))


def _details(facts: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{facts['format']} {facts['quantization']}, {facts['bytes'] / MIB:.0f} MiB, "
        f"{facts['parameters'] / 1e6:,.0f} million parameters, "
        f"context {facts['contextLength']:,}"
    )
    if not facts["chatTemplate"]:
        yield "no chat template: a base model, which continues text"
    if facts["degraded"]:
        bound = f"{SMALL_BELOW / 1e9:g} billion parameters"
        yield f"small (below {bound}): its answers are marked degraded"
    test = facts.get("test")
    if test and test["problem"] is not None:
        yield f"test failed: {test['problem']}"
    elif test:
        speed = f"{test['tokensPerSecond']:.0f} tokens/s"
        yield f"test: {test['seconds']:.1f} s with loading, then {speed}"
        yield f"it said: {test['reply']}"
