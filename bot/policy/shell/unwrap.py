"""Commands that run other commands, and where in their words those begin."""

import re
from collections.abc import Iterator, Sequence

from bot.policy.shell.scan import Reading
from bot.policy.shell.words import listed

#: Run the command in their arguments.
WRAPPERS = listed(
    """env sudo doas pkexec nohup nice ionice chrt taskset timeout stdbuf setsid time command builtin exec
    xargs busybox toybox strace ltrace unshare nsenter systemd-run watch setarch linux32 linux64
    fakeroot eatmydata proxychains proxychains4 torsocks unbuffer rlwrap chronic dbus-run-session
    xvfb-run numactl prlimit perf gdb valgrind sg runuser setpriv capsh gosu su-exec tini dumb-init
    firejail bwrap proot cpulimit chpst setuidgid envdir softlimit sshpass catchsegv
    start-stop-daemon daemonize ld.so ld-linux.so nocache parallel entr caffeinate coproc noglob
    nocorrect aa-exec cgexec choom stdbuf uv poetry pipenv bundle npx pnpm yarn nix-shell direnv
    with-contenv s6-setuidgid execlineb if unless logsave faketime cmdprobe multitime hyperfine"""
)
#: The same, but names other things first: a host, a file, a container.
PLACED = listed(
    """chroot flock ssh su script docker podman nerdctl kubectl oc lxc-attach lxc machinectl crictl
    ctr distrobox toolbox flatpak at runcon jexec slogin rsh mosh dsh pssh"""
)
#: Read shell text from their arguments.
SHELLS = listed("sh bash zsh dash ksh ash fish mksh csh tcsh rbash pwsh yash hush")
TEXTUAL = SHELLS | listed(
    "eval trap watch ssh su script parallel at batch hyperfine runuser sem flock nix-shell"
)
#: Names that stand before a command without being one.
KEYWORDS = listed("if then else elif do while until ! { } time coproc function in case esac done fi")
INTERPRETERS = listed(
    """python python2 python3 perl ruby node nodejs php lua awk gawk mawk nawk sed ed ex vi vim nvim emacs
    tclsh expect Rscript julia ghci scala groovy jshell osascript deno bun make git find fd tar
    rsync gdb"""
)

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_NUMBER = re.compile(r"\d[\d.]*[a-zA-Z]?\Z")
#: Options whose value is a command: --checkpoint-action=exec=…, --compress-program=…, core.sshCommand=…
_EMBEDDED = re.compile(
    r"[-\w.:]*(?:exec|command|program|prog|rsh|pager|upload-pack|receive-pack|editor|fsmonitor|textconv|external"
    r"|pre|shell|hook|split-string|script|init|eval|run|action|filter|wrapper)(?:=exec=|=| )!?([^=].*)",
    re.IGNORECASE | re.DOTALL,
)
#: Their arguments are data, whatever they look like.
_DATA = listed("echo printf grep egrep fgrep zgrep cat ls head tail wc cut tr stat file")


def base_name(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def starts(words: Sequence[str], placed: int = 0) -> Iterator[int]:
    """Yield each place where, after options and their values, a command or subcommand may begin."""
    after_option = False
    for place in range(1, len(words)):
        word = words[place]
        if word == "--" or _ASSIGNMENT.match(word) or _NUMBER.match(word):
            after_option = False
        elif len(word) > 1 and word[0] in "-+":
            after_option = True
        else:
            yield place
            if not after_option and not placed:
                return
            # Without knowing the option, its next word may be its value or already the command.
            placed -= not after_option
            after_option = False


def bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return `words` without assignments and keywords in front."""
    place = 0
    while place < len(words) and (words[place] in KEYWORDS or _ASSIGNMENT.match(words[place])):
        place += 1
    return words[place:]


def unwrapped(reading: Reading) -> Iterator[Reading | str]:
    """Yield what `reading` runs in turn: further commands, or shell text still to be read."""
    words = bare(reading.words)
    if words != reading.words and words:
        yield Reading(words=words, piped=reading.piped, redirects=reading.redirects)
    if not words:
        return
    name = base_name(words[0])
    if name in WRAPPERS or name in PLACED or name.startswith("ld-"):
        for place in starts(words, 3 if name in PLACED else 0):
            # What xargs reads becomes arguments; only with -c may it become text that is run.
            piped = reading.piped and (name != "xargs" or "-c" in words)
            yield Reading(words=words[place:], piped=piped)
    if name in TEXTUAL:
        yield from _texts(words, reading)
    yield from _embedded(name, words)


def _texts(words: tuple[str, ...], reading: Reading) -> Iterator[str]:
    texts = [word for word in words[1:] if not word.startswith("-")]
    yield from texts
    if len(texts) > 1:
        yield " ".join(texts)
    yield from reading.redirects  # bash <<< 'text'


def _embedded(name: str, words: tuple[str, ...]) -> Iterator[Reading | str]:
    if name in _DATA:
        return
    runs_text = name in INTERPRETERS or name in WRAPPERS or name in PLACED or name in TEXTUAL
    for place, word in enumerate(words):
        if word in {"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"}:
            yield Reading(words=words[place + 1 :])
        elif name == "env" and word.startswith("-S") and len(word) > 2:
            yield word[2:]  # env -S'reboot now'
        elif runs_text and word in _TEXT_FOLLOWS:
            yield from words[place + 1 : place + 2]
        elif match := _EMBEDDED.match(word):
            yield match[1]


_TEXT_FOLLOWS = frozenset(
    {"-S", "--split-string", "-c", "--command", "-I", "--use-compress-program", "-e", "--eval"}
)
