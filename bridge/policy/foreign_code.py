"""Code in other languages that plainly starts no program. Pure.

Models edit texts with short scripts, and such a text may hold any command:

    python3 -c "print('git push')"                  starts nothing
    perl -pi -e 's/git push/git pull/' README.md    starts nothing
    node -e 'require("child_process") …'            may start anything

Only what is known to be harmless counts: a few modules, and no name by which code comes
to another module, to other code, or to a name that it puts together.
"""

from __future__ import annotations

import re

from bridge.policy.shell_words import raw_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# They give way to no other module but by a name that is refused.
_MODULE = (
    "(?:ast|base64|collections|csv|datetime|decimal|difflib|glob|hashlib|itertools|json"
    "|math|os|os[.]path|pathlib|random|re|statistics|sys|textwrap|time)"
)
_IMPORT = re.compile(
    rf"(?:^|(?<=[;:\n]))[ \t]*(?:import[ ]+{_MODULE}(?:[ ]*,[ ]*{_MODULE})*"
    rf"|from[ ]+(?!os[ ]|sys[ ]){_MODULE}[ ]+import(?P<names>[\w, ]+))"
    r"[ \t]*(?=[;\n#]|$)"
)
_PYTHON = re.compile(
    r"""(?<![A-Za-z0-9]) _* (?: nt | posix | subprocess | builtins | bltns | modules
      | import\w* | getattr | attrgetter | methodcaller | vars | globals | locals | eval
      | exec\w* | breakpoint | help | ctypes | pty
      # What an allowed module has imported, and evaluates annotations by.
      | functools | contextlib | typing | inspect | types | warnings | codecs | weakref
      | enum | dis | token\w* | linecache | register | singledispatch\w* | annotations
      | os (?! [.](?:path|environ|getcwd|listdir|walk|makedirs|mkdir|getenv)\b )
      | sys (?! [.](?:stdin|stdout|stderr|argv|exit)\b ) ) \b
    | __ | \b(?:f|gi|cr|ag|tb|co)_[a-z] | (?<!\bre[.])\bcompile\b
    # The encoding of the text itself.
    | coding[:=]""",
    re.X,
)
_NODE_MODULE = re.compile(r"""\brequire\(\s*(['"])(?:node:)?(?:fs|path)\1\s*\)""")
_NODE = re.compile(
    r"""\b(?: require | process | child_process | eval | Function | constructor | import
      | module | global\w* | this | Reflect | Object | Proxy | vm | worker_threads
      | cluster | repl | inspector | exec\w* | spawn\w* | fork | prototype | with
      | WebAssembly | arguments )\b
    | __ | \\[ux] | \[(?!\s*\d*\s*\])""",
    re.X,
)
# One or more replacements, in which nothing but text of a match is expanded.
_PERL = re.compile(
    r"(?:\s*s(?P<sign>[/|#!,])(?:(?!(?P=sign))[^\\`]|\\.)*(?P=sign)"
    r"(?:(?!(?P=sign))[^\\`]|\\.)*(?P=sign)[gimsx]*\s*(?:;|$))",
    re.S,
)
_MAY_BE_A_PIPE = re.compile(r"[|$`]")
_PERL_EXPANDED = re.compile(r"\$(?![\d&/|#!,)]|$)|@(?=[\w{$:])|\(\?\??\{")
_RUBY = re.compile(
    r"""\s*(?:\$_[.])?g?sub!?\(/[^/`#\\]*/, *(?:"[^"`#\\]*"|'[^'\\]*')\)\s*"""
)
_DATABASES = {
    "sqlite3": re.compile(r"(?:^|\n)\s*\.|\||\b(?:edit|load_extension)\b", re.I),
    "psql": re.compile(r"\\|\bprogram\b", re.I),
}


def starts_nothing(language: str, code: str, words: Sequence[str]) -> bool:
    """Whether code is known to start no program, whatever it is given as words."""
    if language == "perl" and any(
        _MAY_BE_A_PIPE.search(raw_of(word)) for word in words
    ):
        # It opens what is no file: `perl -ne s/a/b/ 'git push |'`.
        return False
    if language == "perl":
        return not _PERL.sub("", code).strip() and not _PERL_EXPANDED.search(code)
    if language == "ruby":
        return bool(_RUBY.fullmatch(code))
    if language in _DATABASES:
        return not _DATABASES[language].search(code)
    if not code.isascii():
        import unicodedata

        # So does Python read names.
        code = unicodedata.normalize("NFKC", code)
    if language == "python":
        return not _PYTHON.search(_IMPORT.sub(r"\g<names>", code))
    return language == "node" and not _NODE.search(_NODE_MODULE.sub("fs", code))
