# Sourced by every hook: finds the state directory, or leaves when there is no work.
#
#     . lib.sh EVENT KIND [PYTHON]
#
# KIND names the install that registered the hook (local, user, project, plugin): where
# several are, the first to see a session acts for it. PYTHON is the interpreter that has
# hostbridge; a plugin finds its own. Builtins only until there is work to do: an idle
# hook costs what it costs to start a shell.
#
# Sets: event kind state session. The rule for `state` is bridge/store/place.py's, and for
# a linked worktree bridge/store/worktree.py's.

# Exit 2 would block the session, and a shell exits 2 on its own errors.
trap 'exit 0' 0
event=$1 kind=$2 python=${3-}

# Below a request of ours: this client serves that one, and no queue.
[ -z "${BRIDGE_PARENT-}" ] || exit 0
# What counts as off is what bridge/config.py says: in any case, spaces around it or not.
off=${BRIDGE_OFF-}
off=${off#"${off%%[![:space:]]*}"}
case ${off%"${off##*[![:space:]]}"} in
'' | 0 | [Ff][Aa][Ll][Ss][Ee] | [Nn][Oo] | [Oo][Ff][Ff]) ;;
*) exit 0 ;;
esac

# Let a linked worktree belong to its main one: to the one that its `.git` file names, if
# that one names it in turn. Sets `project`; the working folder stays what it was.
find_main() {
    [ -f "$project/.git" ] && [ ! -h "$project/.git" ] || return
    # `read` has no limit of its own: a line without an end is to end with the hook, and
    # that without a core file in the project.
    ulimit -S -c 0 && ulimit -S -t 1 || return
    main_of "$project" "$PWD"
    ulimit -S -t unlimited || ulimit -S -t 60
}

main_of() {
    line=
    IFS= read -r line <"$1/.git"
    case $line in 'gitdir: '*/.git/worktrees/?*) ;; *) return ;; esac
    main=${line%/.git/worktrees/*} entry=${line##*/.git/worktrees/}
    case $entry in */* | . | ..) return ;; esac
    main=${main#gitdir: }
    case $main in '' | /*) ;; *) main=$1/$main ;; esac
    entry=$main/.git/worktrees/$entry
    [ -f "$entry/gitdir" ] && [ ! -h "$entry/gitdir" ] || return
    line=
    IFS= read -r line <"$entry/gitdir"
    case $line in */.git) line=${line%.git} ;; *) return ;; esac
    case $line in /*) ;; *) line=$entry/$line ;; esac
    cd -P -- "$line" && [ "${PWD%/}" = "$1" ] && cd -P -- "${main:-/}" && project=$PWD
    cd -P -- "$2"
}

home=${BRIDGE_HOME:-${HOME-}/.hostbridge}
case $home in /*) ;; *) exit 0 ;; esac
if [ -n "${BRIDGE_STATE_DIR-}" ]; then
    state=$BRIDGE_STATE_DIR
else
    CDPATH='' cd -P -- "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null || exit 0
    project=$PWD
    while [ -n "$project" ] && [ ! -e "$project/.git" ] && [ ! -h "$project/.git" ]; do
        project=${project%/*}
    done
    # Nothing up to the top: the folder itself, unless the top is a repository.
    if [ -z "$project" ] && [ ! -e /.git ]; then project=$PWD; fi
    find_main 2>/dev/null
    [ "$project" = / ] && project=
    case $project in
    */@*)
        rest=${project#/} project=
        while [ -n "$rest" ]; do
            part=${rest%%/*}
            case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
            case $part in @*) part=@$part ;; esac
            project=$project/$part
        done
        ;;
    esac
    state=$home/state$project/@
fi

session=${CLAUDE_CODE_SESSION_ID-}
case $session in *[!A-Za-z0-9_-]*) session= ;; esac

# Start the library, which reads the event from stdin.
full() {
    find_python
    [ -n "$python" ] && exec "$python" -EP "$hooks/full" "$event" "$kind"
    [ "$event:$kind" = SessionStart:plugin ] && tell_how
    exit 0
}

# Say once, when a session starts, how a plugin gets its environment.
tell_how() {
    setup="hostbridge: this plugin has no Python environment yet. Make one: sh"
    script=${CLAUDE_PLUGIN_ROOT-}/scripts/plugin-setup venv=${CLAUDE_PLUGIN_DATA-}/venv
    # The words stand in JSON, the paths in the words of a shell command.
    case $script$venv in
    *[\\\"\'[:cntrl:]]*) setup="$setup scripts/plugin-setup, in its folder" ;;
    *) setup="$setup '$script' '$venv'" ;;
    esac
    printf '{"systemMessage":"%s"}\n' "$setup"
}

# Start the quick half of the library: what a tool call in our subagents costs. With an
# argument, the main thread has work for the other half.
gate() {
    find_python
    for bridge in "$hooks/../bridge" "$hooks/../.."; do
        if [ -f "$bridge/host/gate.py" ] && [ -n "$python" ]; then
            exec "$python" -I -S "$hooks/gate" \
                "$bridge" "$python" "$event" "$state" "$kind" "$@"
        fi
    done
    exit 0
}

# The interpreter that has hostbridge: named, the plugin's own, or the command's.
find_python() {
    [ -x "$python" ] && return
    for python in \
        ${CLAUDE_PLUGIN_DATA:+"$CLAUDE_PLUGIN_DATA/venv/bin/python"} \
        ${CLAUDE_PLUGIN_ROOT:+"$CLAUDE_PLUGIN_ROOT/.venv/bin/python"}; do
        [ -x "$python" ] && return
    done
    python=
    program=$(command -v hostbridge) || return
    { IFS= read -r python && IFS= read -r second; } 2>/dev/null <"$program"
    python=${python#??}
    # A path with spaces, or a long one: installers put it in the second line.
    if [ "$python" = /bin/sh ]; then
        python=${second#*"exec' "}
        case $python in
        \"*) python=${python#?} python=${python%%\"*} ;;
        *) python=${python%% *} ;;
        esac
    fi
    case $python in *python*) [ -x "$python" ] || python= ;; *) python= ;; esac
}

# Whether a folder of the state holds a file with this ending.
any() {
    set -- "$state/$1/"*"$2"
    [ -e "$1" ]
}

if [ -z "$session" ] || [ "$event" = SessionStart ] ||
    [ -p "$state/sessions/$session.owner" ] ||
    ! IFS= read -r owner 2>/dev/null <"$state/sessions/$session.owner"; then
    full # a session not seen before, whatever the event, or begun again
fi
[ "$owner" = "$kind" ] || exit 0
# The last sign of life, for those who cannot see this process.
# One with something in it, a link or a pipe is none of ours: nothing goes through it.
beat=$state/sessions/$session.beat
[ -h "$beat" ] || [ -s "$beat" ] || [ -p "$beat" ] || true 2>/dev/null >"$beat"
