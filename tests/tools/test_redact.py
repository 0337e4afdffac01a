"""Secrets are masked, and nothing else."""

import base64
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.redact import LONGEST, Redactor

SECRET = "correct horse/battery+staple"
MASK = "‹secret:1f50›"
REDACTOR = Redactor([SECRET, "short", "tiny-but-ok"])


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("AKIAIOSFODNN7EXAMPLE", "‹secret:1a5d›"),
        ("export GH=ghp_16C7e42F292c6912E7710c838347Ae178B4a", "export GH=‹secret:"),
        ("xoxb-123456789012-abcdefABCDEF", "‹secret:"),
        ("key sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "key ‹secret:"),
        ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "‹secret:"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuvw", "‹secret:"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "‹secret:"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "AWS_SECRET_ACCESS_KEY=‹secret:"),
        ("password: hunter2", "password: ‹secret:"),
        ('{"client_secret": "a b c"}', '{"client_secret": "‹secret:'),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ‹secret:"),
        ("curl -H 'Authorization: Bearer abcdef0123456789abcd' x", "curl -H 'Authorization: Bearer ‹secret:"),
        ("postgres://app:s3cret@db.local/app", "postgres://app:‹secret:"),
        ("https://x.test/?api_key=0123456789&page=2", "https://x.test/?api_key=‹secret:"),
    ],
)
def test_well_known_secrets_are_masked_and_what_is_around_them_is_not(text: str, masked: str) -> None:
    result = Redactor().redact(text)
    assert result.startswith(masked)
    assert result.count("‹secret:") == 1


@pytest.mark.parametrize(
    "text",
    [
        "rm: cannot remove '/srv/secret': Permission denied",
        "token: expired",
        "max_tokens: 8192",
        "password=$DB_PASSWORD",
        "password=/run/secrets/db",
        "--password-file=/etc/app/password",
        "cat /home/me/.ssh/id_rsa",
        "git log --format=%h",
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "https://example.com:8443/path@v2",
        "ssh deploy@db.local",
        "secrets: 3",
    ],
)
def test_paths_commands_and_ordinary_words_stay_readable(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.b64encode(f"ab:{SECRET}\n".encode()).decode(),
        base64.urlsafe_b64encode(f"x{SECRET}".encode()).decode(),
    ],
)
def test_configured_values_are_masked_in_every_spelling(spelling: str) -> None:
    masked = REDACTOR.redact(f"before {spelling} after")
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert "‹secret:" in masked
    assert len(masked) < len("before  after") + len(MASK) + 8


def test_the_same_secret_looks_the_same_and_short_values_are_not_secrets() -> None:
    assert REDACTOR.redact(f"{SECRET} and {SECRET}") == f"{MASK} and {MASK}"
    assert REDACTOR.redact("a short text") == "a short text"


def test_a_configured_value_of_several_lines_is_masked_in_each_of_them() -> None:
    stream = Redactor(["first part\nsecond part"]).stream()
    assert stream.feed("first part\nsecond ") + stream.feed("part\n") == "‹secret:6869›\n‹secret:8efc›\n"


def test_values_inside_json_are_masked_and_its_shape_is_kept() -> None:
    assert REDACTOR.redact_json({"command": f"login {SECRET}", "list": [SECRET, 1, None]}) == {
        "command": f"login {MASK}",
        "list": [MASK, 1, None],
    }


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAAtz\n-----END OPENSSH PRIVATE KEY-----\n"


def test_a_private_key_is_masked_whole_or_streamed() -> None:
    assert Redactor().redact(f"a\n{KEY}b\n").splitlines() == [
        "a",
        "-----BEGIN OPENSSH PRIVATE KEY-----‹secret:3f2f›-----END OPENSSH PRIVATE KEY-----",
        "b",
    ]
    stream = Redactor().stream()
    text = "".join(stream.feed(character) for character in f"a\n{KEY}b\n") + stream.finish()
    assert text == "a\n-----BEGIN OPENSSH PRIVATE KEY-----\n‹secret:key›\nb\n"


@given(
    st.lists(st.integers(0, 400), max_size=12), st.text("ab \n", max_size=100), st.text("ab \n", max_size=100)
)
def test_however_a_text_is_cut_no_part_of_the_secret_comes_out(
    cuts: list[int], before: str, after: str
) -> None:
    text = f"{before}{SECRET}{after}"
    stream = REDACTOR.stream()
    pieces: list[str] = []
    position = 0
    for cut in sorted(cuts):
        pieces.append(stream.feed(text[position:cut]))
        position = max(position, cut)
    pieces.append(stream.feed(text[position:]))
    assert "".join(pieces) + stream.finish() == f"{before}{MASK}{after}"


@pytest.mark.parametrize("shift", range(0, len(SECRET) + 8, 3))
def test_a_line_that_never_ends_comes_out_bit_by_bit_without_the_secret_in_it(shift: int) -> None:
    # The line is cut LONGEST before its end once it is twice as long; here a secret lies across that cut.
    text = "x" * (LONGEST + 1 - shift) + SECRET + "y" * (2 * LONGEST)
    stream = REDACTOR.stream()
    out = "".join(stream.feed(text[start : start + 1]) for start in range(len(text)))
    assert len(out) >= LONGEST + 1 - shift
    assert out + stream.finish() == "x" * (LONGEST + 1 - shift) + MASK + "y" * (2 * LONGEST)


def test_masking_a_line_takes_microseconds() -> None:
    lines = [
        "2026-11-18T12:00:00Z INFO request handled path=/api/v1/items status=200 took=12ms user=U123",
        "drwxr-xr-x 2 deploy deploy 4096 Nov 18 12:00 build-artifacts-2026-11-18-nightly",
        "    at com.example.service.Handler.process(Handler.java:123) ~[app.jar:1.2.3]",
        "token refreshed for https://api.example.com/v1/session after 3 retries, key=session-cache",
    ] * 500
    best = min(_seconds(lines) for _ in range(3)) / len(lines)
    assert best < 30e-6, f"{best * 1e6:.1f} µs per line"
    print(f"{best * 1e6:.2f} µs per line")


def _seconds(lines: list[str]) -> float:
    began = time.perf_counter()
    for line in lines:
        REDACTOR.redact(line)
    return time.perf_counter() - began
