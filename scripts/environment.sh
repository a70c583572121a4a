# Sourced by scripts/demo and scripts/test: makes .venv with hostbridge in it.
#
# Needs python3 (3.11 or newer) with venv. What is there already is used again, unless
# what it was made from has changed since. Sets: root python. `without` may say what can
# be done without the part that fails. Nothing is imported from the folder of the caller:
# -I keeps it out in any Python 3, -P since 3.11.

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf 'scripts: %s\n' "$*" >&2; exit 1; }

root=$(CDPATH='' cd -P -- "$(dirname -- "$0")/.." && pwd)
python=$root/.venv/bin/python
without=

find_base_python() {
    for base in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$base" -I -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
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
    # What it is made from, and how.
    project=$(cat "$root/pyproject.toml" "$root/bridge/extras.py" \
        "$root/scripts/environment.sh" "$root/scripts/llama-only.cmake" | cksum)
    is_made "$1" && return
    find_base_python
    if ! [ -x "$python" ]; then
        say "making an environment in .venv (once; needs the package index)"
        "$base" -I -m venv "$root/.venv" || fail "cannot make $root/.venv with $base"
    fi
    case $1 in
    *local* | *dev*)
        find_compiler
        say "compiling the part of llama.cpp that is used here, once: about two minutes on" \
            "two cores (the wheel is kept; the index has none)"
        install_llama
        install --editable "$root$1"
        llama_runs || {
            say "it does not run here: compiling it again"
            rm -rf "$builds/wheels"
            install_llama --no-binary llama-cpp-python
            llama_runs || fail "llama.cpp was compiled twice, and does not run here;" \
                "another compiler may do: CC=clang CXX=clang++ scripts/${0##*/}$without"
        }
        ;;
    *) install --editable "$root$1" ;;
    esac
    printf '%s\n' "$1 $project" >"$root/.venv/made-for"
}

find_compiler() {
    for compiler in "${CXX:-c++}" c++ g++ clang++; do
        # It may be named with options.
        command -v "${compiler%% *}" >/dev/null && return
    done
    fail "no C++ compiler found; on Debian: apt-get install g++$without"
}

# install ARGUMENTS: pip install. Verbose, since the bar counts the compiler's steps.
install() {
    "$python" "$root/bridge/testing/stage/progress.py" pip "$python" -P -m pip install --verbose \
        --progress-bar off --disable-pip-version-check "$@" ||
        fail "pip could not install what hostbridge needs$without"
}

# install_llama OPTIONS: llama.cpp for most processors, whatever the user compiles for, and
# only the library: neither its vision part nor what its own programs share. Its wheel is
# kept apart. Those in pip's cache may have been made for one processor, or elsewhere; and
# who takes one from there expects all parts.
install_llama() {
    arguments=$("$python" -P "$root/bridge/extras.py")
    builds=${BRIDGE_TEST_CACHE:-$HOME/.cache/hostbridge-tests}/llama-$(
        printf %s "$arguments" | cksum | tr ' ' -
    )
    (
        unset CFLAGS CXXFLAGS SOURCE_DATE_EPOCH
        export CMAKE_ARGS="$arguments" SKBUILD_BUILD_TARGETS=llama
        export SKBUILD_CMAKE_DEFINE="LLAVA_BUILD=OFF;CMAKE_PROJECT_llama_cpp_INCLUDE=$root/scripts/llama-only.cmake"
        install --cache-dir "$builds" --force-reinstall --no-deps "$@" \
            "$(sed -n 's/^ *"\(llama-cpp-python>.*\)",$/\1/p' "$root/pyproject.toml")"
    ) || exit
}

# llama_runs: whether the small model that comes with it says one token.
llama_runs() {
    say "trying it: one token"
    "$python" -P -m bridge.llama.selftest
}

# make_client: the Claude Code client that tests and demo drive, in a cache folder.
make_client() {
    say "finding the Claude Code client (npm installs it once, into a cache folder: up to" \
        "two minutes)"
    "$python" -P -m bridge.testing.stage.client >&2 ||
        fail "there is no client; one that you have will do:" \
            "BRIDGE_TEST_CLAUDE=/path/to/claude scripts/${0##*/}$without"
}

# may_start_programs FOLDER: whether the system starts programs that are in it.
may_start_programs() {
    tried=$(mktemp "$1/hostbridge-XXXXXX" 2>/dev/null) || return
    printf '#!/bin/sh\n' >"$tried" && chmod +x "$tried"
    if "$tried" 2>/dev/null; then may=0; else may=1; fi
    rm -f "$tried"
    return "$may"
}
