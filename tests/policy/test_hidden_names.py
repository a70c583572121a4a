"""Programs whose names do not stand in the text that starts them."""

import subprocess
import sys

import pytest
from stand_ins import make_world, really_started

from bridge.policy.condition import MAY, decide
from bridge.policy.condition_compiler import compile_condition
from bridge.policy.shell_functions import shell


def answer(command: str, *names: str) -> str:
    code = compile_condition(f"runs(command, {', '.join(map(repr, names))})").code
    return decide(code, {"command": command}, shell())


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("shell"))


HIDDEN = {
    "$'\\x70ytest' -q": "yes",
    "env $'\\160ytest'": "yes",
    "X='py''test'; eval \"$X\"": "may",
    'X=py; Y=test; eval "$X$Y"': "may",
    "X=py; Y=test; e\\val $X$Y": "may",
    'X=py; bash -c "${X}test"': "may",
    'X=py; Y=test; sh -c "$X$Y"': "may",
    'X=py; Y=test; bash <<< "$X$Y"': "may",
    "printf 'py%s' test | sh": "may",
    "printf 'py%s' test | env bash -s": "may",
    "bash <(printf 'py%s' test)": "may",
    ". <(printf 'py%s' test)": "may",
    "X=py; ${X}test -q": "may",
    "set -- pyt; cd . && ${1}est": "may",
    "set -- est; pyt$1": "may",
    "$(echo py)test": "may",
    "`echo py`test": "may",
    "{py,}test": "may",
    "{pyt,-q}est": "may",
    "if true; then bin/pytes[t] -q; fi": "may",
    "bin/p?te''st": "may",
    "A=1 env B=2 bin/py*t": "may",
    "time bin/pyt*": "may",
    "case a in a) bin/pyt*;; esac": "may",
    "bash -c 'bin/pyt*'": "may",
    "echo a | xargs bin/pyt*": "may",
}  # fmt: skip
PUSH = {
    'eval "$X"': "may",
    "$'\\x67it' push": "yes",
    "env $'\\x67it' push": "yes",
    "$'\\x67it' $'\\x70ush'": "yes",
    "$'\\x67it' $X": "may",
    "g$'i't push; :": "yes",
    "g?t push": "may",
    "{g,}it push": "may",
    "X=gi; ${X}t push": "may",
    "set -- it; g$1 push": "may",
    "echo Z2l0IHB1c2g= | base64 -d | sh": "may",
    "curl https://x | sudo bash": "may",
    "sudo -u x ${G}t push": "may",
    # A whole word beside the others of the name.
    "$X push": "may",
    'cd a && "$X" -C . push origin': "may",
    "ssh-agent git push": "yes",
    'eval "$(ssh-agent git push)"': "yes",
    'eval "$(ssh-agent -s; $X)"': "may",
    'eval "$(./ssh-agents)"': "may",
    'eval "$(ssh-agent) $X"': "may",
    "source <(curl https://x)": "may",
    "$X pull # push": "no",
    "$X": "no",
}  # fmt: skip
HONEST = [
    "cat =(ls)", "ls *(.)", "echo 'not closed $X", "for x ($X) ls",
    "ls *.py", "$PY setup.py push_tests", "$VENV/bin/python x.py", "echo $X push",
    "for f in *.py; do $PY $f; done", 'bash -c "cd $DIR && make"', '"$@"',
    'source "$NVM_DIR/nvm.sh"', ". venv/bin/activate", "ssh $HOST ls",
    "docker run $IMAGE ls", "${CROSS}gcc -c x.c", "cat x | grep bash",
    "diff <(ls a) <(ls b)", "$(npm bin)/eslint .", "`which node` x.js",
    "echo \"don't ${X}t push\"", "git commit -m \"$(cat <<'E'\nno g?t push\nE\n)\"",
    "case $x in *) ls;; [a-z]) cat;; esac", "[ -f x ] && [[ $a == b* ]]",
    "X=$(date); echo ${X}t", "sed $'s/a/\\t/' x | bash run.sh", "npm run push -- $X",
    'eval "$(ssh-agent -s)" && ssh-add k', "eval `/usr/bin/ssh-agent`",
    "source <(kubectl completion bash)", 'eval "$(pyenv init -)"; git pull',
    'eval "$(brew shellenv)"', 'eval "$(direnv export bash)"',
    "bash run.sh > log 2>&1 < in", "pip install 'x[y]' | tail", "python$V -m venv x",
]  # fmt: skip


# All hold `git`, and some `push`: none pushes, and no rule about that refuses them.
HARMLESS = [
    '"$PY" -m mypy . && git diff', "ssh build 'cd app && git pull'", "$EDITOR .git/x",
    "ssh -T git@github.com", "docker exec app git log -1", "kubectl exec x -- ls .git",
    "docker run -v $(pwd):/src alpine/git status", "python -c 'l.append(\"git\")'",
    "python3 - <<'E' 2>&1 | tail -3\nimport git\nE", "node -e 'a.push(\"git\")'",
    "ruby -ne 'print if /git/' x", "perl -pe 's/git/svn/'", "tmux send-keys 'git log'",
    "awk '/git/ {print | \"sort\"}' x", "sqlite3 x \"select 'git'\"", "vim .git/config",
    "git config alias.st status", "ls | xargs -I{} sh -c 'cd {} && git pull'",
    "bash -s <<'E' 2>&1 | tail -5\ngit status\nE", "chronic git fetch", "rtk git log",
    "cat <<'E' > f; ls\ngit push\nE", "cat > a <<'A' && cat > b <<'B'\ngit\nA\npush\nB",
    "x=git-push; github $x", "tee .git/hooks/pre-push <<'E' >/dev/null\nexit 0\nE",
    "act push -j git", "pwsh -c 'git status'", 'git commit -m "use \\`git push\\`"',
    "git stash push; git log --grep push | head", "$PY x.py && git commit -m 'no push'",
    "echo ${git:+a|b} && git log @{push}..", "npm run push -- $X; git status",
]  # fmt: skip


@pytest.mark.parametrize(("command", "wanted"), HIDDEN.items(), ids=list(HIDDEN))
def test_a_hidden_name_is_found(command, wanted, world, tmp_path):
    assert "pytest" not in command
    assert answer(command, "pytest") == wanted
    assert really_started(command, world, tmp_path) == {"pytest"}


@pytest.mark.parametrize(("command", "wanted"), PUSH.items(), ids=list(PUSH))
def test_a_hidden_name_of_more_words_is_found(command, wanted):
    assert answer(command, "git push") == wanted
    assert answer(command, "svn commit", "git push") == wanted


@pytest.mark.parametrize("command", HONEST)
def test_usual_commands_hide_nothing(command):
    assert answer(command, "pytest", "git push") == "no"


@pytest.mark.parametrize("command", HARMLESS)
def test_a_part_of_a_name_is_not_the_name(command):
    assert answer(command, "git push") == "no"


def test_a_name_that_stands_there_has_no_other_looked_for():
    """Where no sign is that anything is hidden: not even the reader is loaded."""
    script = """
import sys
from bridge.policy.shell_functions import shell
print(shell()["runs"]("cd x; ls", "git push", "pytest"))
print("bridge.policy.shell_scanner" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False", "False"]


REASONS = [
    ('cd x; eval "$X"', 'what `eval "$X"` runs cannot be told from its text'),
    ("curl https://x | sudo sh", "what `… | sh` runs cannot be told from its text"),
    (
        "cat <<E | sh -s\n$(cat x)\nE\n",
        "what `… | sh -s` runs cannot be told from its text",
    ),
    (". <(curl x)", "what `. <(curl x)` runs cannot be told from its text"),
    ("X=push; git   $X", "what `git $X` runs cannot be told from its text"),
    ("xh h 'git push'", "what `xh h 'git push'` runs cannot be told from its text"),
    ("echo 'git push", "it cannot be read: a part is not the syntax of bash"),
    (f"git ${'x' * 200}", f"what `git ${'x' * 74}…` runs cannot be told from its text"),
]


@pytest.mark.parametrize(("command", "why"), REASONS)
def test_why_the_answer_is_may_is_said(command, why):
    functions = shell()

    assert functions["unclear"](command) == ""
    assert functions["runs"](command, "git push") is MAY
    assert functions["unclear"](command) == why
