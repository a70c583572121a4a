"""docs/many-machines.md: what it shows can be run, and says what is so."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import redisworld
import yaml
from docs.pages import blocks

from bridge.cli.common.parser import parse
from bridge.cli.setup import serve
from bridge.remote.keys import LEASE_S, MAX_BYTES, read_address

PAGE = (Path(__file__).parents[2] / "docs" / "many-machines.md").read_text()
ANSWER = (
    '{"type":"result","subtype":"success","is_error":false,"result":"","'
    'structured_output":{"status":"success","summary":"billing has none"}}'
)


def lines(language: str) -> list[str]:
    return [
        line
        for block in blocks(PAGE)
        if block.language == language
        for line in block.text.splitlines()
    ]


def test_two_machines_in_ten_lines(tmp_path):
    """The page's own commands, with the server, the password and the route of here."""
    rights = next(line for line in lines("sh") if " ACL " in line)
    words = rights.split(" ACL ")[1].split()
    asks = next(line for line in lines("sh") if line.startswith("hostbridge ask"))
    serves = next(line for line in lines("sh") if line.startswith("hostbridge serve"))
    sets = next(line for line in lines("sh") if line.startswith("hostbridge config"))
    claude = tmp_path / "claude"
    claude.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{ANSWER}'\n")
    claude.chmod(0o755)
    project = tmp_path / "shop"
    project.mkdir()
    with redisworld.server() as own:
        own.client().execute_command("ACL", *words)

        def run(home: str, line: str) -> subprocess.Popen[str]:
            line = line.replace("queue.lan", f"127.0.0.1:{own.port}")
            line = line.replace("--routes local", "--routes claude")
            env = {
                "HOME": str(tmp_path / home), "PATH": os.environ["PATH"],
                "BRIDGE_QUEUE_PASSWORD": "PASSWORD", "BRIDGE_CLAUDE": str(claude),
            }  # fmt: skip
            (tmp_path / home).mkdir(exist_ok=True)
            return subprocess.Popen(
                [sys.executable, "-m", "bridge", *shlex.split(line)[1:]],
                cwd=project, env=env, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip

        for home in ("a", "b"):
            assert run(home, sets).communicate()[1] == ""
        server = run("b", serves)
        asked = run("a", asks)
        said = asked.communicate(timeout=120)
        server.terminate()
        told = server.communicate(timeout=60)

    assert said[0] == "success: billing has none\n", said
    assert server.returncode in (0, 130), told
    assert "answers others with your login" in told[1]
    assert "success" in told[0]


def test_its_unit_and_its_compose_file_are_sound():
    """Their commands are commands of ours, and their URLs are queues."""
    unit = dict(
        line.partition("=")[::2] for line in lines("ini") if not line.startswith("#")
    )
    services = yaml.safe_load("\n".join(lines("yaml")))["services"]
    commands = [unit["ExecStart"], services["worker"]["command"]]
    urls = [
        next(line for line in lines("ini") if "BRIDGE_QUEUE=" in line).split("=", 2)[2],
        services["worker"]["environment"]["BRIDGE_QUEUE"],
    ]

    for command in commands:
        words = shlex.split(command)
        assert words[0].endswith("hostbridge")
        options = parse("hostbridge serve", serve.OPTIONS, words[2:])
        assert (options.queue, options.drain) == (True, True)
    assert [read_address(url).name for url in urls] == ["shop", "shop"]


@pytest.mark.parametrize(
    "fact", [f"{LEASE_S:.0f} seconds", f"{MAX_BYTES // 1024**2} MB", "--same-commit"]
)
def test_its_figures_are_those_of_the_program(fact):
    assert fact in PAGE
