"""Files that may hold secrets, by their names. Pure.

Neither a model that reads files here nor a change in a prompt gets their content.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

# By any component of the path, as fnmatch has it, lower case.
_SECRET = (
    ".git", ".hg", ".svn", ".env", ".env.*", ".envrc", ".netrc", ".pypirc", ".npmrc",
    ".pgpass", ".htpasswd", ".git-credentials", ".ssh", ".gnupg", ".aws", ".azure",
    ".kube", ".docker", ".hostbridge", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx",
    "*.keystore", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "credentials",
    "credentials.json", "secrets.json", "secrets.y*ml", "secrets.toml",
)  # fmt: skip
# Templates of such files, meant to be read.
_HARMLESS = (".env.example", ".env.sample", ".env.template", "*.pub")


def is_secret(parts: Iterable[str]) -> bool:
    """Whether a path with these components may hold secrets."""
    for part in parts:
        name = part.lower()
        if any(fnmatchcase(name, pattern) for pattern in _HARMLESS):
            continue
        if any(fnmatchcase(name, pattern) for pattern in _SECRET):
            return True
    return False
