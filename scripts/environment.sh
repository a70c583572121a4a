# Sourced by scripts/demo and scripts/test: makes .venv with hostbridge in it.
#
# Needs python3 (3.11 or newer) with venv. What is there already is used again, unless
# pyproject.toml has changed since. Sets: root python. `without` may say what can be done
# without the part that fails.

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf 'scripts: %s\n' "$*" >&2; exit 1; }

root=$(CDPATH='' cd -P -- "$(dirname -- "$0")/.." && pwd)
python=$root/.venv/bin/python
without=

find_base_python() {
    for base in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$base" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            return
        fi
    done
    fail "no Python 3.11 or newer with venv found; on Debian: apt-get install python3-venv"
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
    if ! [ -x "$python" ]; then
        say "making an environment in .venv (once; needs the package index)"
        "$base" -m venv "$root/.venv" || fail "cannot make $root/.venv with $base"
    fi
    case $1 in
    *local* | *dev*)
        say "compiling the part of llama.cpp that is used here, once: about two minutes on" \
            "two cores (pip keeps the wheel; the index has none)"
        command -v c++ >/dev/null || command -v g++ >/dev/null ||
            fail "no C++ compiler found; on Debian: apt-get install g++$without"
        ;;
    esac
    # Only the library: neither its vision part nor what its own programs share.
    export SKBUILD_BUILD_TARGETS=llama
    export SKBUILD_CMAKE_DEFINE="LLAVA_BUILD=OFF;CMAKE_PROJECT_llama_cpp_INCLUDE=$root/scripts/llama-only.cmake"
    # Verbose, since the bar counts the compiler's steps.
    "$python" "$root/bridge/testing/stage/progress.py" pip "$python" -m pip install --verbose \
        --progress-bar off --disable-pip-version-check --editable "$root$1" ||
        fail "pip could not install hostbridge$1$without"
    printf '%s\n' "$1 $project" >"$root/.venv/made-for"
}

# make_client: the Claude Code client that tests and demo drive, in a cache folder.
make_client() {
    say "finding the Claude Code client (npm installs it once, into a cache folder: up to" \
        "two minutes)"
    "$python" -m bridge.testing.stage.client >&2 ||
        fail "there is no client; one that you have will do:" \
            "BRIDGE_TEST_CLAUDE=/path/to/claude scripts/${0##*/}$without"
}
