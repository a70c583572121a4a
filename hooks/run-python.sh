# Sourced by lib.sh where there is work: starts the library, and answers where it fails.
#
# Uses: hooks event kind python session pin state off.

# Run the library; it reads the event from stdin.
run_full() {
    find_python
    run -EPS "$hooks/full.py" "$event" "$kind" "$state"
}

# Run the quick half of the library, for tool calls while our subagents work. An
# argument says what work the main thread has for the other half.
run_gate() {
    [ -z "$off" ] || run_full
    find_python
    for bridge in "$hooks/../bridge" "$hooks/../.."; do
        if [ -f "$bridge/bound/gate.py" ]; then
            run -EPS "$hooks/gate.py" "$bridge" "$event" "$state" "$kind" "$@"
        fi
    done
    python=
    run
}

# Run the interpreter as a child, and end as it decided. An interpreter that cannot
# start may end with 2, or any other code. So only two of its codes count: 0, and the
# one by which a handler wakes the session (WAKES in bridge/protocol/hook_output.py).
run() {
    exec 3<&0 </dev/null
    # When FileChanged ends with 2, the model reads its stderr.
    [ "$event" = FileChanged ] || exec 2>/dev/null
    ended=127
    # A signal may come right after the start: before the next line could note the
    # child's pid, and while the child itself would still ignore a milder signal.
    trap '[ -n "$!" ] || exit 0; kill -9 "$!"' HUP INT TERM
    if [ -n "$python" ]; then
        "$python" "$@" <&3 3<&- &
        wait "$!"
        ended=$?
    fi
    case $ended:$event in
    0:*) ;;
    42:FileChanged) trap - 0 && exit 2 ;;
    *:PreToolUse) is_ours || is_ruled && refuse '"permissionDecision":"deny","permissionDecisionReason":"' '"' ;;
    *:PermissionRequest) is_ours && refuse '"decision":{"behavior":"deny","message":"' '"}' ;;
    *:SessionStart) tell_how ;;
    esac
    exit 0
}

# Deny a call that needs the library. If it went through, our agent's permission dialog
# would take the user's next key for a yes.
refuse() {
    why="hostbridge cannot start, or was stopped, and this call needs it. Leave it; go on."
    printf '{"hookSpecificOutput":{"hookEventName":"%s",%s%s%s}}\n' \
        "$event" "$1" "$why" "$2"
}

# Whether a signal ended the library, or its time did, over a call that a rule may be
# about.
is_ruled() {
    [ "$ended" -gt 128 ] && [ -z "$off" ] && [ -e "$state/rules/$event${tools:+.$tools}" ]
}

# Whether the event on stdin is about an agent of ours, or names a request. The library
# has failed, so this is no idle hook, and programs may be started.
is_ours() {
    json=${BRIDGE_READ-}$(head -c 8192 <&3)
    case $json in
    '') any agents .json || any processing .json ;; # the library has read it, and failed
    *'"agent_id":'*)
        folder=$(text_of transcript_path)
        is_our_agent "$(text_of agent_id)" "${folder%.jsonl}/subagents" 5
        ;;
    *'"tool_name":'*'"Agent"'*bridge:* | *'"tool_name":'*'"Task"'*bridge:*)
        request=${json#*bridge:}
        request=${request%%[!A-Za-z0-9_-]*}
        [ -n "$request" ] || return
        [ -e "$state/requests/$request.json" ] ||
            [ -e "$state/processing/$request.json" ]
        ;;
    *) return 1 ;;
    esac
}

# Known by our record of it, or by what the client has written down: our description of
# the call (bridge/host/launch.py), or the agent that made it.
is_our_agent() {
    case $1 in '' | *[!A-Za-z0-9_-]*) return 1 ;; esac
    [ ! -e "$state/agents/$1.json" ] || return 0
    [ -f "$2/agent-$1.meta.json" ] && [ "$3" -gt 0 ] || return
    json=$(head -c 8192 "$2/agent-$1.meta.json")
    case $(text_of description) in
    'hostbridge: '*) return 0 ;;
    esac
    is_our_agent "$(text_of parentAgentId)" "$2" $(($3 - 1))
}

# The first string under a key in $json; escapes are not decoded.
text_of() {
    case $json in *"\"$1\":"*) ;; *) return ;; esac
    text=${json#*"\"$1\":"}
    text=${text#*\"}
    printf %s "${text%%\"*}"
}

# Say once, when a session starts, that no hook can work, and what to do about it.
tell_how() {
    case $kind:${python:+found} in
    plugin:*)
        why="this plugin has no Python environment yet. Make one: sh"
        [ -z "$python" ] || why="this plugin's Python cannot start. Make another: sh"
        script=${CLAUDE_PLUGIN_ROOT-}/scripts/plugin-setup
        venv=${CLAUDE_PLUGIN_DATA-}/venv
        # The sentence is a string in JSON, and the paths are words of a shell command.
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
    program=$(command -v hostbridge)
    runs "$program" || return
    python=$(python_of "$program" 2>/dev/null)
    case $python in *python*) runs "$python" || python= ;; *) python= ;; esac
}

# Print the interpreter that the first lines of a command name. Runs in a subshell, with
# a limit on its processor time: the file may have neither a line end nor an end.
python_of() {
    ulimit -t 2
    { IFS= read -r first && IFS= read -r second; } <"$1" || return
    first=${first#??}
    # Installers put a path that is long, or has spaces, into the second line.
    if [ "$first" = /bin/sh ]; then
        first=${second#*"exec' "}
        case $first in
        \"*) first=${first#?} first=${first%%\"*} ;;
        *) first=${first%% *} ;;
        esac
    fi
    printf %s "$first"
}

# Whether something can be run as a program.
runs() {
    [ -f "$1" ] && [ -x "$1" ]
}
