# Sourced by every hook: finds the state directory, or leaves when there is no work.
#
#     . lib.sh EVENT KIND [PYTHON]
#
# KIND names the install that registered the hook (local, user, project, plugin): where
# several are, the first to see a session acts for it. PYTHON is the interpreter that has
# hostbridge; a plugin finds its own. Builtins only until there is work to do: an idle
# hook costs what it costs to start a shell.
#
# Sets: event kind state session. The rule for `state` is bridge/store/place.py's.

# Exit 2 would block the session, and a shell exits 2 on its own errors.
trap 'exit 0' 0
event=$1 kind=$2 python=${3-}

case ${BRIDGE_OFF-} in '' | 0 | [Ff]alse | [Nn]o | [Oo]ff) ;; *) exit 0 ;; esac

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
    [ -n "$python" ] || exit 0
    exec "$python" -I -c 'from bridge.host.hook import main; main()' "$event" "$kind"
}

# Start the quick half of the library: what a tool call in our subagents costs.
gate() {
    find_python
    for bridge in "$hooks/../bridge" "$hooks/../.."; do
        if [ -f "$bridge/host/gate.py" ] && [ -n "$python" ]; then
            exec "$python" -I -S "$hooks/gate" "$bridge" "$python" "$event" "$state"
        fi
    done
    exit 0
}

# The interpreter that has hostbridge: named, the plugin's own, or the command's.
find_python() {
    [ -x "$python" ] && return
    for python in "${CLAUDE_PLUGIN_DATA-}/venv/bin/python" \
        "${CLAUDE_PLUGIN_ROOT-}/.venv/bin/python"; do
        [ -x "$python" ] && return
    done
    python=
    program=$(command -v hostbridge) || return
    IFS= read -r python <"$program"
    python=${python#??}
    [ -x "$python" ] || python=
}

# Whether a folder of the state holds a file with this ending.
any() {
    set -- "$state/$1/"*"$2"
    [ -e "$1" ]
}

if [ -z "$session" ] || ! IFS= read -r owner 2>/dev/null <"$state/sessions/$session.owner"; then
    full # a session not seen before, whatever the event
fi
[ "$owner" = "$kind" ] || exit 0
# The last sign of life, for those who cannot see this process.
true 2>/dev/null >"$state/sessions/$session.beat"
