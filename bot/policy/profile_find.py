"""`find`, whose words are an expression and not flags."""

from collections.abc import Sequence

from bot.policy.profile import NotInProfile, Reads
from bot.policy.shell.words import listed

_BEFORE = listed("-H -L -P -O0 -O1 -O2 -O3")
#: How many words each test or action takes; what is not here runs, writes or deletes something.
_PLAIN = listed(
    """( ) ! , -a -and -o -or -not -daystart -depth -d -follow -ignore_readdir_race -noignore_readdir_race
    -mount -xdev -noleaf -nowarn -warn -empty -executable -false -nogroup -nouser -readable -true
    -writable -print -print0 -ls -prune -quit"""
)
_VALUED = listed(
    """-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -mmin -mtime -fstype -gid -group -ilname
    -iname -inum -ipath -iregex -iwholename -links -lname -name -path -perm -regex -size -type -uid
    -used -user -wholename -xtype -printf"""
)
_FILES = listed("-anewer -cnewer -newer -samefile")


def read(words: Sequence[str]) -> Reads | NotInProfile:
    place = 0
    while place < len(words) and words[place] in _BEFORE:
        place += 1
    start = place
    while place < len(words) and not (words[place].startswith("-") or words[place] in {"(", ")", "!", ","}):
        place += 1
    paths = list(words[start:place])
    while place < len(words):
        word = words[place]
        if word in _PLAIN:
            place += 1
        elif (word in _VALUED or word in _FILES or _newer(word)) and place + 1 < len(words):
            if word not in _VALUED:
                paths.append(words[place + 1])
            place += 2
        else:
            return NotInProfile(reason=f"{word} is not among the tests that only look")
    return Reads(paths=tuple(paths), here=start == place or not paths)


def _newer(word: str) -> bool:
    return len(word) == 8 and word.startswith("-newer") and word[6] in "aBcm" and word[7] in "aBcm"
