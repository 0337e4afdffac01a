"""What can be proved of a command, what it becomes when it is run, and what it might run besides."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.policy.shell import NotProved, Proof, TooComplex, prove, readings
from bot.policy.shell.words import unquote
from tests.policy.build import judge, policy


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("ls -la /srv", "ls -la /srv"),
        ("git log --oneline | head -5", "git log --oneline | head -5"),
        ("a && b || c; d", "a && b || c ; d"),
        ("a\n\n b |\n c", "a ; b | c"),
        ("cat 'a b' \"c d\" e''f", "cat 'a b' 'c d' ef"),
        ("ls '$(reboot)' '*' \"it's\"", "ls '$(reboot)' '*' 'it'\"'\"'s'"),
        ("ls 2>/dev/null >/dev/null 2>&1 < /dev/null", "ls 2>/dev/null >/dev/null 2>&1 </dev/null"),
        ("git diff HEAD~2 a#b", "git diff 'HEAD~2' 'a#b'"),
        ("find . ! -name {}", "find . '!' -name '{}'"),
        ("ls;", "ls"),
    ],
)
def test_proved_text_is_rendered_with_every_word_quoted(text: str, rendered: str) -> None:
    proof = prove(text)
    assert isinstance(proof, Proof)
    assert proof.render() == rendered
    again = prove(rendered)
    assert isinstance(again, Proof)
    assert again.commands == proof.commands


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ls $HOME", "an expansion"),
        ("ls `x`", "an expansion"),
        ("ls *", "a file name pattern"),
        ("ls {a,b}", "a brace"),
        ("ls ~", "a tilde"),
        ("ls a=~", "a tilde"),
        ("ls > x", "a redirection"),
        ("22>/dev/null ls", "a redirection"),
        ("ls &", "a command in the background"),
        ("(ls)", "a subshell"),
        ("l\\s", "a backslash"),
        ("ls # x", "a comment"),
        ("ls x!", "an exclamation mark"),
        ("ls 'a", "a quote"),
        ('ls "$x"', "a quote"),
        ("A=b ls", "an assignment"),
        ("if ls", "an assignment, a reserved word"),
        ("'if' x", "an assignment, a reserved word"),
        ("'' x", "an assignment, a reserved word or no name"),
        ("ls &&", "an operator without a command"),
        ("; ls", "an operator without a command"),
        ("", "an operator without a command"),
        (">/dev/null", "an operator without a command"),
        ("ls é", "a character outside ASCII"),
        ("ls \r", "hidden character"),
        ("l" * 4001, "longer than 4000"),
    ],
)
def test_what_is_not_proved_says_why(text: str, reason: str) -> None:
    proof = prove(text)
    assert isinstance(proof, NotProved)
    assert proof.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "argv"),
    [("ls -l", ("ls", "-l")), ("ls | wc", None), ("ls; ls", None), ("ls 2>&1", None)],
)
def test_only_a_single_plain_command_needs_no_shell(text: str, argv: tuple[str, ...] | None) -> None:
    proof = prove(text)
    assert isinstance(proof, Proof)
    assert proof.argv == argv


@settings(deadline=None)
@given(st.text(alphabet="ab '\"\\$`*?~#!;|&<>(){}[]=\n\t-./2é", max_size=40))
def test_proving_never_fails_and_what_is_rendered_can_be_proved_again(text: str) -> None:
    proof = prove(text)
    if isinstance(proof, Proof):
        again = prove(proof.render())
        assert isinstance(again, Proof)
        assert [each.argv for each in again.commands] == [each.argv for each in proof.commands]


def names(text: str) -> set[str]:
    return {reading.words[0] for reading in readings(text) if reading.words}


@pytest.mark.parametrize(
    "text",
    [
        "r\\\neboot", "re''boot", "$'\\x72eboot'", "X=reboot; $X", "re${x}boot", "{reboot,now}", "bash <<< reboot",
        "bash <<EOF\nreboot\nEOF", "cat <<EOF\n$(reboot)\nEOF", ": $((1<<A))\nreboot\nA",
        "git -c core.sshCommand=reboot fetch", "tar x --checkpoint-action=exec=reboot", "ssh h 'ls; reboot'",
        "env -S'reboot now'", "kubectl exec -it p -- reboot", "docker run --rm i reboot", "find . -exec nice reboot ;",
        "if x; then reboot; fi", "f() { reboot; }; f", "coproc reboot", "a=1 b=2 reboot", "sudo -u x -- env reboot",
        "ls${IFS}|${IFS}reboot", "watch -n 5 'ls && reboot'", "trap 'reboot' EXIT", "xargs -I {} sh -c 'reboot {}'",
    ],
    ids=ascii,
)  # fmt: skip
def test_readings_find_the_command_behind_any_disguise(text: str) -> None:
    assert "reboot" in names(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'a; reboot' $x",
        "grep -e reboot $x",
        "cat > notes <<'EOF'\nreboot\nEOF",
        "git commit -m 'fix; reboot' $x",
    ],
    ids=ascii,
)
def test_readings_do_not_take_plain_data_for_commands(text: str) -> None:
    assert "reboot" not in names(text)


@settings(deadline=None)
@given(st.text(alphabet="ab '\"\\$`*;|&<>(){}=\n-c", max_size=60))
def test_reading_never_fails(text: str) -> None:
    readings(text)


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text", ["$(" * 900, "${" * 1500, "a" * 3990 + "[", "'" * 3999, "env " * 900 + "$x", "bash -c '" * 400]
)
def test_hostile_nesting_ends_soon(text: str) -> None:
    prove(text)
    with suppress(TooComplex):
        readings(text)


def test_what_nests_too_deep_is_refused_and_not_half_read() -> None:
    governing = policy("default: allow\ndeny: [{id: never, tool: execute, command: [reboot]}]")
    verdict = judge(governing, "execute", command="env " * 50 + "reboot")
    assert (verdict.kind, verdict.rules) == ("deny", ("builtin:command",))


@pytest.mark.parametrize(
    ("text", "word"),
    [("a'b'\"c\"", "abc"), ("a\\ b", "a b"), ("$'a\\nb'", "a\nb"), ('"a\\"b"', 'a"b'), ("'a", "a")],
)
def test_unquote(text: str, word: str) -> None:
    assert unquote(text) == word
