"""Which commands the built-in agents may run."""

import shutil
import subprocess

import pytest
from built_in_agents import NAMES, PATH, definition_of
from grants import granted

from bridge.agents.search_tools import OF_TASKS as OF_READING
from bridge.policy.command_grants import Grants, NotGranted

GRANTED = {
    "validation-runner": (
        "pytest", "pytest -q tests/billing",
        "pytest -qx -k 'a and not b' --maxfail 2 --tb=short 'tests/a.py::test_b[1]'",
        "pytest -n4 -p no:cacheprovider -ra", "python -m pytest -x",
        "python3 -m unittest discover -s tests -p 'test_*.py'", "ruff check src",
        "ruff check --select E,F .", "ruff format --check --diff src", "mypy",
        "mypy --strict lib", "uv run pytest -q", "uv run python -m pytest -x",
        "poetry run pytest", "uv run ruff check src", "uv run mypy", "tox -e py311",
        "make test", "npm test",
        "npx --no-install eslint --ext .ts src",
        "go test -race -run=TestA -count 1 ./...", "go vet ./...", "cargo test --all",
        "cargo clippy --all-targets -- -D warnings",
    ),
    "validator-syntax": (
        "python3 -I -m py_compile a.py",
        "node --check a.js",
        "bash -n deploy.sh",
        "ruff check --isolated --no-cache --select E9 a.py",
    ),
    "validator-integration": ("pytest -q", "npm test", "go test ./api"),
}  # fmt: skip
REFUSED = (
    "pytest; rm x", "pytest && rm x", "pytest $(rm x)", "pytest > x", "pytest\nrm x",
    "pytests", "rm x", "ruff check", "ruff check --fix src",
    "python -m py_compile a.py; rm x", "python -c 1", "bash deploy.sh", "git diff",
    "git log -3", "git show HEAD", "git diff --output=.git/hooks/pre-commit",
    "git diff --no-index /dev/null /etc/shadow", "bash -n +n deploy.sh",
    "bash -n -O extglob deploy.sh", "sh -n /etc/profile",
    "node --check -r ./evil.js a.js", "node --check --import=./evil.js a.js",
    "python3 -m py_compile a.py", "python3 -I -m py_compile ../a.py",
    "ruff check --isolated --no-cache --select E9 --fix a.py",
    "ruff check --isolated --no-cache --select E9 --config x.toml a.py",
    "php -n -l -d auto_prepend_file=x.php a.php", "ruff check --output-file=x src",
    "ruff check --cache-dir=/tmp src", "ruff check --config=x.toml src",
    "ruff check --add-noqa src", "ruff format --check --config x src",
    "ruff format src", "mypy --config-file=x", "mypy --python-executable=./x",
    "mypy --html-report=x", "mypy --junit-xml x", "mypy --cache-dir=/tmp",
    "mypy --install-types", "mypy -c 'import os'", "mypy --shadow-file a b",
    "uv run --with evil pytest", "uv run pytest -p evil", "uv run python x.py",
    "cd app && pytest -p evil", "cd app && pytest && rm x", "tox -c evil.ini",
    "tox --workdir=/tmp", "tox -x testenv.commands=evil", "tox -- evil",
    "nox -f evil.py", "make test SHELL=./evil", "make -f evil test",
    "npm test --script-shell=./evil", "npm run build -- --out-dir=/tmp",
    "npx tsc --noEmit", "npx --no-install tsc --noEmit --generateTrace x",
    "npx --no-install eslint --fix src", "npx --no-install eslint -o x src",
    "npx --no-install eslint -c evil.js src",
    "npx --no-install eslint --rulesdir=evil src", "go vet -vettool=./evil ./...",
    "go vet -vettool ./evil ./...", "go vet --vettool=./evil ./...",
    "go test -exec ./evil ./...", "go test -exec=./evil ./...",
    "go test -toolexec=./evil ./...", "go test -o x ./...",
    "go test -coverprofile=x ./...", "go test -C / ./...",
    "cargo test --config=build.rustc-wrapper=./evil",
    "cargo test --config build.rustc-wrapper=./evil", "cargo test --target-dir=/tmp",
    "cargo test --manifest-path ../x/Cargo.toml", "cargo test -Z unstable-options",
    "cargo +evil test", "cargo test +evil", "cargo clippy --fix",
    "PYTHONPATH=/tmp pytest", "env pytest", "node a.js", "git push", "git diff | sh",
    "npm install", "make install",
    *(
        f"pytest {words}"
        for words in (
            "--basetemp=build", "--basetemp build", "--base=build", "-c evil.ini",
            "-cevil.ini", "-qc evil.ini", "--rootdir=/", "-p evil", "-pevil",
            "-qp evil", "-p=evil", "-o python_files=x", "-qopython_files=x",
            "--override-ini=a=b", "--junitxml=x", "--junit-x=x", "--pastebin=all",
            "--pdbcls=a:b", "--debug", "--confcutdir=/", "--import-mode=importlib",
            "--pyargs os", "@options", "/etc", "../other", "tests/../../other",
            "~/other", "{-o,a=b}", "-k {-o,a=b}", "*", "tests/[ab].py",
            "--tb=/etc/passwd", "-k", "-k -x", "-- -p evil", "--ignore=../x",
            "--deselect ~/x",
        )
    ),
)  # fmt: skip
# The same checks as the one whose only work that is.
CHECKS = ("developer", "merge", "qa-reviewer", "task-ops", "task-validator")
GRANTED |= dict.fromkeys(CHECKS, GRANTED["validation-runner"])
EXTRA = dict.fromkeys(("validation-runner", *CHECKS), ("ruff check",))
OTHERS = {
    # In the project: `Edit` alone is every file there is.
    "developer": {"Edit(**)"},
    "merge": {"Edit(**)"},
    "task-ops": {"Edit(**)", "Agent", "mcp__hostbridge"},
}


def is_narrow(rule: str) -> bool:
    """Whether a rule names one command, or the options that it covers."""
    return "*" not in rule or "[" in rule


def of_commands(rules: tuple[str, ...]) -> list[str]:
    return [rule for rule in rules if rule.startswith("Bash")]


@pytest.mark.parametrize("name", NAMES)
def test_what_it_may_run(name):
    """By both readers of the rules: the hooks' and the loop's."""
    allow = definition_of(name).allow
    grants = Grants(allow)
    assert all(map(is_narrow, of_commands(allow)))
    # Not as a part of a workflow: what it may do beside running checks.
    others = set(allow) - {*of_commands(allow)} - OF_READING
    assert others <= OTHERS.get(name, set())

    for command in GRANTED.get(name, ()):
        assert granted(*allow, tool="Bash", command=command), command
        assert grants.argv(command), command
    for command in set(REFUSED) - set(EXTRA.get(name, ())):
        assert not granted(*allow, tool="Bash", command=command), command
        with pytest.raises(NotGranted):
            grants.argv(command)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "path", ["/home/u/.bashrc", "../other.py", ".git/config", ".mcp.json", "~/x"]
)
def test_it_writes_nothing_outside_nor_what_governs_sessions(name, path):
    allow = definition_of(name).allow

    assert not granted(*allow, tool="Write", file_path=path)
    assert not granted(*allow, tool="Edit", file_path=path)


SYNTAX_CHECKS = (
    "python3 -I -m py_compile a.py",
    "ruff check --isolated --no-cache --select E9 a.py",
    "bash -n a.sh",
    "sh -n a.sh",
    "node --check a.js",
)


@pytest.mark.parametrize("command", SYNTAX_CHECKS)
def test_a_syntax_check_runs_nothing_of_the_project(command, tmp_path):
    """Without `-I`, Python would import modules from the folder that it checks."""
    argv = Grants(definition_of("validator-syntax").allow).argv(command)
    if shutil.which(argv[0], path=PATH) is None:
        pytest.skip(f"no {argv[0]} here")
    mark = f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    for name in ("a.py", "py_compile.py", "sitecustomize.py", "importlib.py"):
        (tmp_path / name).write_text(mark)
    (tmp_path / "a.sh").write_text("touch ran\n")
    (tmp_path / "a.js").write_text("require('fs').writeFileSync('ran', '')\n")
    (tmp_path / "ruff.toml").write_text("fix = true\noutput-file = 'ran'\n")

    env = {"PATH": PATH, "HOME": str(tmp_path)}
    ran = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False)

    assert ran.returncode == 0, ran
    assert not (tmp_path / "ran").exists()
