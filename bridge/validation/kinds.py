"""What kinds of change a file's change is, by its name and its changed lines. Pure.

A file has every kind that fits; code is what fits nothing else. Only a plain file with
the name of prose is `docs`: what could be run, or tells agents what to do, is not.
"""

import re
from typing import Literal

from bridge.change.change import Change, ChangedFile
from bridge.change.diffs import quoted_path

Kind = Literal["docs", "tests", "code", "build", "agents", "security", "unread"]

# Names of files, and of folders in which every file is of the kind.
_DOCS = re.compile(
    r".*\.(md|markdown|rst|adoc|txt)|"
    r"readme|license|licence|copying|authors|changelog|notice"
)
_TESTS = re.compile(r"test_.*|.*(_test|\.test|\.spec)\.[^.]*")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__"})
# What decides how the project is built, installed, tested and deployed.
_BUILD = re.compile(
    r"\.gitlab-ci.*|jenkinsfile.*|azure-pipelines.*|\.pre-commit-.*|"
    r"\.git(modules|attributes|ignore)|\.npmrc|makefile|gnumakefile|"
    r".*\.(mk|cmake|gradle|kts|tf|nix|lock|csproj|sln|pth|dockerfile)|"
    r"cmakelists\.txt|meson\.build|build|build\.bazel|dockerfile.*|"
    r"(docker-)?compose.*\.ya?ml|pyproject\.toml|setup\.(py|cfg)|conftest\.py|"
    r"tox\.ini|noxfile\.py|(requirements|constraints).*\.(txt|in)|pipfile|"
    r"package(-lock)?\.json|.*-lock\.ya?ml|go\.(mod|sum)|cargo\.toml|gemfile|"
    r"pom\.xml|composer\.json"
)
_BUILD_FOLDERS = frozenset({".github", ".circleci", ".husky"})
# What tells agents what to do, or what they may do.
_AGENTS = re.compile(
    r"\.?mcp\.json|(claude|claude\.local|agents?(\.override)?|gemini|skill)\.md|"
    r"(copilot-instructions|qwen|warp|crush|opencode|conventions|replit|airules)\.md|"
    r".*\.(instructions|prompt|chatmode|agent)\.md|.*\.mdc|llms(-full)?\.txt|"
    r"\.(cursor|windsurf|cline|roo|kilocode)(rules|ignore).*|\.(roo|kilocode)modes|"
    r"\.rules|\.goosehints|\.augment-guidelines|\.aider.*|\.?(crush|opencode)\.jsonc?|"
    r"firebender\.json"
)
_AGENT_FOLDERS = frozenset(
    {
        ".claude", ".bridge", ".claude-plugin", ".cursor", ".windsurf", ".codex",
        ".agent", ".agents", ".aider", ".amazonq", ".augment", ".clinerules",
        ".continue", ".crush", ".factory", ".firebender", ".gemini", ".goose", ".idx",
        ".junie", ".kilocode", ".kiro", ".opencode", ".openhands", ".qwen", ".roo",
        ".ruler", ".rulesync", ".serena", ".specify", ".tabnine", ".trae", ".warp",
        ".zencoder", "chatmodes", "memory-bank", "prompts", "skills",
    }
)  # fmt: skip
# Prose in these folders is what an agent is told.
_TOLD = re.compile(r"(.*/)?(agents|commands)/.*\.(md|markdown|txt)", re.S)
_BY_NAME: tuple[tuple[Kind, re.Pattern[str], frozenset[str]], ...] = (
    ("tests", _TESTS, _TEST_FOLDERS),
    ("build", _BUILD, _BUILD_FOLDERS),
    ("agents", _AGENTS, _AGENT_FOLDERS),
)
_SECURITY = re.compile(
    r"auth(?!or)|login|logon|passw|crypt|secret|credential|session|cookie|permission|"
    r"\bacl|sudo|oauth|jwt|saml|\btls|\bssl|cert|csrf|cors|sandbox|sanitiz|"
    r"\.(pem|key|crt|p12)$|\.env"
)
# In lines that a change adds or removes: what is dangerous, and what protects.
_WORDS = re.compile(
    r"\b(eval|exec|execfile|compile|system|popen|spawn)\s*\(|subprocess|child_process|"
    r"shell\s*=\s*true|pickle|marshal\.|yaml\.(unsafe_)?load\b|unserialize|deserializ|"
    r"innerhtml|document\.write|\bselect\b.{1,200}\bfrom\b|\binsert\s+into\b|\bdrop\s+table|"
    r"\.execute(many)?\s*\(|passw|secret|api_?key|private_?key|credential|"
    r"(access|auth|api|bearer|refresh)[ _-]?token|bearer |chmod|setuid|sudo|crypt|hmac|"
    r"\bmd5|\bsha1\b|verify\s*=\s*false|insecure|unsafe|csrf|cors\b|\bjwt|cookie|"
    r"authori[sz]|authenticat|permission|sandbox|sanitiz|escape\(|ctypes|dlopen|"
    r"__import__|importlib|base64|curl |wget |\bnc -|/etc/(passwd|shadow)|postinstall"
)
_HEADER = "diff --git "


def kinds_of(file: ChangedFile) -> frozenset[Kind]:
    """The kinds that a file's name says."""
    path = file.path.lower()
    *folders, name = path.split("/")
    found: set[Kind] = {
        kind
        for kind, pattern, kept in _BY_NAME
        if pattern.fullmatch(name) or not kept.isdisjoint(folders)
    }
    if file.is_told or _TOLD.fullmatch(path):
        found.add("agents")
    is_docs = not found and file.is_plain and _DOCS.fullmatch(name) is not None
    if _SECURITY.search(path) and not is_docs:
        found.add("security")
    if not file.is_shown:
        found.add("unread")
    if is_docs:
        found.add("docs")
    return frozenset(found or {"code"})


def dangerous_words(change: Change) -> tuple[str, ...]:
    """What the changed lines have of words that concern security, without prose."""
    docs = {_header(file.path) for file in change.files if "docs" in kinds_of(file)}
    found: dict[str, None] = {}
    is_prose = False
    # A line of a file never begins so: there is a sign before it.
    for line in change.diff.split("\n"):
        if line.startswith(_HEADER):
            is_prose = line in docs
        elif line[:1] in ("+", "-") and not is_prose:
            found.update(
                (each[0].strip(), None) for each in _WORDS.finditer(line.lower())
            )
    return tuple(found)


def _header(path: str) -> str:
    name = quoted_path(path)
    return f"{_HEADER}a/{name} b/{name}"
