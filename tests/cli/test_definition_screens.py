"""A definition as people read it before they trust it, at 60, 80 and 120 columns."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from agentworld import World
from screens import same_as_file
from trustworld import GOOD

from bridge.agents import trust
from bridge.agents.registry import Entry
from bridge.cli.definitions.definition_text import entry_text
from bridge.cli.definitions.trust import agent_lines
from bridge.cli.screen.screen import folded

PROJECT = Path("/home/u/app")
FILE = PROJECT / ".bridge" / "agents" / "worker.yaml"
CHANGED = GOOD.replace("[Read, Bash]", "[Read]").replace("Works", "Works \u202esa")


@pytest.fixture
def world(tmp_path):
    """Definitions whose files have paths of a usual length."""
    world = World(tmp_path)
    world.registry.project = PROJECT
    return world


def entry(world, text, **more):
    loaded = world.load("worker.yaml", text, "project")
    digest = hashlib.sha256(text.encode()).hexdigest()
    problems = tuple(replace(problem, file=FILE) for problem in loaded.problems)
    there = replace(loaded, file=FILE, digests={FILE: digest}, problems=problems)
    return Entry(there, is_trusted=False, **more)


def shown(world, one):
    title = f"{PROJECT} brings definitions of agents:"
    lines = [title, *agent_lines(world.registry, one, {"worker": None}, 4_000)]
    return lambda width: folded(lines, width, whole_words=False)


def test_trust(world):
    same_as_file("trust", shown(world, entry(world, GOOD)))


def test_trust_asks_again(world):
    """Only the difference, which the texts of both give."""
    kept = world.home / trust.FOLDER
    kept.mkdir(mode=0o700)
    for text in (GOOD, CHANGED):
        digest = hashlib.sha256(text.encode()).hexdigest()
        (kept / digest).write_text(text)
    name = str(FILE.relative_to(PROJECT))
    old = {name: hashlib.sha256(GOOD.encode()).hexdigest()}
    record = {"schemaVersion": 1, "projects": {str(PROJECT): {"agents": {name: old}}}}
    (world.home / trust.FILE).write_bytes(trust.orjson.dumps(record))

    again = entry(world, CHANGED, changes=(name,))

    same_as_file("trust-again", shown(world, again))


def test_agents_show(world):
    lines = entry_text(entry(world, GOOD + "model: small.gguf\n")).split("\n")
    lines = [line.replace(str(world.project), str(PROJECT)) for line in lines]

    same_as_file("agents-show", lambda w: folded(lines, w, whole_words=False))
