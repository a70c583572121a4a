"""What functions and shells are given to start: as words, and as input."""

import pytest
from stand_ins import make_world, really_started

from bridge.policy.started_programs import read

# Bodies of functions that start their first word, however it is written.
BY_WORD = [
    '"$@"', "$1", "$*", '"${@:1}"', 'shift 0; "$@"', "local c=$1; $c", 'eval "$*"',
    'bash -c "$1"', "sh -c '\"$@\"' _ \"$@\"", 'timeout 60 "$@"',
    'until "$@"; do break; done', 'while "$@"; do break; done', '!  "$@"',
    'if ! "$@"; then :; fi', 'time -p "$@"', 'env A=1 "$@"', 'echo a | xargs "$@"',
    'find . -maxdepth 0 -exec "$@" \\;', "for c; do $c; done",
    "for c in $*\ndo $c; done",
    'a=("$@"); "${a[@]}"', '( "$@" )', "echo `$1`", 'case x in x) "$@";; esac',
    '[[ -n $1 ]] && "$@"', 'x=$("$@")', "cat <($1)", 'bash <<< "$1"',
    "bash <<E\n$1\nE\n", 'echo "$1" | bash', 'trap "$1" EXIT', 'exec "$@"',
    "$1 & wait", 'A=1 >o "$@"', 'bin/"$1"', "./bin/${1}",
    "source <(echo $1)", 'printf -v c %s "$1"; $c', 'read c <<< "$1"; $c',
    'awk -v c="$1" \'BEGIN{system(c)}\'', "PS4='$('$1')'; set -x; :",
    'g() { "$@"; }; g "$@"', 'g() { if :; then g2 "$1"; fi; }; g2() { $1; }; g "$@"',
]  # fmt: skip
CALLS = [
    "f pytest", "if f pytest; then :; fi", "echo $(f pytest)", "eval 'f pytest'",
    "X='f pytest'; $X", "trap 'f pytest' EXIT", "export -f f; bash -c 'f pytest'",
    "true && f py''test | cat", "for i in pytest; do f $i; done", "f $'\\x70ytest'",
    "f $(echo pytest)", "set -- pytest; f $1", "f pytest <<E &&\nE\ntrue",
]  # fmt: skip
# Those that start what they read.
BY_INPUT = [
    "bash", "sh -s", "cat | bash", "bash <&0", "source /dev/stdin", "xargs env",
    "while read x; do $x; done", 'read -r x && eval "$x"', "exec 3<&0; bash <&3",
    "g() { bash; }; g", 'mapfile -t a; "${a[0]}"', "(exec bash)",
]  # fmt: skip
INPUTS = [
    "f <<< pytest", "echo pytest | f", "f <<E\npytest\nE\n", "f < <(echo pytest)",
    "{ f; } <<< pytest", "if f; then :; fi <<< pytest", "<<< pytest f",
    "exec <<< pytest; f", "cat <<'E' | f\npytest\nE\n",
]  # fmt: skip


def crossed(bodies: list[str], calls: list[str]) -> list[str]:
    """Each of the first with one of the second, in turns; and the other way round."""
    return [
        f"f() {{ {bodies[number % len(bodies)]}\n}}; {calls[number % len(calls)]}"
        for number in range(max(len(bodies), len(calls)))
    ]


# Where the lines of a here-document stand, and which descriptor is read.
ELSEWHERE = [
    "cat <<E | while read x\npytest\nE\ndo $x; done",
    "true <<E && {\n$(pytest)\nE\n:; }",
    "true <<E; if :\n$(pytest)\nE\nthen :; fi",
    "true <<E; for i in a\n$(pytest)\nE\ndo :; done",
    "true <<E; case a in a)\n$(pytest)\nE\n:;; esac",
    "true <<E; f() {\n$(pytest)\nE\n:; }",
    "cat <<E | { bash; }\npytest\nE\n",
    "{ cat <<E | { bash\npytest\nE\n} }",
    "cat <<'a\\b' >/dev/null\na\\b\npytest",
    'cat <<"a\\b" >/dev/null\na\\b\npytest',
    'cat <<"a\\"b" >/dev/null\na"b\npytest',
    "cat <<$(ls) >/dev/null\n$(ls)\npytest",
    "bash <<E\nenv $(echo pytest)\nE\n",
    "bash <<E\nx=$(cat <<A\necho 'pytest'\nA\n)\nE\n",
    "bash <<E\n${X:-env} ${Y:-pytest}\nE\n",
    "bash <<< pytest 3<<< x",
    "bash <<< pytest {x}<<< x",
    "bash 3<<< pytest <&3",
    "exec 3<<< pytest; bash <&3",
    "exec {x}<<< pytest; bash <&$x",
    "exec 3<<E\npytest\nE\nbash <&3",
    "exec <<E\npytest\nE\nbash",
    "f() { exec <<< pytest; }; f; bash",
    "bash /dev/fd/3 3<<< pytest",
    ". /dev/fd/3 3<<E\npytest\nE\n",
    "bash <<< pytest </dev/stdin",
    "f() { echo pytest; }; $(f)",
    "bash -c '$0 $1' bash <(echo pytest)",
    "f() { bash $1; }; f <(echo pytest)",
    "f() { g; }; g() { printf %s pytest; }; X=$(f); $X",
    "while read -r x; do $x; done < <(echo pytest)",
    'mapfile -t a < <(echo pytest); "${a[0]}"',
    "exec 3< <(echo pytest); read x <&3; $x",
    "{ pytest() { :; }; } & pytest",
    "{ pytest() { :; }; } | cat; pytest",
    "time pytest() { :; } | cat; pytest",
]
STARTING = [*crossed(BY_WORD, CALLS), *crossed(BY_INPUT, INPUTS), *ELSEWHERE]
# Functions that only say what they are given, and texts that nothing reads.
QUIET = [
    'log() { echo "$1" >&2; }; log "pytest -q"',
    'die() { printf "%s\\n" "$*"; return 1; }; die pytest || true',
    "usage() { cat; }; usage <<E\npytest\nE\n",
    'check() { grep -q "$1" ruff.toml; }; check pytest; cat <<< pytest | cat',
    "cat <<E | while read x; do echo $x; done\npytest\nE\n",
    "cat <<E && { ls; }\npytest\nE\n",
    "bash 3<<< pytest",
    "bash -c 'cat <&3' 3<<E\npytest\nE\n",
    'log() { echo $1; }; run() { "$@"; }; log pytest; run ls',
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("shell"))


@pytest.mark.parametrize("command", STARTING)
def test_what_bash_starts_is_never_ruled_out(command, world, tmp_path):
    assert really_started(command, world, tmp_path) == {"pytest"}
    assert read(command).runs(["pytest"]) is not False


@pytest.mark.parametrize("command", QUIET)
def test_what_is_only_printed_starts_nothing(command, world, tmp_path):
    assert really_started(command, world, tmp_path) == set()
    assert read(command).runs(["pytest"]) is False
