"""The pytest plugin: fixtures that start the real client with a scripted model.

A project asks for it (`pytest_plugins = ["bridge.testing.plugin"]`). pytest would load
one that it found by itself in every project of the environment, at each start, also in
one whose own package has the name of ours. Nothing is imported until a fixture is used.

| fixture | what it gives |
| --- | --- |
| claude_client | the path of the client, installed by npm at the first use |
| claude_stage | makes a clean world for it, with a model that is a function |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from bridge.testing.stage.client import Stage


@pytest.fixture(scope="session")
def claude_client() -> Path:
    """The real Claude Code client; the test is skipped, and told why, without one.

    `BRIDGE_TEST_CLAUDE` names one that is there. Otherwise npm installs the version
    that `bridge.testing.stage` was made for, once, below `BRIDGE_TEST_CACHE`.
    """
    from bridge.testing.stage.client import ClientUnavailable, ensure_client

    try:
        return ensure_client()
    except ClientUnavailable as why:
        pytest.skip(f"no Claude Code client: {why}")


@pytest.fixture
def claude_stage(claude_client: Path, tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage: `claude_stage(model, **extra_env)`.

    `model` is a function from an `ApiRequest` to what the model says; without one it is
    `obedient_model()`. What the client asked is in `stage.api`. Each stage has a folder
    of its own below `tmp_path`; its model ends with the test, which fails if the
    function raised.
    """
    from contextlib import ExitStack

    from bridge.testing.stage.api import ScriptedApi
    from bridge.testing.stage.client import Stage
    from bridge.testing.stage.models import obedient_model

    with ExitStack() as opened:
        made = 0

        def make(model: Any = None, **extra_env: str) -> Stage:
            nonlocal made
            made += 1
            api = opened.enter_context(ScriptedApi(model or obedient_model()))
            root = tmp_path / f"stage-{made}"
            root.mkdir()
            return Stage(root, api, program=claude_client, extra_env=extra_env)

        yield make
