"""Secrets are masked wherever text leaves a tool: results, progress, cards, logs, audit.

Only the value is masked (`‹secret:ab12›`), never the command word, path or host around it, so that people can
still judge what they see. The mask carries a prefix of the value's hash: the same secret looks the same
everywhere, and two different ones can be told apart. What is hashed and executed is always the original.

Configured values are the main protection: whoever starts the bot knows its secrets. The patterns below catch
what nobody told us about, and are kept few and specific because a false mask hides what an approver must see.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast
from urllib.parse import quote, quote_plus

#: Shorter values would mask ordinary words.
SHORTEST = 6
#: No line-less secret that we know of is longer; the stream holds back this much of an unfinished line.
LONGEST = 4096

#: A text without any of the needles is not even searched: `in` is many times cheaper than a pattern.
_Pattern: TypeAlias = tuple[tuple[str, ...], re.Pattern[str]]
_TOKENS: tuple[_Pattern, ...] = (
    (("AKIA", "ASIA"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),  # AWS key id
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b")),  # GitHub
    (("github_pat_",), re.compile(r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b")),
    (("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}")),  # GitLab
    (("xox",), re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),  # Slack
    (("xapp-",), re.compile(r"\bxapp-[0-9]-[A-Za-z0-9-]{10,}")),
    (("sk-",), re.compile(r"\bsk-[A-Za-z0-9_-]{20,}")),  # Anthropic, OpenAI
    (("k_live_", "k_test_"), re.compile(r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}")),  # Stripe
    (("AIza",), re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),  # Google
    (("eyJ",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),  # JWT
)
_NAME = r"(?i:password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key)"
_IS = r"[ \t]{0,4}[:=][ \t]{0,4}"
#: Not a path (`password=/run/secrets/db` names a file), nor a variable, nor already masked.
_BARE = r"""(?!\.{0,2}/[a-z._-]+/)[^\s"',;&|<>(){}$‹]"""
#: In these the value is the group, and the words around it stay readable. Needles are in lower case.
_CONTEXTUAL: tuple[_Pattern, ...] = (
    (
        ("passw", "passphrase", "secret", "token", "key"),
        re.compile(
            f"{_NAME}(?:"
            # "client_secret": "x" · password='x'
            rf"""["']?{_IS}(?:"(?P<double>[^"\n]{{3,}})"|'(?P<single>[^'\n]{{3,}})')"""
            # AWS_SECRET_ACCESS_KEY=x · api_key=x
            rf"|=(?P<equals>{_BARE}{{6,}})"
            # password: x, but neither `token: expired` nor `secret: Permission denied`
            rf"|{_IS}(?=[^\s]*[^A-Za-z\s])(?P<colon>{_BARE}{{5,}}))"
        ),
    ),
    (
        ("authorization", "bearer"),
        re.compile(
            rf"""(?i:\bauthorization["']?{_IS}["']?(?:basic|bearer|token)[ \t]+)(?P<scheme>[^\s"',;]{{4,}})"""
            r"|(?i:\bbearer[ \t]+)(?P<bearer>[A-Za-z0-9._~+/=-]{16,})"
        ),
    ),
    # scheme://user:password@host
    (("://",), re.compile(r"://[^\s/:@]{0,80}:(?P<url>[^\s/@]{3,})@")),
)
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----")


class Redactor:
    """Masks configured values and well-known patterns. Stateless but for its configuration."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: a secret that contains another must not leave its rest behind.
        forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
        self._known: _Pattern = (tuple(forms), re.compile("|".join(map(re.escape, forms))))

    def redact(self, text: str) -> str:
        spans = self.spans(text)
        return _masked(text, spans) if spans else text

    def redact_json(self, value: Any) -> Any:
        """Mask every string inside a JSON value; keys and structure stay."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {key: self.redact_json(item) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.redact_json(item) for item in cast("list[Any]", value)]
        return value

    def stream(self) -> "RedactedStream":
        return RedactedStream(self)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the secrets are, in order and without overlap."""
        low = text.lower()
        matches = [
            *_matches(text, text, (self._known, *_TOKENS)),
            *_matches(text, low, _CONTEXTUAL),
        ]
        spans = [match.span(match.lastgroup or 0) for match in matches]
        if "PRIVATE KEY-----" in text:
            spans.extend(_key_spans(text))
        return _merged(spans) if spans else spans


class RedactedStream:
    """Masks text that arrives in pieces: what is given out never contains part of a secret.

    Whole lines are given out as they are complete. Of a line that does not end, the last `LONGEST` characters
    are held back, since they may be the beginning of something. Private keys span lines and are tracked.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._in_key = False

    def feed(self, text: str) -> str:
        self._held += text
        cut = self._held.rfind("\n") + 1
        if cut == 0 and len(self._held) > 2 * LONGEST:
            cut = self._before_secret(len(self._held) - LONGEST)
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._mask(ready)

    def finish(self) -> str:
        ready, self._held = self._held, ""
        return self._mask(ready)

    def _before_secret(self, cut: int) -> int:
        spans = self._redactor.spans(self._held)
        return next((start for start, end in spans if start < cut < end), cut)

    def _mask(self, text: str) -> str:
        if not self._in_key and "PRIVATE KEY" not in text:
            return self._redactor.redact(text)
        return "".join(self._mask_line(line) for line in text.splitlines(keepends=True))

    def _mask_line(self, line: str) -> str:
        if self._in_key:
            self._in_key = not _KEY_END.search(line)
            return "" if self._in_key else "‹secret:key›\n"
        begin = _KEY_BEGIN.search(line)
        if begin and not _KEY_END.search(line):
            self._in_key = True
            return line[: begin.end()] + "\n"
        return self._redactor.redact(line)


def _forms(secret: str) -> Iterator[str]:
    """Yield the spellings a value is likely to appear in."""
    secret = secret.strip()
    if len(secret) < SHORTEST:
        return
    yield secret
    if "\n" in secret:
        # Streams are masked line by line.
        for line in secret.splitlines():
            yield from _forms(line)
        return
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    yield quote_plus(secret)
    raw = secret.encode()
    # Base64 of a text that contains the secret depends on the offset modulo 3: keep the part that does not.
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            inner = encode(b"\0" * offset + raw).decode()
            start, end = (0, 2, 3)[offset], len(inner) - (0, 3, 2)[(offset + len(raw)) % 3]
            if end - start >= SHORTEST + 2:
                yield inner[start:end].rstrip("=")


def _matches(text: str, needles_in: str, patterns: Iterable[_Pattern]) -> Iterator[re.Match[str]]:
    for needles, pattern in patterns:
        for needle in needles:
            if needle in needles_in:
                yield from pattern.finditer(text)
                break


def _key_spans(text: str) -> Iterator[tuple[int, int]]:
    for begin in _KEY_BEGIN.finditer(text):
        end = _KEY_END.search(text, begin.end())
        yield begin.end(), end.start() if end else len(text)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], _mask_of(text[start:end]))
        position = end
    return "".join((*parts, text[position:]))


def _mask_of(value: str) -> str:
    return f"‹secret:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}›"
