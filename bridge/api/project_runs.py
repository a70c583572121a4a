"""The runs of one project: flows, pipelines, validation, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

from bridge.api.project import Project
from bridge.errors import NoHost, NoRoute

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.api.flow_result import FlowResult
    from bridge.api.run_flow import Runner
    from bridge.api.run_options import BuildOptions, RunOptions, ValidateOptions
    from bridge.api.validation_result import BuildResult
    from bridge.change.scope import Scope
    from bridge.validation.report import Validation


class ProjectRuns(Project):
    """What `Bridge` can do with runs: begin one, go on with it, say what it came to."""

    def run(
        self,
        flow: str | Path,
        params: dict[str, Any] | None = None,
        **options: Unpack[RunOptions],
    ) -> FlowResult:
        """Run a flow or a pipeline to its end; `RunOptions` explains the options.

        `flow` is a path, a name (of `.bridge/flows` or `.bridge/workflows`, once
        trusted, of the same folders in `~/.hostbridge`, or built in) or the text of a
        flow. One that fails does not raise: `success` is False, and `why` says why. A
        flow's `params` are texts, a pipeline's are what its inputs take.

        Raises:
            InvalidFlow, InvalidWorkflow: it has errors; nothing was asked.
            InvalidRequest: there is none, or a parameter is missing or unknown.
            NotTrusted: the project brings it, and its user has not agreed to that.
            NoHost, NoRoute, UnknownAgent, BadDefinition: nothing was asked.
            CannotWaitHere: it has begun, but the only host would have to wait for
                itself.
        """
        return self._runner().run(flow, params or {}, options)

    def resume(self, run: str, **options: Unpack[RunOptions]) -> FlowResult:
        """Go on with a run that was paused, failed or left, and see it to its end.

        Raises:
            InvalidRequest: there is no such run, or it has completed.
            BadRun: its files are not as they were written.
        """
        return self._runner().resume(run, options)

    def validate(
        self,
        scope: str | Iterable[str] | Scope | None = None,
        **options: Unpack[ValidateOptions],
    ) -> Validation:
        """Have validators look at a change, side by side; `ValidateOptions` has more.

        `scope` is what `hostbridge validate` takes: revisions and paths, in words or
        as a list of words; by default what is not committed. A validator that fails,
        does not answer in time, or was not itself approves nothing: its report says
        why. A run that does not come to its end is a `NEEDS_REVIEW` with the reason.

        Raises:
            InvalidRequest: it is no scope, or an agent is no validator; nothing was
                asked.
            NoHost, NoRoute, UnknownAgent, BadDefinition, NotTrusted: nothing was asked.
            CannotWaitHere: it has begun, but the only host would have to wait for
                itself.
        """
        from bridge.api.validate import begin_validation, find_nothing
        from bridge.api.validation_result import refuse_unread, validation_of_run

        runner = self._runner()
        try:
            run, given = begin_validation(runner, scope, options)
        except (NoHost, NoRoute):
            # Of an empty change nobody need be asked.
            if nothing := find_nothing(runner, scope, options):
                return nothing
            raise
        runner.follow(run, given)
        refuse_unread(self.store, run)
        return validation_of_run(self.store, run)

    def build_and_validate(
        self, task: str, **options: Unpack[BuildOptions]
    ) -> BuildResult:
        """Have something built, and looked at, until it is approved.

        What validators find goes back to the builder, `rounds` times at most; then it
        is escalated. `BuildOptions` explains the options. Go on with a run that was
        stopped with `resume`; `build_result` then has what it came to.

        Raises:
            InvalidRequest: the task is empty, or an agent is no validator; nothing was
                asked.
            NoHost, NoRoute, UnknownAgent, BadDefinition, NotTrusted: nothing was asked.
            CannotWaitHere: as `validate`.
        """
        from bridge.api.validate import begin_build
        from bridge.api.validation_result import build_of_run

        runner = self._runner()
        run, given = begin_build(runner, task, options)
        runner.follow(run, given)
        return build_of_run(self.store, run)

    def validation(self, run: str) -> Validation:
        """What a run of `validate` came to, or how far it is; raises as `resume`.

        Raises:
            InvalidRequest: it is a run of something else; names what has its end.
        """
        from bridge.api.validation_result import validation_of_run

        return validation_of_run(self.store, run)

    def build_result(self, run: str) -> BuildResult:
        """What a run of `build_and_validate` came to, or how far it is.

        Raises:
            InvalidRequest: as `validation`.
        """
        from bridge.api.validation_result import build_of_run

        return build_of_run(self.store, run)

    def _runner(self) -> Runner:
        from bridge.api.run_flow import Runner

        return Runner(self.store, self.settings, self.quick)
