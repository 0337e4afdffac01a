"""Whatever is judged provable executes exactly the argv that was judged, in the real bash."""
# ruff: noqa: E501 - tables, one row per line

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.policy.shell import Proof, prove
from tests.policy.bash import bash_is_there, executed, executed_for_real, predicted

WANTED = 20_000
BATCH = 2_500
# All workers of one run share a seed; ASKFIRST_FUZZ_SEED repeats a run.
SEED = int(
    os.environ.get("ASKFIRST_FUZZ_SEED") or int(os.environ.get("PYTEST_XDIST_TESTRUNUID", "0")[:8], 16)
) or (random.SystemRandom().randrange(1, 2**32))

COMMANDS = [
    "ls",
    "cat",
    "evil",
    "git",
    "find",
    "grep",
    "x-y",
    "a.b",
    "test",
    "echo",
    "cd",
    "export",
    "if",
    "time",
    "!",
    "{",
]
WORDS = [
    "a", "b1", "-l", "--x=y", "/srv", "./a", "../b", "a=b", "A=~", "~", "~root", "a~b", "HEAD~2", "x:~", "#c", "a#b",
    "%1", "@x", "+x", "2", "22", "1", "0", "-", "--", "{}", "{a,b}", "{1..3}", "a{b", "}", "*", "a*", "?", "[a]", "]",
    "^x", "!", "!x", "x!", "!!", ",", "a,b", ":", "=", "==", "in", "do", "done", "then", "$", "$x", "${x}", "$(evil)",
    "`evil`", "$'a'", '$"a"', "\\a", "a\\", "\\", "é", "\u00a0", "\u2003", "\u200b", "𝐚",
]  # fmt: skip
QUOTED = [
    "'a b'", "''", "'$(evil)'", "'`evil`'", "'a\"b'", "'a\nb'", "'\\'", "'*'", "'~'", "'#'", "'!'", "'a;evil'", "'",
    '"a b"', '""', '"$(evil)"', '"`evil`"', '"a\'b"', '"a\nb"', '"\\"', '"*"', '"!x"', '"a;evil"', '"', '"$"', '"a\\$b"',
]  # fmt: skip
JOINTS = [
    " && ",
    " || ",
    "; ",
    " | ",
    "&&",
    "||",
    ";",
    "|",
    "\n",
    " \n ",
    "\n\n",
    ";\n",
    "&",
    " & ",
    "|&",
    ";;",
    "\r\n",
]
REDIRECTS = [
    "2>/dev/null", ">/dev/null", "2>&1", ">&2", "1>&2", "&>/dev/null", "</dev/null", ">>/dev/null", "2> /dev/null",
    "22>/dev/null", ">/dev/nullx", "2>&12", ">x", "<x", "<<<x", "<<EOF", "<(evil)", ">|x", "2>&-", "&>>/dev/null",
    "{v}>/dev/null", "0</dev/null", "2>\n/dev/null", "a2>/dev/null", "'2'>/dev/null",
]  # fmt: skip
NASTY = [
    *" \t\n\r\v\f'\"\\$`!#~*?[]{}()<>|&;=:%^,@+-./ae2",
    "\u2028",
    "\u00a0",
    "é",
    "\\\n",
    "$(",
    "((",
    "[[",
]


def simple(rng: random.Random) -> str:
    parts = [rng.choice(COMMANDS[:12] if rng.random() < 0.9 else COMMANDS)]
    for _ in range(rng.randrange(4)):
        pool = rng.choices((WORDS[:38], WORDS, QUOTED, REDIRECTS[:11], REDIRECTS), (6, 2, 4, 3, 1))[0]
        parts.append(rng.choice(pool))
    if rng.random() < 0.1:
        rng.shuffle(parts)
    return rng.choice((" ", " ", " ", "  ", "\t", "")).join(parts) if rng.random() < 0.3 else " ".join(parts)


def text(rng: random.Random) -> str:
    made = "".join(
        simple(rng) + rng.choice(JOINTS[:14] if rng.random() < 0.9 else JOINTS)
        for _ in range(rng.randrange(3))
    )
    made += simple(rng)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        place = rng.randrange(len(made) + 1)
        cut = rng.choice((0, 0, 0, 1))
        made = made[:place] + rng.choice(NASTY) + made[place + cut :]
    return made


def proved(rng: random.Random, count: int) -> Iterator[tuple[str, Proof]]:
    seen: set[str] = set()
    while len(seen) < count:
        made = text(rng)
        proof = prove(made)
        # A name with a slash is not looked up, so the oracle cannot see it; the words after it are the same matter.
        if (
            made not in seen
            and isinstance(proof, Proof)
            and all("/" not in each.argv[0] for each in proof.commands)
        ):
            seen.add(made)
            yield made, proof


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not bash_is_there(), reason="needs bash")
@pytest.mark.parametrize("part", range(WANTED // BATCH))
def test_bash_executes_exactly_what_was_proved(part: int, tmp_path: Path) -> None:
    print(f"ASKFIRST_FUZZ_SEED={SEED} part {part}")
    found = list(proved(random.Random(f"{SEED}-{part}"), BATCH))
    written = executed([made for made, _ in found], tmp_path)
    rendered = executed([proof.render() for _, proof in found], tmp_path)
    assert len(written) == len(rendered) == BATCH, f"bash stopped early; ASKFIRST_FUZZ_SEED={SEED}"
    for (made, proof), by_text, by_render in zip(found, written, rendered, strict=True):
        assert by_text == predicted(proof), f"{made!r}; ASKFIRST_FUZZ_SEED={SEED}"
        assert by_render == predicted(proof), f"{proof.render()!r}; ASKFIRST_FUZZ_SEED={SEED}"


@pytest.mark.slow
@pytest.mark.skipif(not bash_is_there(), reason="needs bash")
def test_a_fresh_bash_with_programs_on_a_path_agrees_with_the_batches(tmp_path: Path) -> None:
    names = ("ls", "cat", "evil", "git", "find", "grep", "x-y", "a.b")
    rng = random.Random(SEED)
    for made, proof in proved(rng, 400):
        if all(each.argv[0] in names for each in proof.commands):
            assert executed_for_real(proof.render(), tmp_path, names) == predicted(proof), (
                f"{made!r}; seed {SEED}"
            )
