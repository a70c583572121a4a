"""One-shot runs: `claude -p PROMPT`."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.testing.stage.processes import end, family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.testing.stage.client import Stage


@dataclass(frozen=True, slots=True)
class PrintResult:
    """How a one-shot run ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON objects on stdout, one a line."""
        lines = (line for line in self.stdout.splitlines() if line.startswith("{"))
        return [json.loads(line) for line in lines]

    @property
    def outcome(self) -> dict[str, Any]:
        """The last object of type `result`; empty when there is none."""
        found = [each for each in self.documents if each.get("type") == "result"]
        return found[-1] if found else {}

    @property
    def text(self) -> str:
        """The model's last words."""
        return str(self.outcome.get("result", ""))


def run_print(
    stage: Stage,
    prompt: str,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout_s: float = 180,
) -> PrintResult:
    """Run `claude -p PROMPT --output-format json ARGS` to its end.

    Raises:
        TimeoutError: it still ran after `timeout_s` seconds; it was killed.
    """
    # The prompt stands right behind -p: variadic flags swallow what follows them.
    command = stage.command("-p", prompt, "--output-format", "json", args)
    with subprocess.Popen(
        command,
        cwd=stage.project,
        env={**stage.environment(), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            msg = f"claude -p still ran after {timeout_s} s"
            raise TimeoutError(msg) from None
        finally:
            end(family(process.pid))
    return PrintResult(process.returncode, stdout, stderr)
