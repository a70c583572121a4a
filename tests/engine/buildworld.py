"""Runs of `validate` and `build` in a real repository, answered by hand."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.pipeworld import PipeWorld
from gitworld import Repository

from bridge.api.validation_result import BuildResult, build_of_run, validation_of_run
from bridge.api.validators import find_validators
from bridge.change.scope import Scope
from bridge.engine.run import Run
from bridge.validation.look import Look, Work
from bridge.validation.plans import build_plan, validate_plan
from bridge.validation.report import Validation

CHECK = {"name": "intent", "passed": True}
APPROVED = {"verdict": "APPROVED", "summary": "fine", "checks": [CHECK], "issues": []}
ISSUE = {"severity": "error", "file": "a", "line": 2, "message": "two is no number"}
REJECTED = APPROVED | {"verdict": "REJECTED", "summary": "wrong", "issues": [ISSUE]}
UNDECIDED = APPROVED | {"verdict": "NEEDS_REVIEW", "summary": "cannot tell"}
TWO = ("validator-logic", "validator-security")


class BuildWorld(PipeWorld):
    """A project with one commit and a change, and runs over it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.repository = Repository(self.store.place.project)

    def look(self, *names: str, together: bool = False, **more: Any) -> Look:
        project = self.store.place.project
        wanted = names or TWO
        found = find_validators(self.settings, project, wanted, together=together)
        return Look(found, **{"named": True} | more)

    def validate(self, *names: str, scope: Scope | None = None, **more: Any) -> str:
        """A run of `validate`, its change read."""
        plan = validate_plan(self.look(*names, **more), asdict(scope or Scope()))
        run = self.begin(plan)
        self.do_all(run)
        return run

    def build(self, *names: str, look: Any = None, **more: Any) -> str:
        """A run of `build`, its builder asked."""
        given = {"task": "count to three", "agent": "a", "rounds": 3}
        work = Work(**given | {"escalate_to": "human"} | more)
        run = self.begin(build_plan(self.look(*names, **look or {}), work))
        self.do_all(run)
        return run

    def built(self, run: str, text: str = "one\n2\n", summary: str = "done") -> Run:
        """The builder writes, and answers."""
        self.repository.write("a", text)
        self.answer("a", summary)
        return self.do_all(run)

    def say(self, run: str, **answers: dict[str, Any]) -> Run:
        """Validators answer, in this order: `logic`, `security` and so on."""
        for name, answer in answers.items():
            self.answer_with(f"validator-{name}", answer)
            self.advance(run)
        return self.do_all(run)

    def round(self, run: str, text: str = "one\n2\n", **answers: Any) -> Run:
        """The builder writes, and validators answer."""
        self.built(run, text)
        return self.say(run, **answers)

    def validation(self, run: str) -> Validation:
        return validation_of_run(self.store, run)

    def result(self, run: str) -> BuildResult:
        return build_of_run(self.store, run)
