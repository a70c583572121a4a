# Sourced by every hook: finds the session's state, or leaves when there is no work.
#
#     . lib.sh EVENT KIND [PYTHON]
#
# KIND names the install that registered the hook (local, user, project, plugin): where
# several are, one acts for a session. PYTHON is the interpreter that has hostbridge; a
# plugin finds its own. Builtins only until there is work to do: an idle hook costs what
# it costs to start a shell. No file is read: names tell all (bridge/host/pins.py), and
# where the state lies is a link, made when the session was first seen.
#
# Sets: event kind session pin state off.

# Exit 2 would block the session, and a shell exits 2 on its own errors.
trap 'exit 0' 0
event=$1 kind=$2 python=${3-}

# Below a request of ours: this client serves that one, and no queue.
off=${BRIDGE_PARENT-}
# What counts as off is what bridge/config.py says: in any case, spaces around it or not.
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
# The client starts hooks itself, where it does not tell its pid.
: "${CLAUDE_PID:=$PPID}"
export CLAUDE_PID
pin=$root/pins/$session.$CLAUDE_PID
state=$pin/state

# Start the library, which reads the event from stdin.
full() {
    find_python
    run -EP "$hooks/full" "$event" "$kind" "$state"
}

# Start the quick half of the library: what a call costs while our subagents work. With
# an argument, the main thread has work for the other half.
gate() {
    [ -z "$off" ] || full
    find_python
    for bridge in "$hooks/../bridge" "$hooks/../.."; do
        if [ -f "$bridge/host/gate.py" ]; then
            run -I -S "$hooks/gate" \
                "$bridge" "$python" "$event" "$state" "$kind" "$@"
        fi
    done
    python=
    run
}

# Run the interpreter as a child, and end as it decided. One that cannot start ends with
# 2 as well, or as it likes: no end of its own but 0 means anything, apart from the sign
# of a handler that wakes the session (WAKES in bridge/host/output.py).
run() {
    exec 3<&0 </dev/null
    # What FileChanged says there is read by the model, once it ends with 2.
    [ "$event" = FileChanged ] || exec 2>/dev/null
    ended=127
    # A signal may come right behind the start: before a line of ours could note the
    # child, and while the child itself would still hold back a milder one.
    trap '[ -z "$!" ] || kill -9 "$!"; exit 0' HUP INT TERM
    if [ -n "$python" ]; then
        "$python" "$@" <&3 3<&- &
        wait "$!"
        ended=$?
    fi
    case $ended:$event in
    0:*) ;;
    42:FileChanged) trap - 0 && exit 2 ;;
    *:PreToolUse) is_ours && refuse '"permissionDecision":"deny","permissionDecisionReason":"' '"' ;;
    *:PermissionRequest) is_ours && refuse '"decision":{"behavior":"deny","message":"' '"}' ;;
    *:SessionStart) tell_how ;;
    esac
    exit 0
}

# Say no to a call that needed the library: let through, our agent's permission dialog
# would take the user's next key for a yes.
refuse() {
    why="hostbridge cannot start, or was stopped, and this call needs it. Leave it; go on."
    printf '{"hookSpecificOutput":{"hookEventName":"%s",%s%s%s}}\n' \
        "$event" "$1" "$why" "$2"
}

# Whether the event on stdin is about an agent of ours, or names a request. The library
# has failed: what is started here costs no idle hook anything.
is_ours() {
    told=$(head -c 8192 <&3)
    case $told in
    '') any agents .json || any processing .json ;; # it was read, and nothing came of it
    *'"agent_id":'*)
        folder=$(text_of transcript_path)
        is_our_agent "$(text_of agent_id)" "${folder%.jsonl}/subagents" 5
        ;;
    *'"tool_name":'*'"Agent"'*bridge:* | *'"tool_name":'*'"Task"'*bridge:*)
        request=${told#*bridge:}
        request=${request%%[!A-Za-z0-9_-]*}
        [ -n "$request" ] || return
        [ -e "$state/requests/$request.json" ] ||
            [ -e "$state/processing/$request.json" ]
        ;;
    *) return 1 ;;
    esac
}

# By our record of it, or by what the client has written down: how we described the call
# (bridge/host/launch.py), or which agent made it.
is_our_agent() {
    case $1 in '' | *[!A-Za-z0-9_-]*) return 1 ;; esac
    [ ! -e "$state/agents/$1.json" ] || return 0
    [ -f "$2/agent-$1.meta.json" ] && [ "$3" -gt 0 ] || return
    told=$(head -c 8192 "$2/agent-$1.meta.json")
    case $(text_of description) in
    'hostbridge: '*) return 0 ;;
    esac
    is_our_agent "$(text_of parentAgentId)" "$2" $(($3 - 1))
}

# The first text under a key of what was told, with no look at its escapes.
text_of() {
    case $told in *"\"$1\":"*) ;; *) return ;; esac
    text=${told#*"\"$1\":"}
    text=${text#*\"}
    printf %s "${text%%\"*}"
}

# Say once, when a session starts, that no hook can work, and what helps.
tell_how() {
    case $kind:${python:+found} in
    plugin:*)
        why="this plugin has no Python environment yet. Make one: sh"
        [ -z "$python" ] || why="this plugin's Python cannot start. Make another: sh"
        script=${CLAUDE_PLUGIN_ROOT-}/scripts/plugin-setup
        venv=${CLAUDE_PLUGIN_DATA-}/venv
        # The words stand in JSON, the paths in the words of a shell command.
        case $script$venv in
        *[\\\"\'[:cntrl:]]*) why="$why scripts/plugin-setup, in its folder" ;;
        *) why="$why '$script' '$venv'" ;;
        esac
        ;;
    *:found) why="its Python cannot start. Install it again: hostbridge install --$kind" ;;
    *) exit 0 ;; # a settings file that came from another machine
    esac
    printf '{"systemMessage":"hostbridge: %s"}\n' "$why"
}

# The interpreter that has hostbridge: named, the plugin's own, or the command's.
find_python() {
    runs "$python" && return
    for python in \
        ${CLAUDE_PLUGIN_DATA:+"$CLAUDE_PLUGIN_DATA/venv/bin/python"} \
        ${CLAUDE_PLUGIN_ROOT:+"$CLAUDE_PLUGIN_ROOT/.venv/bin/python"}; do
        runs "$python" && return
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
    case $python in *python*) runs "$python" || python= ;; *) python= ;; esac
}

# Whether something can be run as a program.
runs() {
    [ -f "$1" ] && [ -x "$1" ]
}

# Whether a folder of the state holds a file with this ending.
any() {
    set -- "$state/$1/"*"$2"
    [ -e "$1" ]
}

if [ -n "$off" ]; then
    # Nothing is begun. An agent that works may still not raise a dialog.
    case $event in
    PreToolUse) any agents .json || any processing .json || exit 0 ;;
    PermissionRequest) [ -e "$pin/agents" ] || exit 0 ;;
    *) exit 0 ;;
    esac
fi
[ -n "$session" ] && [ "$event" != SessionStart ] || full
# What another user has put there is no pin: the library refuses such a folder.
if [ ! -O "$pin/by-$kind" ]; then
    set -- "$pin/by-"*
    [ ! -O "$1" ] || exit 0 # another install acts for this session
    full                    # a session not seen before, whatever the event
fi
# Its record is gone, or all of its state.
[ -O "$state/sessions/$session.json" ] ||
    [ -O "$state/sessions/$session.$CLAUDE_PID.json" ] || full
# The last sign of life, for those who cannot see this process.
# One with something in it, a link or a pipe is none of ours: nothing goes through it.
beat=$state/sessions/$session.beat
[ -h "$state/sessions" ] || [ -h "$beat" ] || [ -s "$beat" ] || [ -p "$beat" ] ||
    true 2>/dev/null >"$beat"
