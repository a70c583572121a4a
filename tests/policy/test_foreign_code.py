"""Code in other languages that holds a command as text, and code that starts it."""

import pytest

from bridge.policy.started_programs import read

HARMLESS = [
    "python3 -c \"print('git push')\"",
    "python -c \"import json, sys; json.dump({'do': 'git push'}, sys.stdout)\"",
    """python3 - <<'E'
import re, os
from pathlib import Path
p = Path('a')
p.write_text(re.compile('x').sub('git push', p.read_text()))
print(os.path.exists('a'), os.environ)
E""",
    "python3 <<'E'\nprint('git push — $X')\nE",
    "grep 'git push' x | python3 -c 'import sys; print(len(sys.stdin.read()))'",
    "node -e 'console.log(\"git push\")'",
    "node -e \"const fs = require('fs'); fs.writeFileSync('a', 'git push')\"",
    "perl -pi -e 's/git push/git push --tags/g; s|a|b|' README.md",
    "grep -rlZ 'git push' . | xargs -0 perl -0pi -e 's/git push/x/'",
    "ruby -i -pe 'gsub(/git push/, \"x\")' README.md",
    "tmux send-keys -t 1 '# git push' Enter",
    "sqlite3 x.db \"select 1 where a = 'git push'\"",
    "psql -c \"select 'git push'\" app",
    "ssh host \"grep -n 'git push' a.sh; echo 'git push'\"",
    "ssh -p 22 -o BatchMode=yes a@b git commit -m \"'git push'\"",
]
STARTING = [
    "python3 -c 'import os; os.system(\"git push\")'",
    "python3 -c 'import os,sys; os.system(sys.argv[1])' 'git push'",
    "python3 - git push <<'E'\nimport subprocess, sys\nsubprocess.run(sys.argv[1:])\nE",
    "echo git push | python3 -c 'from os import system; system(input())'",
    "python3 -c 'import pathlib; pathlib.os.system(\"git push\")'",
    "python3 -c 'import pathlib; pathlib.\uff4fs.system(\"git push\")'",
    "python3 -c 'from pathlib import os; os.system(\"git push\")'",
    "python3 -c 'import random; random._os.system(\"git push\")'",
    "python3 -c 'import os as o; o.system(\"git push\")'",
    "python3 -c '__import__(\"o\" \"s\").system(\"git push\")'",
    "python3 -c 'import json; json.codecs.builtins.exec(\"git push\")'",
    "python3 -c 'import sys; sys.modules[\"o\" + \"s\"].system(\"git push\")'",
    "python3 -c 'import os; x = os; x.system(\"git push\")'",
    "python3 -c 'import os; (os).system(\"git push\")'",
    "python3 -c 'import other; other.f(\"git push\")'",
    "python3 -c \"$X\" 'git push'",
    "node -e 'child_process.execSync(\"git push\")'",
    "node -e 'const f = require(\"fs\"); f[\"con\" + \"structor\"](\"git push\")'",
    "node -e 'require(\"child\" + \"_process\").execSync(process.argv[1])' 'git push'",
    "perl -e 'system(@ARGV)' git push",
    "perl -ne 's/x/y/' 'git push |'",
    "python3 -i -c 'print(1)' <<< 'import os; os.system(\"git push\")'",
    "perl -pe 's/x/`git push`/e' a",
    "perl -pe 's/@{[system \"git push\"]}/x/' a",
    "perl -pe 's/x/y/;system \"git push\"' a",
    "ruby -e 'system(*ARGV)' git push",
    "ruby -pe 'sub(/x/, \"#{system \"git push\"}\")' a",
    "tmux send-keys '# \n git push'",
    "C='git push' python3 -c 'import os; os.system(os.environ[\"C\"])'",
    "export C='git push'; ruby -e 'system(ENV[\"C\"])'",
    "sqlite3 x '.shell git push'",
    "sqlite3 x <<< '.shell git push'",
    "psql -c '\\! git push'",
    "ssh host 'cd app && git push'",
    "ssh -o 'ProxyCommand=git push' host ls",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0=push git z",
    "GIT_CONFIG_PARAMETERS=\"'alias.z=push'\" git z",
]  # fmt: skip


@pytest.mark.parametrize("command", HARMLESS)
def test_text_in_harmless_code_starts_nothing(command):
    assert read(command).runs(["git push"]) is False


@pytest.mark.parametrize("command", STARTING)
def test_what_code_may_start_is_not_ruled_out(command):
    assert read(command).runs(["git push"]) is not False
