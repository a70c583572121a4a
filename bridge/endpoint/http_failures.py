"""Turn an error of a server into a failure code and a sentence.

no connection           no_server           there is none
a redirect              no_server           it is somewhere else
404                     model_unavailable   the server has no such model
429                     quota; when it ends, if the server says so
400, too long           too_long            the conversation does not fit the context
400, 422                bad_request         the server cannot use the shape
a timeout               timeout
anything else           agent_error
"""

import re
from typing import Any

from bridge.agent_loop.chat_model import ModelFailed
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.wording import shortened
from bridge.setting import without_passwords

_MAX_WORDS = 500
_TOO_LONG = ("context_length", "context length", "context size", "context window")


def failure_of(exc: Exception, client: Any) -> ModelFailed:
    """The failure for an exception of the `openai` client."""
    import openai

    for known in (exc, exc.__cause__):
        if isinstance(known, ModelFailed):
            return known
    words, server = _words(exc, client), _short(str(client.base_url))
    if isinstance(exc, openai.APITimeoutError):
        return ModelFailed("timeout", "the server did not answer by the deadline")
    if isinstance(exc, openai.APIConnectionError):
        why = _words(exc.__cause__, client) if exc.__cause__ else words
        if type(exc.__cause__).__name__ == "ConnectError":
            return ModelFailed("no_server", f"no server at {server}: {why}")
        return ModelFailed("agent_error", f"the connection broke: {why}")
    if isinstance(exc, openai.APIStatusError) and exc.response.is_redirect:
        elsewhere = _short(exc.response.headers.get("Location", "nowhere"))
        return ModelFailed(
            "no_server",
            f"{server} points to {elsewhere}, and is not followed; set "
            "BRIDGE_OPENAI_BASE_URL to where the server is",
        )
    if isinstance(exc, openai.APIStatusError):
        code = _code(exc.status_code, words)
        later = exc.response.headers.get("Retry-After") if code == "quota" else None
        when = f" (retry-after: {_short(later)})" if later else ""
        return ModelFailed(code, f"HTTP {exc.status_code}: {words}{when}")
    return ModelFailed("agent_error", f"{type(exc).__name__}: {words}")


def _code(status: int, words: str) -> FailureCode:
    if status == 404:  # noqa: PLR2004 - HTTP's own numbers
        return "model_unavailable"
    if status == 429:  # noqa: PLR2004
        return "quota"
    if any(sign in words.lower() for sign in _TOO_LONG):
        return "too_long"
    return "bad_request" if status in {400, 422} else "agent_error"


def _words(exc: BaseException, client: Any) -> str:
    """The message in one line, without the API key."""
    words = " ".join(str(exc).split()) or type(exc).__name__
    words = re.sub(r"^Error code: \d+ - ", "", words)
    key = client.api_key
    if key and key != "none":
        words = words.replace(key, "…")
    return _short(words)


def _short(words: str) -> str:
    return shortened(without_passwords(words), _MAX_WORDS)
