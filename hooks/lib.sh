# Sourced by every hook: finds the session's state, or leaves when there is no work.
#
#     . lib.sh EVENT KIND [PYTHON [TOOLS]]
#
# KIND names the install that registered the hook, PYTHON its interpreter, TOOLS the
# class of tools. Only builtins until there is work, and no file is read: their names
# are enough (bridge/store/pins.py). The shell reads comments each time: keep them short.
#
# Sets: event kind python tools session pin state off.

unset BRIDGE_READ
# Exit 2 would block the session, and a shell exits 2 on its own errors.
trap 'exit 0' 0
event=$1 kind=$2 python=${3-} tools=${4-}

# This client was started to answer one request of ours. It does not serve the queue.
off=${BRIDGE_PARENT-}
# As bridge/config.py reads it: in any letter case, with or without spaces around it.
value=${BRIDGE_OFF-}
value=${value#"${value%%[![:space:]]*}"}
case ${value%"${value##*[![:space:]]}"} in
'' | 0 | [Ff][Aa][Ll][Ss][Ee] | [Nn][Oo] | [Oo][Ff][Ff]) ;;
*) off=yes ;;
esac

root=${BRIDGE_STATE_DIR:-${BRIDGE_HOME:-${HOME-}/.hostbridge}}
case $root in /*) ;; *) exit 0 ;; esac
session=${CLAUDE_CODE_SESSION_ID-}
case $session in *[!A-Za-z0-9_-]*) session= ;; esac
# A client that does not tell its pid is our parent: it starts hooks itself.
: "${CLAUDE_PID:=$PPID}"
export CLAUDE_PID
pin=$root/pins/$session.$CLAUDE_PID
state=$pin/state

full() {
    . "$hooks/run-python.sh"
    run_full
}

gate() {
    . "$hooks/run-python.sh"
    run_gate "$@"
}

# Whether the main thread makes this call: the whole event is short, and names no agent.
# The client writes it at once, and the shell cannot push back what it has read: the
# library takes that from the environment, and the rest from stdin.
of_main() {
    BRIDGE_READ=$(dd bs=4096 count=1 2>/dev/null)
    export BRIDGE_READ
    [ ${#BRIDGE_READ} -lt 4096 ] || return
    case $BRIDGE_READ in
    *'"agent_id"'*) return 1 ;;
    '{'*'"hook_event_name":'*'"tool_use_id":'*'}') ;;
    *) return 1 ;;
    esac
}

# Whether a folder of the state holds a file with this ending.
any() {
    set -- "$state/$1/"*"$2" "$2"
    case $1 in */\*"$2") return 1 ;; esac # nothing matched
    [ -e "$1" ]
}

# Whether a rule may concern this event (bridge/rules/compiled.py). A rules file that
# has changed is read first.
ruled() {
    [ -z "$off" ] || return
    owner=$pin/main
    [ -e "$owner" ] || owner=$pin/project
    changed "${BRIDGE_HOME:-${HOME-}/.hostbridge}/rules.yaml" user && full
    changed "$owner/.bridge/rules.yaml" project && full
    [ -e "$state/rules/$event${tools:+.$tools}" ]
}

# Whether a step workflow is active in this session, or in an agent of it.
stepped() {
    [ -z "$off" ] && [ -e "$state/sessions/$session.steps" ]
}

# Whether a layer's file is another than at the last look.
changed() {
    set -- "$1" "$state/rules/$2.stamp"
    if [ -e "$1" ]; then
        [ ! -e "$2" ] || [ "$1" -nt "$2" ] || [ "$2" -nt "$1" ]
    else
        [ -e "$2" ]
    fi
}

if [ -n "$off" ]; then
    # Nothing new begins. An agent at work may still not raise a dialog.
    case $event in
    PreToolUse) any agents .json || any processing .json || exit 0 ;;
    PermissionRequest) [ -e "$pin/agents" ] || exit 0 ;;
    *) exit 0 ;;
    esac
fi
# It concerns no session that is not on record, and is no sign of life.
case $0 in */ring | ring) return ;; esac
[ -n "$session" ] && [ "$event" != SessionStart ] || full
# A file of another user's is no pin: the library refuses such a folder.
if [ ! -O "$pin/by-$kind" ]; then
    set -- "$pin/by-"*
    case $1 in
    "$pin/by-$kind") ;;           # another hook of ours has just made it
    *) [ ! -O "$1" ] || exit 0 ;; # another install acts for this session
    esac
    full # this session was not seen before
fi
# The record of the session is gone, or the whole state.
[ -O "$state/sessions/$session.json" ] ||
    [ -O "$state/sessions/$session.$CLAUDE_PID.json" ] || full
# The last sign of life, for those who cannot see this process: an empty file. Nothing
# is written into a file of somebody else's, or through a link or a pipe. Descriptor 3
# is free, so nothing is moved away for it.
beat=$state/sessions/$session.beat
if [ -h "$state/sessions" ] || [ -h "$beat" ] || [ -s "$beat" ]; then
    :
elif [ -w "$beat" ] && [ -f "$beat" ]; then
    true 3>"$beat"
elif [ ! -e "$beat" ]; then
    true 2>/dev/null 3>"$beat"
fi
