"""Which models this machine has for the local route, and which one is in use.

Looks in ~/.hostbridge/models, in the extra, and for the file of BRIDGE_LOCAL_MODEL. The
one with a star answers for `haiku`, `sonnet`, `opus` and `fable`, and if no model is
named: the one of BRIDGE_LOCAL_MODEL, or else the largest that can be loaded here. Ask
for another by its name: --model NAME.gguf. With --test each model is loaded and gives
one reply, which must match a schema. Exit code 1: no model can answer, because none is
there, or the one in use is broken or fails its test, or llama.cpp is not installed.

`pull NAME` fetches a model from the Hugging Face hub (or from HF_ENDPOINT) into
~/.hostbridge/models, and checks it against the SHA-256 that the hub states. No account
is used. What was interrupted goes on where it stopped. `pull` alone lists some models
worth trying; `pull OWNER/NAME` lists the files of a repository.

With --route endpoint: the models of the server behind BRIDGE_OPENAI_BASE_URL.

For example:
  hostbridge models
  hostbridge models pull
"""

import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bridge.cli.common.options import option, switch, timeout
from bridge.cli.common.output import complain, say_json, tell
from bridge.cli.common.verbs import Verbs
from bridge.cli.screen.screen import screen_of
from bridge.cli.setup.models_text import (
    advice_lines,
    model_lines,
    recommended_facts,
    recommended_lines,
)
from bridge.config import Settings
from bridge.errors import BridgeError, ExtraMissing, NoRoute
from bridge.llama import hub
from bridge.llama.model_files import (
    Candidate,
    known_models,
    models_folder,
    require_extra,
)
from bridge.llama.recommended import parse
from bridge.protocol.wording import one_line
from bridge.setting import without_passwords
from bridge.store.config_file import settings_at

VERBS = Verbs()


@VERBS.add(
    option(
        "--route",
        choices=("local", "endpoint"),
        default="local",
        help="Whose models to list; local by default.",
    ),
    switch("--test", help="Load each model, and have it reply once."),
    timeout("How long a test may take; by default 2m.", least_s=0.1, default=120.0),
)
def _list(options: Namespace) -> int:
    """List the models that are here; the default."""
    settings = settings_at(Path())
    if options.route == "endpoint":
        return _list_of_server(options, settings)
    missing = _missing()
    listed = []
    works = False
    for candidate in known_models(settings):
        facts = _facts(candidate)
        if options.test and candidate.model is not None and missing is None:
            facts["test"] = _test(candidate, settings, options.timeout_s)
        if candidate.in_use:
            failed = facts.get("test", {}).get("problem") is not None
            works = candidate.model is not None and not failed and missing is None
        listed.append(facts)
        if not options.as_json:
            tell(*model_lines(facts))
    if options.as_json:
        folder = models_folder(settings)
        say_json({"models": listed, "folder": folder, "missing": missing})
    else:
        tell(*advice_lines(listed, missing, settings))
    return 0 if works else 1


def _missing() -> str | None:
    """What must be installed before any model can be loaded."""
    try:
        require_extra()
    except ExtraMissing as exc:
        return str(exc)
    return None


def _list_of_server(options: Namespace, settings: Settings) -> int:
    from bridge.agent_loop.chat_model import ModelFailed
    from bridge.endpoint.served_models import HOW_TO_NAME, list_models

    try:
        names = list_models(settings)
    except ModelFailed as exc:
        error = NoRoute if exc.code == "no_server" else BridgeError
        raise error(str(exc)) from None
    server = without_passwords(settings.openai_base_url or "")
    in_use = settings.openai_model
    if in_use is None and len(names) == 1:
        in_use = names[0]
    if options.as_json:
        models = [{"name": name, "inUse": name == in_use} for name in names]
        say_json({"models": models, "server": server})
        return 0 if in_use in names else 1
    for name in names:
        tell(f"{'*' if name == in_use else ' '} {one_line(name, len(name))}")
    if not names:
        tell(f"{server} has no model: load one first")
    elif in_use is None:
        tell(f"none is in use: {HOW_TO_NAME}")
    elif in_use not in names:
        tell(f"the server has no {in_use!r}, which BRIDGE_OPENAI_MODEL names")
    return 0 if in_use in names else 1


@VERBS.add(
    option(
        "which",
        metavar="NAME",
        nargs="?",
        completes="downloads",
        help="What to fetch: a name that `pull` lists, or OWNER/NAME/FILE.gguf.",
    )
)
def _pull(options: Namespace) -> int:
    """Fetch a model, or list some that are worth trying."""
    if options.which is None:
        if options.as_json:
            say_json({"models": recommended_facts()})
        else:
            tell(*recommended_lines(screen_of(sys.stdout).width))
        return 0
    settings = settings_at(Path())
    wanted, folder = parse(options.which), models_folder(settings)
    try:
        path, source = hub.pull(wanted, folder, complain)
    except KeyboardInterrupt:
        complain("what has arrived is kept; the same command goes on from there")
        raise
    if options.as_json:
        say_json({"model": path, **asdict(source)})
        return 0
    tell(f"{path}\nSHA-256 {source.sha256}, as the hub states")
    pulled = next(each for each in known_models(settings) if each.path == path)
    if pulled.in_use:
        tell("it is the model in use now; try it: hostbridge models --test")
    else:
        if pulled.why_not is not None:
            tell(f"it does not answer unless it is named: {pulled.why_not}")
        tell(f"ask it with: --route local --model {path.name}")
    return 0


def _facts(candidate: Candidate) -> dict[str, Any]:
    source = hub.source_of(candidate.path)
    facts: dict[str, Any] = {
        "path": candidate.path,
        "found": candidate.found,
        "inUse": candidate.in_use,
        "problem": candidate.problem,
        "whyNot": candidate.why_not,
        "source": asdict(source) if source else None,
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
            "licence": one_line(str(header.metadata.get("general.license", "")), 40),
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
