"""Every code block of README and of the pages under docs/ does what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import needs
import pytest
from docs.pages import World, blocks
from stage.api import ScriptedApi
from stage.client import Stage
from stage.models import agent_output, obedient_model
from stage.replies import Answer, reply

if TYPE_CHECKING:
    from stage.turns import ApiRequest

pytestmark = pytest.mark.host

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md"]
# What the agents of the pages answer, by a part of their prompt.
ANSWERS = {
    '"modules"': {"modules": ["billing"]},
    '"pages"': {"pages": []},
    "Which modules under src/": {
        "status": "success", "summary": "billing has no test", "evidence": []
    },
}  # fmt: skip


def answer(prompt: str, request: ApiRequest) -> Answer:
    for part, value in ANSWERS.items():
        if part in prompt:
            return reply(json.dumps(value))
    return agent_output(prompt, request)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_does_what_it_says(tmp_path: Path, page: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "hostbridge").symlink_to(Path(sys.executable).with_name("hostbridge"))
    (programs / "claude").symlink_to(needs.client())
    changes = {"path/to/hostbridge": str(ROOT), "cd your/project": "cd ../project"}
    with ScriptedApi(obedient_model(answer)) as api:
        stage = Stage(tmp_path / "stage", api, program=needs.client())
        (stage.project / ".git" / "hooks").mkdir(parents=True)
        with World(stage, programs, changes) as world:
            for block in blocks(page.read_text()):
                try:
                    world.follow(block)
                except Exception as exc:
                    exc.add_note(f"{page.name}:{block.line}")
                    raise
