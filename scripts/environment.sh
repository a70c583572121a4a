# Sourced by scripts/demo and scripts/test: makes .venv with hostbridge in it.
#
# Needs python3 (3.11 or newer) with venv. What is there already is used again, unless
# pyproject.toml has changed since. Sets: root python.

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf 'scripts: %s\n' "$*" >&2; exit 1; }

root=$(CDPATH='' cd -P -- "$(dirname -- "$0")/.." && pwd)
python=$root/.venv/bin/python

find_base_python() {
    for base in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$base" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            return
        fi
    done
    fail "no Python 3.11 or newer with venv found; on Debian: apt-get install python3-venv"
}

# with_signs_of_life COMMAND ARGUMENTS: run it, and tell every half minute that it goes on.
with_signs_of_life() {
    (
        trap 'kill "$nap"; exit 0' TERM
        waited=0
        while :; do
            sleep 30 &
            nap=$!
            wait "$nap"
            waited=$((waited + 30))
            printf '   still at work, %d s\n' "$waited" >&2
        done
    ) &
    signs=$!
    if "$@"; then ended=0; else ended=$?; fi
    kill "$signs"
    wait "$signs" 2>/dev/null || true
    return "$ended"
}

# is_made EXTRAS: whether the environment has them; [dev] has all others, and each has
# what is needed without any.
is_made() {
    [ -x "$python" ] || return 1
    case $(cat "$root/.venv/made-for" 2>/dev/null) in
    "$1 $project" | "[dev] $project") ;;
    *" $project") [ -z "$1" ] ;;
    *) return 1 ;;
    esac
}

# make_environment EXTRAS: an environment with hostbridge and these extras.
make_environment() {
    project=$(cksum <"$root/pyproject.toml")
    is_made "$1" && return
    find_base_python
    say "making an environment in .venv (once; needs the package index)"
    [ -x "$python" ] || "$base" -m venv "$root/.venv" ||
        fail "cannot make $root/.venv with $base"
    case $1 in
    *local* | *dev*)
        say "llama-cpp-python has no wheel on the index: it is compiled once (about two" \
            "minutes on two cores; needs a C++ compiler), then pip keeps the wheel"
        command -v c++ >/dev/null || command -v g++ >/dev/null ||
            fail "no C++ compiler found; on Debian: apt-get install g++"
        ;;
    esac
    # Only the library: neither its vision part nor what its own programs share.
    export SKBUILD_BUILD_TARGETS=llama
    export SKBUILD_CMAKE_DEFINE="LLAVA_BUILD=OFF;CMAKE_PROJECT_llama_cpp_INCLUDE=$root/scripts/llama-only.cmake"
    with_signs_of_life "$python" -m pip install --quiet --disable-pip-version-check \
        --editable "$root$1" || fail "pip could not install hostbridge$1"
    printf '%s\n' "$1 $project" >"$root/.venv/made-for"
}

# make_client: the Claude Code client that tests and demo drive, in a cache folder.
make_client() {
    if [ -z "${BRIDGE_TEST_CLAUDE-}" ] && ! command -v npm >/dev/null; then
        fail "npm is needed to install the Claude Code client (npm, or node's own package)"
    fi
    say "finding the Claude Code client (installed once, by npm, into a cache folder)"
    PYTHONPATH=$root/scripts "$python" -m stage.client >&2 ||
        fail "the client could not be installed"
}
