"""`hostbridge rules new`: a rules file of comments, to be edited.

As it is written it has no rules, so that a model may write it, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bridge.cli.definitions.agents_new import create_in
from bridge.errors import InvalidRequest
from bridge.rules.freshness import FILE, folders_of

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge

TEXT = """\
# Rules for hostbridge: when an agent must run, and what may happen.
# None is in force yet: take away the "# " in front of what you want, then try it:
#
#     hostbridge rules check
#     hostbridge rules test --command "git push"
#
# All events, fields and functions: docs/rules.md

# What conditions ask about; in a session: hostbridge vars set NAME=VALUE
# variables:
#   validation_model: haiku

# Before a tool is called; a rule without `when` holds for each call of its `tools`.
# on_before_tool:
#   - name: no-push
#     when: runs(command, "git push")
#     block: Ask before you push.

#   - name: locked
#     tools: [Edit, MultiEdit, Write]
#     when: tool_input.file_path.endswith([".lock", ".env"])
#     block: "{{ tool_input.file_path }} is not edited by hand."

# This one comes with hostbridge: an agent runs the checks in the model's place.
#   - name: delegate-checks

# What the model is told when a session starts.
# on_session_start:
#   - inject_context: Tests are run with `make test`.

# Also: on_user_prompt, on_after_tool, on_subagent_stop and on_stop.
"""


def write_new(bridge: Bridge, *, in_project: bool) -> Path:
    """Write the file; returns it.

    Raises:
        InvalidRequest: there is one already.
    """
    place = bridge.store.place
    file = (
        folders_of(bridge.settings, place)["project" if in_project else "user"] / FILE
    )
    try:
        project = place.owner if in_project else None
        create_in(project, bridge.settings.home, (FILE,), TEXT)
    except FileExistsError:
        raise InvalidRequest(f"{file} is there already, and stays as it is") from None
    return file
