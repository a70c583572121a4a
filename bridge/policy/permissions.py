"""Which tool calls the permission rules of a definition's `allow` grant. Pure.

No pattern covers a command that could run another one; see `bridge.policy.globs` for
patterns of paths, `bridge.policy.permission_rules` for the rules. No rule grants a
change of what governs the session itself (`.claude`, `.git`, `.bridge`, `.hostbridge`,
`.mcp.json`), unless it names that folder or file.

What is granted to an agent with a worktree of its own is meant for that: it stands for
the project. The agent's calls begin in the session's folder, though: a command must
move (`cd WORKTREE &&`) unless it is there already.

Source: Claude Code permissions reference, "Permission rule syntax".
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from bridge.policy.command_options import NamedOptions, read_named
from bridge.policy.command_rules import Command, why_not
from bridge.policy.command_rules import covers as covers_command
from bridge.policy.globs import covers, from_root
from bridge.policy.looking import Sight, only_looks
from bridge.policy.permission_rules import (
    FAMILIES,
    Rule,
    command_specs,
    is_about,
    parse_rule,
)
from bridge.policy.shell_signs import after_cd, climbs
from bridge.policy.tool_paths import (
    PATH_KEYS,
    SEARCHES,
    governing,
    governing_above,
    host_of,
    paths_of,
)
from bridge.protocol.wording import in_shell

if TYPE_CHECKING:
    # A path as the tool was given it -> the real absolute path.
    Resolve = Callable[[str], str]

# How many files a search may be about for each to be looked at.
_MAX_BELOW = 10_000


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an agent.

    Attributes:
        tool: by the client's name.
        tool_input: its arguments.
        project: the real path of the folder that the agent works in.
        resolve: makes a path of the tool's absolute and follows links.
        main: the session's own project, if the agent has another folder. It may look at
            that as well.
        private: what it may not look at there: where hostbridge keeps what it knows,
            and the other worktrees.
        below: the paths of all that lies below a real one.
        is_tree: whether `project` is a worktree, at whose root git may look.
        withheld: rules of files that the user keeps from agents, if the agent has
            another folder, which has a copy of each.
        anywhere: whether rules of commands hold wherever a command starts, as the
            user's own do; otherwise in `project` alone, whose programs they name.
    """

    tool: str
    tool_input: Mapping[str, Any]
    project: str
    resolve: Resolve
    main: str | None = None
    private: tuple[str, ...] = ()
    below: Callable[[str], Iterable[str]] = lambda _: ()
    is_tree: bool = False
    withheld: tuple[str, ...] = ()
    anywhere: bool = False

    @property
    def command(self) -> str | None:
        """The command of a call of Bash."""
        command = self.tool_input.get("command")
        return command if isinstance(command, str) else None

    def is_inside(self, path: str) -> bool:
        """Whether a path of the tool's leads into the project."""
        return PurePosixPath(self.resolve(path)).is_relative_to(self.project)

    def is_readable(self, path: str) -> bool:
        """Whether the agent may look at what a path of the tool's leads to."""
        read = replace(self, tool="Read", tool_input={"file_path": path})
        if is_withheld(read):
            return False
        if self.is_inside(path):
            return True
        real = PurePosixPath(self.resolve(path))
        return (
            self.main is not None
            and real.is_relative_to(self.main)
            and not any(real.is_relative_to(folder) for folder in self.private)
        )

    def is_searchable(self, path: str) -> bool:
        """Whether the agent may look at all that lies below, too."""
        if not self.is_readable(path) or _is_withheld_below(self, path):
            return False
        kept = [each for each in self.private if not self.is_inside(each)]
        real = self.resolve(path)
        return not any(PurePosixPath(each).is_relative_to(real) for each in kept)

    def is_repository(self, path: str) -> bool:
        """Whether git may look where a path of the tool's leads."""
        return self.is_tree and self.resolve(path) == self.project

    def after_cd(self) -> Call:
        """The call that a leading `cd FOLDER &&` leaves to be made in that folder."""
        moved = after_cd(self.command or "")
        if moved is None:
            return self
        folder, command = moved
        plain = posixpath.normpath(folder)
        if climbs(folder) or self.resolve(folder) != self.resolve(plain):
            # `..` behind a link: a shell goes by the names, and elsewhere.
            return self
        return replace(
            self,
            tool_input={**self.tool_input, "command": command},
            resolve=lambda path: self.resolve(posixpath.join(folder, path)),
        )


def is_granted(rules: Iterable[str], call: Call) -> bool:
    """Whether any rule grants the call."""
    parsed = (parse_rule(rule) for rule in rules)
    try:
        return any(isinstance(rule, Rule) and _grants(rule, call) for rule in parsed)
    except ValueError:
        # A path that no file system can have.
        return False


def is_withheld(call: Call) -> bool:
    """Whether the user keeps the file that a call is about from agents.

    The client reads such a rule as git does a line of `.gitignore`: it holds at any
    depth, and for all that is in a folder. A search is about all that it may find.
    """
    if not call.withheld or call.tool not in PATH_KEYS:
        return False
    rules = [
        f"{rule.tool}({form.format(_withheld_name(rule))})"
        for rule in _path_rules(call)
        for form in ("{}", "**/{}", "{}/**", "**/{}/**")
    ]
    if any(is_granted(rules, replace(call, project=root)) for root in _roots(call)):
        return True
    if call.tool not in SEARCHES or not _withheld_names(call):
        return False
    paths = paths_of(call.tool, call.tool_input)
    return paths is None or any(_is_withheld_below(call, path) for path in paths)


def _is_withheld_below(call: Call, path: str) -> bool:
    """Whether a file below what a path leads to is withheld, or too many lie there."""
    names = _withheld_names(call)
    if not names:
        return False
    for count, found in enumerate(call.below(call.resolve(path))):
        real = PurePosixPath(found)
        if count == _MAX_BELOW or any(
            covers(name, str(real.relative_to(root)))
            for root in _roots(call)
            if real.is_relative_to(root)
            for name in names
        ):
            return True
    return False


def _withheld_names(call: Call) -> list[str]:
    """The patterns of what may not be read, at any depth."""
    return [
        f"**/{_withheld_name(rule)}"
        for rule in _path_rules(call)
        if is_about(rule, "Read")
    ]


def _withheld_name(rule: Rule) -> str:
    """`secrets/` is the folder, with all that is in it."""
    return from_root(rule.spec or "**").rstrip("/") or "**"


def _roots(call: Call) -> set[str]:
    return {call.project, call.main or call.project}


def _path_rules(call: Call) -> list[Rule]:
    return list(filter(None, map(_path_rule, call.withheld)))


def _path_rule(text: str) -> Rule | None:
    """A rule of a path in the project; an absolute one the client holds by itself."""
    rule = parse_rule(text)
    if not isinstance(rule, Rule) or rule.tool not in FAMILIES:
        return None
    return None if (rule.spec or "").startswith(("//", "~")) else rule


def looks(call: Call) -> bool:
    """Whether a call only looks at what its agent may look at."""
    try:
        if call.tool == "Bash":
            if call.tool_input.get("dangerouslyDisableSandbox"):
                return False
            sight = Sight(
                call.is_readable,
                call.is_searchable,
                call.is_repository,
                is_whole=not _withheld_names(call),
            )
            return only_looks(call.command or "", sight)
        if call.tool not in FAMILIES["Read"]:
            return False
        paths = paths_of(call.tool, call.tool_input)
        may = call.is_searchable if call.tool in SEARCHES else call.is_readable
        return paths is not None and all(map(may, paths))
    except ValueError:
        return False


def is_private(call: Call) -> bool:
    """Whether a call would be a look if nothing were private."""
    call = replace(call, withheld=())
    return not looks(call) and looks(replace(call, private=()))


def why_not_granted(rules: Iterable[str], call: Call) -> str | None:
    """Why a call is not granted, if there is more to say than that; None if not.

    There is if a rule names options of the same command, or the agent has a folder of
    its own and the call is about another one, or would show what is kept from it.
    """
    if not looks(call) and looks(replace(call, private=(), withheld=())):
        return (
            "what it would show is kept from this agent, or part of it may be; name "
            "files, or folders that hold none of it"
        )
    if call.tool in PATH_KEYS and call.main is not None:
        path = call.tool_input.get(PATH_KEYS[call.tool])
        if isinstance(path, str) and not call.is_inside(path):
            return f"this agent works in {call.project}, and {path!r} lies outside"
    if call.tool != "Bash" or call.command is None:
        return None
    specs = [*filter(None, command_specs(rules))]
    moved = after_cd(call.command)
    # Where nobody can tell, it may be outside.
    is_outside = moved is not None and climbs(moved[0])
    call = call.after_cd()
    if (specs or call.main is not None) and (is_outside or not call.is_inside(".")):
        return (
            "it would start outside the folder that this agent works in; begin it with "
            f"`{in_shell('cd', call.project)} && `"
        )
    try:
        why = why_not(specs, Command.of_line(call.command or ""), call.is_inside)
    except ValueError:
        return None
    if why or not specs or any(holds_in(spec, call, ".") for spec in specs):
        return why
    return (
        "it would start below the folder that this agent works in, where another "
        f"program may have its name; begin it with `{in_shell('cd', call.project)} && `"
    )


def _grants(rule: Rule, call: Call) -> bool:
    if not is_about(rule, call.tool):
        return False
    if call.tool == "Bash":
        return _grants_command(rule.spec, call)
    if rule.tool in FAMILIES:
        return _grants_path(rule, call)
    if rule.spec is None:
        return True
    if call.tool == "Agent":
        return bool(call.tool_input.get("subagent_type") == rule.spec)
    host = host_of(call.tool_input.get("url"))
    return host == rule.spec.removeprefix("domain:").lower()


def _grants_command(spec: str | None, call: Call) -> bool:
    if call.command is None or call.tool_input.get("dangerouslyDisableSandbox"):
        return False
    if spec is None:
        return True
    written = call.command
    moved = call.after_cd()
    if read_named(spec) or moved.resolve(".") == call.project:
        call = moved
    if not call.anywhere and not holds_in(spec, call, "."):
        return False
    command = Command.of_line(call.command or "", written=written)
    return covers_command(spec, command, call.is_inside)


def holds_in(spec: str, call: Call, folder: str) -> bool:
    """Whether a rule holds for a command that starts in a folder.

    It names a program of the project's, and the same words may start another one below:
    its Makefile; for git, the settings of a repository that lies there.
    """
    named = read_named(spec)
    if isinstance(named, NamedOptions) and named.words[0] != "git":
        return call.is_inside(folder)
    return call.resolve(folder) == call.project


def _grants_path(rule: Rule, call: Call) -> bool:
    paths = paths_of(call.tool, call.tool_input)
    if paths is None:
        return rule.spec is None and call.tool not in FAMILIES["Edit"]
    return all(_covers_path(rule, call, path) for path in paths)


def _covers_path(rule: Rule, call: Call, path: str) -> bool:
    real = call.resolve(path)
    spec = rule.spec or ""
    below = PurePosixPath(real)
    if below.is_relative_to(call.project) and not spec.startswith("//"):
        below = below.relative_to(call.project)
    if call.tool in FAMILIES["Edit"] and governing_of(call, below) - governing(spec):
        return False
    if rule.spec is None:
        return True
    if spec.startswith("//"):
        return covers(spec[1:], real)
    if below.is_absolute():
        return False
    return covers(from_root(spec), str(below))


def governing_of(call: Call, path: PurePosixPath) -> set[str]:
    """What governs a session on a path, which is absolute or in the call's project."""
    above = set() if path.is_absolute() else governing_above(call.project)
    return governing(path) | above
