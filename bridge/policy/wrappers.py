"""Programs that start other programs, and where in their arguments those are. Pure.

`unwrap` takes the words of one command and says what it would start itself:

    [Argv]      the words of another program: `env X=1 pytest` → pytest
    [Script]    text for a shell: `bash -c 'cd x && pytest'`
    [Opaque]    text for something else (`python -c`), or nothing that is known
                (`$CMD`): what it starts cannot be told

One table holds the options that take a value, for a value is not the program. Programs
that are not in it start nothing that their arguments name: `pip install pytest`.

Source: the manuals of the programs named.
"""

from __future__ import annotations

import re

from bridge.policy.bash_syntax import UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Words = list[str]


class Argv:
    """The words of a program that is started."""

    __slots__ = ("words",)

    def __init__(self, words: Words) -> None:
        self.words = words


class Script:
    """Text that a shell reads."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Opaque:
    """What cannot be read as a command: its text, or None if that is not known."""

    __slots__ = ("text",)

    def __init__(self, text: str | None) -> None:
        self.text = text


class Stdin:
    """What comes in by standard input is read: by a shell, or by something else."""

    __slots__ = ("is_shell",)

    def __init__(self, *, is_shell: bool) -> None:
        self.is_shell = is_shell


class Wrapper:
    """How to find the program in the arguments of another.

    Attributes:
        values: options that take a value.
        skip: how many operands stand before the program.
        sets: whether `NAME=value` may stand before it.
        scripts: options whose value a shell reads.
        modules: options whose value is the program, as in `python -m`.
        codes: options whose value is code for something that is no shell.
        none: with these nothing is started: `command -v`.
        is_script: operands together are text for a shell: `watch`, `eval`.
        is_dashed: the program stands after `--` only.
        has_version: the program may be written `name@version`.
    """

    __slots__ = (
        "codes", "has_version", "is_dashed", "is_script", "modules", "none", "scripts",
        "sets", "skip", "values",
    )  # fmt: skip

    def __init__(
        self,
        values: str = "",
        *,
        skip: int = 0,
        sets: bool = False,
        scripts: str = "",
        modules: str = "",
        codes: str = "",
        none: str = "",
        is_script: bool = False,
        is_dashed: bool = False,
        has_version: bool = False,
    ) -> None:
        self.scripts = frozenset(scripts.split())
        self.modules = frozenset(modules.split())
        self.codes = frozenset(codes.split())
        taking = self.scripts | self.modules | self.codes
        self.values = frozenset(values.split()) | taking
        self.none = frozenset(none.split())
        self.skip = skip
        self.sets = sets
        self.is_script = is_script
        self.is_dashed = is_dashed
        self.has_version = has_version


_RUN = Wrapper()
_GROUP = Wrapper(sets=True)
_PACKAGE = Wrapper(
    "-p --package --from --with --python --index-url", scripts="-c --call",
    has_version=True,
)  # fmt: skip
_PYTHON = Wrapper("-W -X --check-hash-based-pycs", modules="-m", codes="-c")
_SU = Wrapper("-s --shell -g -G -w", scripts="-c --command", skip=99)
_TRACE = Wrapper("-o -e -p -s -E -u -a -O -P -S -I -b -X -n -l -F -A -w")

WRAPPERS = {
    # The environment, the user, the time, the terminal.
    "env": Wrapper("-u --unset -C --chdir", sets=True, scripts="-S --split-string"),
    "sudo": Wrapper(
        "-u --user -g --group -h --host -p --prompt -C --close-from -T "
        "--command-timeout -r --role -t --type -D --chdir -R --chroot -U --other-user",
        sets=True, none="-l --list -v --validate -K -e --edit -V --version",
    ),
    "doas": Wrapper("-u -C"),
    "su": _SU,
    "runuser": _SU,
    "sg": Wrapper(skip=99, scripts="-c"),
    "pkexec": Wrapper("--user"),
    "time": Wrapper("-f --format -o --output", sets=True),
    "nice": Wrapper("-n --adjustment"),
    "ionice": Wrapper("-c --class -n --classdata", none="-p --pid"),
    "chrt": Wrapper("-T -P -D", skip=1, none="-p --pid -m"),
    "taskset": Wrapper(skip=1, none="-p --pid"),
    "nohup": _RUN,
    "setsid": _RUN,
    "timeout": Wrapper("-s --signal -k --kill-after", skip=1),
    "gtimeout": Wrapper("-s --signal -k --kill-after", skip=1),
    "stdbuf": Wrapper("-i --input -o --output -e --error"),
    "unbuffer": _RUN,
    "xvfb-run": Wrapper("-e --error-file -f --auth-file -n --server-num -s -p -w"),
    "dbus-run-session": Wrapper("--config-file"),
    "caffeinate": Wrapper("-t -w"),
    "systemd-run": Wrapper("-p --property -u --unit -M --machine -E --setenv --slice"),
    "chroot": Wrapper("--groups --userspec", skip=1),
    "unshare": Wrapper("-S --setuid -G --setgid -R --root -w --wd"),
    "nsenter": Wrapper("-t --target -S --setuid -G --setgid"),
    "setarch": Wrapper(skip=1),
    "firejail": _RUN,
    "faketime": Wrapper("-f", skip=1),
    "strace": _TRACE,
    "ltrace": _TRACE,
    "valgrind": _RUN,
    "perf record": Wrapper("-e -F -o -g -p -t -C -c --call-graph"),
    "perf stat": Wrapper("-e -o -r -p -t -I"),
    "gdb": Wrapper("-ex -x -iex", is_dashed=False, none="-p --pid"),
    "flock": Wrapper(
        "-w --wait --timeout -E --conflict-exit-code", skip=1, scripts="-c --command"
    ),
    "script": Wrapper(
        "-T -I -O -B -E -m -o --log-out --log-in --echo", skip=1,
        scripts="-c --command",
    ),
    "expect": Wrapper(codes="-c"),
    # Builtins.
    "command": Wrapper(none="-v -V"),
    "builtin": _RUN,
    "exec": Wrapper("-a"),
    "coproc": _GROUP,
    # The parser takes these for commands after `time`, `!` and `coproc`.
    **dict.fromkeys("{ ! if then else elif while until do".split(), _GROUP),
    "eval": Wrapper(is_script=True),
    # Once for each of something.
    "xargs": Wrapper(
        "-I -n -P -d -L -a -s -E --max-args --max-procs --delimiter --arg-file "
        "--max-lines --max-chars"
    ),
    "watch": Wrapper("-n --interval -q --equexit", is_script=True),
    "parallel": Wrapper(
        "-j --jobs -a --arg-file -I -n -N --colsep --joblog --timeout --delay "
        "--results --workdir --tmpdir -S --retries",
        is_script=True,
    ),
    "entr": Wrapper(scripts="-s"),
    "hyperfine": Wrapper(
        "-w --warmup -m --min-runs -M --max-runs -r --runs -P -D -L -S --shell -n "
        "--command-name --export-json --export-markdown --export-csv --style -u",
        scripts="-p --prepare -s --setup -c --cleanup --conclude", is_script=True,
    ),
    "git bisect run": _RUN,
    "git submodule foreach": Wrapper(is_script=True),
    "git rebase": Wrapper("--onto -s -X", scripts="-x --exec", skip=99),
    # Packages of a language.
    "uv run": Wrapper(
        "--with --with-editable --with-requirements -p --python --extra --group "
        "--only-group --no-group --no-extra --project --directory --env-file --package "
        "--index --default-index -i --index-url --extra-index-url --config-file "
        "--cache-dir --refresh-package --color -C --config-setting --link-mode "
        "--isolated-from -P --upgrade-package",
        modules="-m --module",
    ),
    "uvx": _PACKAGE,
    "uv tool run": _PACKAGE,
    "pipx run": Wrapper("--spec --python --pip-args --index-url -i", has_version=True),
    "poetry run": _RUN,
    "pdm run": Wrapper("-p --project --venv"),
    "pipenv run": _RUN,
    "rye run": _RUN,
    "pixi run": Wrapper("-e --environment --manifest-path"),
    "hatch run": _RUN,
    "hatch env run": Wrapper("-e --env"),
    "conda run": Wrapper("-n --name -p --prefix --cwd"),
    "mamba run": Wrapper("-n --name -p --prefix --cwd"),
    "micromamba run": Wrapper("-n --name -p --prefix --cwd"),
    "tox exec": Wrapper(is_dashed=True),
    "coverage run": Wrapper(
        "--source --omit --include --rcfile --data-file --concurrency --context "
        "--debug", modules="-m --module",
    ),
    "pdb": Wrapper("-c", modules="-m"),
    "ipython": Wrapper(modules="-m", codes="-c"),
    "npx": _PACKAGE,
    "bunx": _PACKAGE,
    "bun x": _PACKAGE,
    "npm exec": _PACKAGE,
    "npm x": _PACKAGE,
    "pnpm exec": _PACKAGE,
    "pnpm dlx": _PACKAGE,
    "yarn exec": _PACKAGE,
    "yarn dlx": _PACKAGE,
    "bundle exec": _RUN,
    "rbenv exec": _RUN,
    "pyenv exec": _RUN,
    "asdf exec": _RUN,
    "mise exec": Wrapper(is_dashed=True, scripts="-c --command"),
    "mise x": Wrapper(is_dashed=True, scripts="-c --command"),
    "direnv exec": Wrapper(skip=1),
    "nix-shell": Wrapper(
        "-p --packages -A --attr -I", skip=99, scripts="--run --command"
    ),
    "nix develop": Wrapper("-c --command", skip=99),
    "dotenv": Wrapper("-f --file -e"),
    "dotenv run": Wrapper("-f --file"),
    "doppler run": Wrapper(is_dashed=True, scripts="--command"),
    "op run": Wrapper(is_dashed=True),
    "busybox": _RUN,
    # Code of other languages.
    "node": Wrapper("-r --require --import", codes="-e --eval -p --print"),
    "ruby": Wrapper("-I -r", codes="-e"),
    "perl": Wrapper("-I -M -m", codes="-e -E"),
    "php": Wrapper("-d -c -f", codes="-r"),
    "awk": Wrapper("-F -v", codes="-e --source", skip=99),
    "trap": Wrapper(is_script=True),
}  # fmt: skip

# What these start may be elsewhere, or later; their arguments say it in some way.
_ELSEWHERE = frozenset({
    "ssh", "tmux", "screen", "docker run", "docker exec", "docker compose run",
    "docker compose exec", "docker-compose run", "docker-compose exec", "podman run",
    "podman exec", "kubectl exec", "kubectl run", "cmd", "cmd.exe", "powershell",
    "powershell.exe", "pwsh", "wsl", "osascript", "at", "batch", "crontab", "vagrant",
})  # fmt: skip
# Options that take a value and stand before the subcommand.
GLOBALS = {
    "git": frozenset("-C -c --git-dir --work-tree --namespace --exec-path".split()),
    "uv": frozenset("--directory --project --config-file --cache-dir --color".split()),
    "poetry": frozenset("-C --directory -P --project".split()),
    "npm": frozenset("--prefix -C -w --workspace".split()),
    "pnpm": frozenset("-C --dir -F --filter".split()),
    "yarn": frozenset(["--cwd"]),
    "pdm": frozenset("-p --project -c --config".split()),
    "docker": frozenset("-c --context -H --host -l --config --log-level".split()),
    "docker compose": frozenset("-f --file -p --project-name --profile".split()),
    "docker-compose": frozenset("-f --file -p --project-name --profile".split()),
    "kubectl": frozenset("-n --namespace --context --kubeconfig".split()),
    "cargo": frozenset("-C --config --color".split()),
    "gh": frozenset("-R --repo".split()),
    "dotenv": frozenset("-f --file -e".split()),
}
_NO_OPTIONS: frozenset[str] = frozenset()
_SHELLS = frozenset("bash sh zsh dash ksh ash mksh fish rbash".split())
_SHELL_VALUES = frozenset("-o -O +o +O --rcfile --init-file".split())
_SOURCES = frozenset({"source", "."})
# Names, as the parser sees it, of what begins a test or a group.
_SIGNS = frozenset({"[", "{", "}", "!"})
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_PYTHONS = re.compile(r"(?:python|pypy|pythonw)[\d.]*t?(?:\.exe)?")
_ASSIGNMENT = re.compile(r"[^=\s]+=")
# Tests and listings at the end of a `find`: everything else ends an -exec.
_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD = frozenset({"-x", "--exec", "-X", "--exec-batch"})


def program(word: str) -> str | None:
    """The name of the program that a word starts; None if only the shell knows.

    `"$VENV/bin/pytest"` is pytest, wherever it is.
    """
    name = word.replace("\\", "/").rpartition("/")[2]
    if UNKNOWN in name or not name:
        return None
    raw = word.raw if isinstance(word, Word) else word
    raw = re.sub(r"\$\{[^}]*\}", "", raw)
    # A pattern, or braces: the shell puts something else there.
    is_pattern = re.search(r"[*?\[{]", raw) and not re.search(r"['\"\\]", raw)
    return None if is_pattern and name not in _SIGNS else name


def unwrap(words: Words) -> list[Argv | Script | Opaque | Stdin]:
    """What a command starts beside itself; its own name must be known."""
    name = program(words[0]) or ""
    rest = words[1:]
    if name in _SHELLS:
        return [_shell(rest)]
    if name in _SOURCES:
        return [_sourced(rest)] if rest else []
    if _PYTHONS.fullmatch(name):
        return _unwrapped(_PYTHON, rest) or [Stdin(is_shell=False)]
    if name == "find":
        return _each_exec(rest, _FIND, ends={";", "+"})
    if name in {"fd", "fdfind"}:
        return _each_exec(rest, _FD, ends={";"})
    if name in {"coproc", "function"} and rest[1:2] == ["{"]:
        return [Argv(rest[1:])]
    if name == "alias":
        return [Script(one.partition("=")[2]) for one in rest if "=" in one]
    if name in {"awk", "gawk", "mawk", "nawk"}:
        return _awk(rest)
    return _by_table(name, rest)


def _by_table(name: str, rest: Words) -> list[Argv | Script | Opaque | Stdin]:
    key, arguments = name, rest
    # `git -C x bisect run`: up to three words name the wrapper.
    found: tuple[str, Words] | None = None
    for _ in range(3):
        if key in WRAPPERS or key in _ELSEWHERE:
            found = key, arguments
        place = next_operand(arguments, GLOBALS.get(key, _NO_OPTIONS))
        if place is None:
            break
        key, arguments = f"{key} {arguments[place]}", arguments[place + 1 :]
    if key in WRAPPERS or key in _ELSEWHERE:
        found = key, arguments
    if found is None:
        return []
    key, arguments = found
    if key in _ELSEWHERE:
        return [Opaque(" ".join(arguments))]
    if key == "xargs":
        return _xargs(arguments)
    if key == "trap":
        return [Script(arguments[0])] if arguments else []
    return _unwrapped(WRAPPERS[key], arguments)


def next_operand(words: Sequence[str], values: frozenset[str]) -> int | None:
    """Where the first word is that is neither an option nor its value."""
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("-") or word == "-":
            return at
        if word == "--":
            return at + 1 if at + 1 < len(words) else None
        at += 2 if word in values else 1
    return None


def _unwrapped(
    wrapper: Wrapper, words: Words
) -> list[Argv | Script | Opaque | Stdin]:
    """Go through the options; what is left is the program."""
    found: list[Argv | Script | Opaque | Stdin] = []
    skip = wrapper.skip
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            if wrapper.is_dashed or not skip:
                break
        elif word.startswith("-") and word != "-":
            option, value, at = _option(wrapper, words, at)
            if option in wrapper.none:
                return []
            if value is None:
                continue
            if option in wrapper.scripts:
                found.append(Script(value))
            elif option in wrapper.codes:
                return [*found, Opaque(value)]
            elif option in wrapper.modules:
                return [*found, Argv([value, *words[at:]])]
        elif wrapper.sets and (word == "-" or _ASSIGNMENT.match(word)):
            at += 1
        elif wrapper.is_dashed or skip:
            skip -= 1
            at += 1
        else:
            break
    rest = words[at:]
    if not rest:
        return found
    if wrapper.is_script:
        return [*found, *_scripts(wrapper, rest)]
    if wrapper.has_version:
        rest = [_without_version(rest[0]), *rest[1:]]
    return [*found, Argv(rest)]


def _scripts(wrapper: Wrapper, rest: Words) -> list[Argv | Script | Opaque | Stdin]:
    if wrapper is WRAPPERS["hyperfine"]:
        return [Script(one) for one in rest]
    if wrapper is WRAPPERS["parallel"]:
        ends = [at for at, one in enumerate(rest) if one.startswith(":::")]
        rest = rest[: ends[0]] if ends else rest
        # Without a command, each argument is one.
        return [Script(" ".join(rest))] if rest else [Opaque(None)]
    return [Script(" ".join(rest))]


def _option(wrapper: Wrapper, words: Words, at: int) -> tuple[str, str | None, int]:
    """An option, its value if it takes one, and the index after both."""
    word = words[at]
    following = words[at + 1] if at + 1 < len(words) else UNKNOWN
    if word.startswith("--"):
        name, sign, value = word.partition("=")
        if sign:
            return name, value, at + 1
        return (name, following, at + 2) if name in wrapper.values else (name, None, at + 1)
    if word in wrapper.values:
        return word, following, at + 2
    for place, letter in enumerate(word[1:], 2):
        option = f"-{letter}"
        if option in wrapper.none:
            return option, None, at + 1
        if option in wrapper.values:
            value = word[place:]
            return (option, value, at + 1) if value else (option, following, at + 2)
    return word, None, at + 1


def _without_version(word: str) -> str:
    name, sign, _version = word.rpartition("@")
    return name if sign and name and not name.endswith("/") else word


def _shell(words: Words) -> Argv | Script | Opaque | Stdin:
    """`bash -c TEXT`, `bash FILE`, or a shell that reads its standard input."""
    is_text = is_stdin = False
    at = 0
    while at < len(words) and words[at][:1] in {"-", "+"} and words[at] not in _STDIN:
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += word in _SHELL_VALUES
            is_text = is_text or word == "--command"
            continue
        is_text = is_text or "c" in word[1:]
        is_stdin = is_stdin or "s" in word[1:]
        # Each `o` in a cluster takes a value: `-euo pipefail`.
        at += sum(word[1:].count(letter) for letter in "oO")
    rest = words[at:]
    if is_text:
        return Script(rest[0]) if rest else Opaque(None)
    if is_stdin or not rest or rest[0] in _STDIN:
        return Stdin(is_shell=True)
    return Argv(rest)


def _sourced(words: Words) -> Argv | Script | Opaque | Stdin:
    return Stdin(is_shell=True) if words[0] in _STDIN else Argv(words)


def _each_exec(
    words: Words, options: frozenset[str], *, ends: set[str]
) -> list[Argv | Script | Opaque | Stdin]:
    """The programs of `find … -exec PROGRAM … ;`."""
    found: list[Argv | Script | Opaque | Stdin] = []
    at = 0
    while at < len(words):
        at += 1
        if words[at - 1] not in options:
            continue
        first = at
        while at < len(words) and words[at] not in ends:
            at += 1
        if first < at:
            found.append(Argv(_replaced(words[first:at], "{}")))
    return found


def _xargs(words: Words) -> list[Argv | Script | Opaque | Stdin]:
    """What comes in becomes more arguments, or takes the place of the mark."""
    mark = None
    for at, word in enumerate(words):
        if word.startswith("-I") and not word.startswith("--"):
            mark = word[2:] or (words[at + 1] if at + 1 < len(words) else None)
            break
        if word in {"-i", "--replace"} or word.startswith("--replace="):
            mark = word.partition("=")[2] or "{}"
            break
        if not word.startswith("-"):
            break
    words = [word for word in words if word not in {"-i", "--replace"}]
    started = _unwrapped(WRAPPERS["xargs"], words)
    for one in started:
        if isinstance(one, Argv):
            one.words = _replaced(one.words, mark) if mark else [*one.words, UNKNOWN]
    return started


def _replaced(words: Words, mark: str) -> Words:
    return [word.replace(mark, UNKNOWN) if mark in word else word for word in words]


def _awk(words: Words) -> list[Argv | Script | Opaque | Stdin]:
    """A program in awk starts others by `system`, or by a pipe."""
    texts = [word for word in words if "system" in word or "|" in word]
    return [Opaque(text) for text in texts]
