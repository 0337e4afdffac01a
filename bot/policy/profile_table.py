"""The curated table behind `read_only`: no flag here writes, runs something or opens a network.

Kept out on purpose: everything that runs a program (`find -exec`, `sort --compress-program`, `git -c`),
writes a file (`sort -o`, `tree -o`, `date -s`), reads a list of further files (`--files0-from`), waits for
ever (`-f`), pages (`less`, `man`), evaluates (`awk`, `test -v`, `printf -v`) or talks to a network (`ping`).
"""

import re
from collections.abc import Callable, Sequence

from bot.policy import profile_find
from bot.policy.profile import Command, Grammar, NotInProfile, Reads, by_grammar, grammar, subcommands
from bot.policy.shell.words import listed

_SUM = "-btz --binary --text --tag --zero"
_GREP = """-EFGPvwxcLlqsbHhnTZoiyzraIRU -e= -f=path -m= -A= -B= -C= -d= -D= --regexp= --file=path
    --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case
    --invert-match --word-regexp --line-regexp --count --color=? --colour=? --files-without-match
    --files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset
    --with-filename --no-filename --label= --line-number --initial-tab --null --after-context=
    --before-context= --context= --text --binary-files= --include= --exclude= --exclude-dir=
    --recursive --dereference-recursive --line-buffered --null-data --help --version -V"""
_DIFF = """-abBcdEinNpqrstTuwyZ -C= -U= -I= -L= -W= -x= -F= --brief --report-identical-files --context=?
    --unified=? --side-by-side --width= --left-column --suppress-common-lines --show-c-function
    --label= --recursive --new-file --unidirectional-new-file --ignore-case --ignore-tab-expansion
    --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --text
    --strip-trailing-cr --minimal --speed-large-files --color=? --exclude= --expand-tabs --normal
    --ed --rcs --no-dereference"""
_LS = """-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I= -T= -w= --all --almost-all --author --escape --block-size=
    --ignore-backups --color=? --directory --dired --classify=? --file-type --format= --full-time
    --group-directories-first --no-group --human-readable --si --dereference
    --dereference-command-line --hide= --hyperlink=? --indicator-style= --inode --ignore=
    --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name
    --quoting-style= --reverse --recursive --size --sort= --time= --time-style= --tabsize= --width=
    --context --zero --help --version"""
_DIGITS = re.compile(r"[-+]?(?:0x[0-9a-f]+|[0-9]+)")

_COMMANDS: dict[str, Command] = {
    # Text
    "cat": grammar(
        """-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
    --show-nonprinting --help --version"""
    ),
    "head": grammar(
        "-qvz -c= -n= --bytes= --lines= --quiet --silent --verbose --zero-terminated --help --version",
        digits=True,
    ),
    "tail": grammar(
        "-qvz -c= -n= --bytes= --lines= --quiet --silent --verbose --zero-terminated --help --version",
        digits=True,
    ),
    "wc": grammar("-clmLw --bytes --chars --lines --max-line-length --words --help --version"),
    "grep": grammar(_GREP, "pattern", digits=True, here=True),
    "egrep": grammar(_GREP, "pattern", digits=True, here=True),
    "fgrep": grammar(_GREP, "pattern", digits=True, here=True),
    "sort": grammar(
        """-bdfgiMhnRrVcCmsuz -k= -t= -S= --ignore-leading-blanks --dictionary-order --ignore-case
    --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort
    --random-sort --reverse --sort= --version-sort --check=? --merge --stable --unique
    --zero-terminated --key= --field-separator= --buffer-size= --parallel= --help --version"""
    ),
    "uniq": grammar(
        """-cdDiuz -f= -s= -w= --count --repeated --all-repeated=? --skip-fields= --group=? --ignore-case
    --skip-chars= --unique --zero-terminated --check-chars= --help --version""",
        most=1,  # the second operand is written
    ),
    "cut": grammar(
        """-snz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited
    --output-delimiter= --zero-terminated --help --version"""
    ),
    "tr": grammar("-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version", "text"),
    "tac": grammar("-br -s= --before --regex --separator="),
    "rev": grammar(""),
    "nl": grammar(
        "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-format= --number-width="
    ),
    "fold": grammar("-bs -w= --bytes --spaces --width=", digits=True),
    "fmt": grammar("-cstu -p= -w= -g= --width= --split-only --uniform-spacing"),
    "expand": grammar("-i -t= --initial --tabs="),
    "unexpand": grammar("-a -t= --all --first-only --tabs="),
    "paste": grammar("-sz -d= --serial --delimiters= --zero-terminated"),
    "join": grammar(
        "-iz -a= -e= -1= -2= -j= -o= -t= -v= --header --check-order --nocheck-order --ignore-case", most=2
    ),
    "comm": grammar(
        "-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated", most=2
    ),
    "column": grammar("-texnL -s= -o= -c= -N= -R= --table --separator= --output-separator= --output-width="),
    "diff": grammar(_DIFF, most=2),
    "cmp": grammar(
        "-bls -i= -n= --print-bytes --verbose --silent --quiet --ignore-initial= --bytes=", most=4
    ),
    "od": grammar(
        "-abcdfhilosvx -A= -j= -N= -S= -t= -w=? --format= --address-radix= --read-bytes= --skip-bytes="
    ),
    "hexdump": grammar("-bcCdovx -n= -s= -e="),
    "hd": grammar("-bcCdovx -n= -s="),
    "xxd": grammar(
        "-bEeipu -c= -g= -l= -s= -o=", most=1, values=dict.fromkeys(("-c", "-g", "-l", "-s", "-o"), _DIGITS)
    ),  # the second operand is written
    "strings": grammar("-afo -n= -t= -e= --all --bytes= --radix= --encoding=", never=re.compile("^@")),
    "base64": grammar("-di -w= --decode --ignore-garbage --wrap="),
    "base32": grammar("-di -w= --decode --ignore-garbage --wrap="),
    "md5sum": grammar(_SUM),
    "sha1sum": grammar(_SUM),
    "sha224sum": grammar(_SUM),
    "sha256sum": grammar(_SUM),
    "sha384sum": grammar(_SUM),
    "sha512sum": grammar(_SUM),
    "b2sum": grammar("-btz -l= --binary --text --length="),
    "cksum": grammar("-a= --algorithm="),
    "sum": grammar("-rs"),
    "zcat": grammar("-f"),
    "bzcat": grammar(""),
    "xzcat": grammar(""),
    "zstdcat": grammar(""),
    "sed": grammar(
        "-nEr --quiet --silent", "pattern", pattern_flags=frozenset[str]()
    ),  # its script: see _sed
    # Files
    "ls": grammar(_LS, here=True),
    "dir": grammar(_LS, here=True),
    "vdir": grammar(_LS, here=True),
    "tree": grammar(
        """-adfilxpsughDFqNQrtcUvACSnJX -L= -P= -I= --du --si --dirsfirst --filesfirst --prune --noreport
    --inodes --device --gitignore --ignore-case --matchdirs --metafirst --charset= --filelimit=
    --timefmt= --sort= --help --version""",
        here=True,
    ),
    "find": profile_find.read,
    "stat": grammar(
        "-Lft -c= --format= --printf= --dereference --file-system --terse --cached= --help --version"
    ),
    "file": grammar(
        """-bEhikLNnpr0v -F= -e= -P= --brief --mime --mime-type --mime-encoding --extension --keep-going
    --dereference --no-dereference --separator= --no-pad --print0 --raw --version --help"""
    ),
    "du": grammar(
        """-0abcDHhklLmPSsx -B= -d= -t= --all --apparent-size --block-size= --bytes --total --dereference
    --dereference-args --human-readable --inodes --max-depth= --null --no-dereference
    --separate-dirs --si --summarize --threshold= --time=? --time-style= --exclude=
    --one-file-system --help --version""",
        here=True,
    ),
    "df": grammar(
        """-ahHikKlmPTv -B= -t= -x= --all --block-size= --human-readable --si --inodes --local --no-sync
    --output=? --portability --print-type --type= --exclude-type= --total --help --version"""
    ),
    "realpath": grammar(
        """-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip
    --no-symlinks --zero --relative-to=path --relative-base=path"""
    ),
    "readlink": grammar(
        "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --zero"
    ),
    "basename": grammar("-az -s= --multiple --suffix= --zero", "text"),
    "dirname": grammar("-z --zero", "text"),
    "namei": grammar("-xmolvn --mountpoints --modes --owners --long --nosymlinks --vertical"),
    "getfacl": grammar("-acdeEsRLPtpn --absolute-names --omit-header --recursive --numeric"),
    "lsattr": grammar("-RVadlpv", here=True),
    # This machine
    "echo": grammar("", "text"),
    "true": grammar("", "text"),
    "false": grammar("", "text"),
    "pwd": grammar("-LP --logical --physical", most=0),
    "whoami": grammar("--help --version", most=0),
    "id": grammar(
        "-agGnruzZ --context --group --groups --name --real --user --zero --help --version", "text"
    ),
    "groups": grammar("--help --version", "text"),
    "who": grammar("-abdHlmpqrstTuw --all --boot --count --heading --short", most=0),
    "w": grammar("-husfoi --no-header --short --from --old-style --ip-addr", "text"),
    "users": grammar("", most=0),
    "tty": grammar("-s --silent --quiet", most=0),
    "uptime": grammar("-ps --pretty --since --help --version", most=0),
    "free": grammar(
        """-bkmghltwv -c= -s= --bytes --kibi --mebi --gibi --tebi --kilo --mega --giga --human --si --lohi
    --total --wide --count= --seconds= --help --version""",
        most=0,
    ),
    "nproc": grammar("--all --ignore=", most=0),
    "arch": grammar("", most=0),
    "uname": grammar(
        """-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor
    --hardware-platform --operating-system --help --version""",
        most=0,
    ),
    "hostname": grammar(
        "-aAdfiIsy --alias --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short", most=0
    ),
    # Without the plus sign an operand sets the clock.
    "date": grammar(
        """-uR -d= -I=? -r=path --date= --iso-8601=? --rfc-3339= --rfc-email --reference=path --utc
    --universal
    --debug --help --version""",
        "text",
        most=1,
        shape=re.compile(r"\+.*", re.DOTALL),
    ),
    "cal": grammar("-13mjyw -n=", "text"),
    "seq": grammar("-w -s= -f= --equal-width --separator= --format=", "text"),
    "sleep": grammar("", "text", shape=re.compile(r"[0-9]{1,2}(?:\.[0-9]+)?s?")),
    # A BSD style `e` prints the environment of processes, and so their secrets.
    "ps": grammar(
        """-AaedfFjlLmTwyZHcVM -C= -G= -g= -N -n= -o= -O= -p= -q= -s= -t= -u= -U= --pid= --ppid= --user=
    --User= --group= --Group= --sort= --format= --forest --no-headers --noheaders --headers --cols=
    --columns= --width= --deselect --version""",
        "text",
        shape=re.compile(r"[axujlvfrwcTLmHhSsn0-9,]+"),
        never=re.compile("environ"),
    ),
    "pgrep": grammar(
        "-acflLnoivwx -d= -g= -G= -P= -s= -t= -u= -U= --list-name --list-full --full --count --exact", "text"
    ),
    "pidof": grammar("-scqxz -S= -o=", "text"),
    "pstree": grammar("-aAcglnNpsStTuUVZh -H=", "text"),
    "vmstat": grammar(
        "-afmnsdDtwy -S= --active --stats --disk --timestamp --wide", "text", shape=re.compile(r"[0-9]{1,2}")
    ),
    "lscpu": grammar("-abcJyx -e=? -p=? --all --online --offline --json --extended=? --parse=?", most=0),
    "lsblk": grammar(
        """-abdDfiJlmnOpPrStTzM -e= -I= -o= -x= --all --bytes --nodeps --discard --fs --ascii --json --list
    --perms --noheadings --output= --output-all --paths --pairs --raw --scsi --topology --tree=?
    --sort="""
    ),
    "lsmod": grammar("", most=0),
    "lspci": grammar("-vmknbDtxqPc -s= -d=", most=0),
    "lsusb": grammar("-vt -s= -d=", most=0),
    "findmnt": grammar(
        "-aAbcCDefhiJklnPrRuvy -d= -o= -O= -S= -t= -T=path --all --json --list --output= --types=", "text"
    ),
    "ss": grammar(
        """-naleomptuwxdi0460bHOQsZzT -A= -f= --numeric --all --listening --options --extended --memory
    --processes --info --summary --ipv4 --ipv6 --tcp --udp --raw --unix --no-header --oneline""",
        "text",
    ),
    "netstat": grammar(
        "-atuxwlnpreoisgvWN46 --all --tcp --udp --listening --numeric --programs --route --statistics", most=0
    ),
    "getent": grammar("", "text", never=re.compile(r"shadow")),
    "getconf": grammar("-a", "text"),
    "locale": grammar("-amck --all-locales --charmaps", "text"),
    "which": grammar("-as --all", "text"),
    "whereis": grammar("-bms", "text"),
    "dmesg": grammar(
        """-dekLPrStTuxJ -f= -l= --color=? --ctime --decode --facility= --human --json --kernel --level=
    --nopager --notime --raw --reltime --userspace --since= --until= --time-format=""",
        most=0,
    ),
    "crontab": grammar("-l", most=0, needs=frozenset({"-l"})),
    "dpkg": grammar("-LsS --listfiles --status --search --get-selections --audit --version", "text"),
    "dpkg-query": grammar("-LsSW -f= --listfiles --status --search --show --showformat=", "text"),
    "lsb_release": grammar("-aidrcsv --all --id --description --release --codename --short", most=0),
}

# git: no -C, -c, --git-dir, --exec-path: they choose whose configuration decides what runs.
_DIFF_FLAGS = """-puRabwzWq -U= -M=? -C=? -B=? -S= -G= -D --patch --no-patch --unified= --raw --patch-with-raw
    --patch-with-stat --minimal --patience --histogram --stat=? --shortstat --numstat --dirstat=?
    --summary --name-only --name-status --color=? --no-color --color-words=? --word-diff=?
    --word-diff-regex= --color-moved=? --no-renames --find-renames=? --find-copies=?
    --find-copies-harder --diff-filter= --full-index --binary --abbrev=? --pickaxe-all
    --pickaxe-regex --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change
    --ignore-all-space --ignore-blank-lines --inter-hunk-context= --function-context --exit-code
    --quiet --relative=? --no-prefix --src-prefix= --dst-prefix= --diff-algorithm= --check
    --no-ext-diff --no-textconv --compact-summary --cc --cached --staged --merge-base
    --ita-visible-in-index"""
_LOG_FLAGS = (
    _DIFF_FLAGS
    + """-cgimstEFPr -n= --max-count= --skip= --since= --after= --until= --before= --author= --committer=
    --grep= --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings
    --perl-regexp --merges --no-merges --min-parents= --max-parents= --first-parent --all
    --branches=? --tags=? --remotes=? --glob= --exclude= --reflog --oneline --pretty=? --format=
    --abbrev-commit --no-abbrev-commit --graph --decorate=? --no-decorate --decorate-refs= --source
    --follow --full-diff --reverse --date-order --author-date-order --topo-order --left-right
    --cherry-pick --cherry-mark --cherry --boundary --simplify-by-decoration --full-history --dense
    --sparse --ancestry-path --walk-reflogs --date= --relative-date --parents --children --no-walk
    --log-size --no-notes --no-mailmap --mailmap --use-mailmap --no-patch --count --objects"""
)
_GIT = subcommands(
    {
        "status": grammar(
            """-sbvz -u=? --short --branch --show-stash --porcelain=? --long --verbose --untracked-files=?
    --ignored=? --ahead-behind --no-ahead-behind --renames --no-renames --column=?""",
            here=True,
        ),
        "log": grammar(_LOG_FLAGS, digits=True, here=True),
        "show": grammar(_LOG_FLAGS, digits=True, here=True),
        "diff": grammar(_DIFF_FLAGS, here=True),
        "shortlog": grammar(_LOG_FLAGS + " -e --summary --numbered --email --group=", digits=True, here=True),
        "whatchanged": grammar(_LOG_FLAGS, digits=True, here=True),
        "rev-list": grammar(_LOG_FLAGS, digits=True, here=True),
        "blame": grammar(
            """-bcefklnpstw -L= -M=? -C=? --root --show-stats --porcelain --line-porcelain --incremental
    --date= --since=""",
            here=True,
        ),
        "rev-parse": grammar(
            """-q --abbrev-ref=? --short=? --verify --show-toplevel --show-prefix --show-cdup --git-dir
    --is-inside-work-tree --is-bare-repository --symbolic --symbolic-full-name --quiet""",
            here=True,
        ),
        "ls-files": grammar(
            """-cdimoskutvz -x= --cached --deleted --modified --others --ignored --stage --killed --unmerged
    --directory --exclude-standard --exclude= --full-name --error-unmatch --eol""",
            here=True,
        ),
        "ls-tree": grammar(
            "-drtlz --name-only --name-status --full-name --full-tree --long --abbrev=?", here=True
        ),
        "cat-file": grammar("-tspe", here=True),
        "describe": grammar(
            """--all --tags --contains --abbrev=? --long --exact-match --always --first-parent --dirty=?
    --match= --exclude=""",
            here=True,
        ),
        "merge-base": grammar("-a --all --is-ancestor --octopus --independent", here=True),
        "name-rev": grammar("--tags --refs= --name-only --always", here=True),
        "count-objects": grammar("-vH --verbose --human-readable", most=0, here=True),
        # With an operand these create something.
        "branch": grammar(
            """-arvl --all --remotes --verbose --list --show-current --no-color --color=? --column=? --sort=
    --format= --contains= --no-contains= --merged=? --no-merged=? --points-at=""",
            most=0,
            here=True,
        ),
        "tag": grammar(
            "-l -n=? --list --sort= --format= --contains= --merged=? --points-at= --column=?",
            most=0,
            here=True,
        ),
        "stash": grammar("", "text", shape=re.compile("list"), least=1, most=1, here=True),
        "reflog": grammar(_LOG_FLAGS, "text", shape=re.compile("show|HEAD"), digits=True, here=True),
        "version": grammar("", most=0),
    },
    before="--no-pager -P --no-optional-locks --literal-pathspecs --version --bare",
)
_SECRET = re.compile("secret", re.IGNORECASE)
_KUBE_OUTPUT = {
    name: re.compile(r"wide|yaml|json|name|jsonpath=.*|custom-columns=.*|go-template=.*")
    for name in ("-o", "--output")
}
_KUBECTL = subcommands(
    {
        "get": grammar(
            """-A -L= -o= -l= --all-namespaces --output= --selector= --field-selector= --sort-by=
    --label-columns=
    --show-labels --show-kind --no-headers --ignore-not-found --chunk-size= --show-managed-fields""",
            "text",
            never=_SECRET,
            values=_KUBE_OUTPUT,
        ),
        "describe": grammar(
            "-A -l= --all-namespaces --selector= --show-events=? --chunk-size=", "text", never=_SECRET
        ),
        "logs": grammar(
            """-p -c= -l= --previous --container= --all-containers=? --selector= --since= --since-time=
    --tail=
    --timestamps=? --prefix=? --max-log-requests= --limit-bytes= --ignore-errors""",
            "text",
        ),
        "top": grammar(
            "-A -l= --all-namespaces --selector= --containers --sort-by= --no-headers --sum", "text"
        ),
        "version": grammar("-o= --client --output= --short", most=0, values=_KUBE_OUTPUT),
        "api-resources": grammar(
            "-o= --namespaced=? --verbs= --api-group= --no-headers", most=0, values=_KUBE_OUTPUT
        ),
        "cluster-info": grammar("", most=0),
    },
    after="-n= --namespace=",
)
_UNITS = grammar(
    """-alqr -n= -t= --all --full --lines= --no-pager --type= --state= --failed --quiet --recursive --plain
    --no-legend=? --reverse --after --before""",
    "text",
)
_SYSTEMCTL = subcommands(
    dict.fromkeys(
        listed(
            """status is-active is-enabled is-failed is-system-running list-units list-unit-files list-timers
            list-sockets list-dependencies list-jobs"""
        ),
        _UNITS,
    ),
    before="--no-pager --user --failed --all --full --plain --quiet",
)
_DOCKER = subcommands(
    {
        "ps": grammar(
            "-alqs -n= -f= --all --latest --quiet --size --last= --filter= --format= --no-trunc", most=0
        ),
        "images": grammar("-aq -f= --all --quiet --filter= --format= --no-trunc --digests", "text", most=1),
        "logs": grammar("-t -n= --timestamps --tail= --since= --until= --details", "text", most=1),
        "version": grammar("", most=0),
        "info": grammar("", most=0),
        "top": grammar("", "text", most=1),
        "port": grammar("", "text"),
    }
)
_IP_SHOWS = re.compile(r"(?:addr|address|a|link|l|route|r|neigh|neighbour|n)")


def _sed(words: Sequence[str]) -> Reads | NotInProfile:
    """Only `sed -n '5,9p' file`: everything else in the language of sed may write or run."""
    rules = _COMMANDS["sed"]
    scripts = [word for word in words if not word.startswith("-")][:1]
    if not isinstance(rules, Grammar) or not scripts or not re.fullmatch(r"\d+(?:,(?:\d+|\$))?p", scripts[0]):
        return NotInProfile(reason="only `sed -n 'N,Mp'` is known to just read")
    if not {"-n", "--quiet", "--silent"} & set(words):
        return NotInProfile(reason="only `sed -n 'N,Mp'` is known to just read")
    return by_grammar(rules, words)


def _echo(words: Sequence[str]) -> Reads | NotInProfile:
    # Every word is printed, whatever it looks like.
    del words
    return Reads()


def _ip(words: Sequence[str]) -> Reads | NotInProfile:
    """Read `ip addr`, `ip -br link show dev eth0` and the like; not `set`, `netns exec` or `-batch`."""
    rest = [
        word
        for word in words
        if word not in {"-br", "-brief", "-4", "-6", "-s", "-o", "-c", "-j", "-d", "-p"}
    ]
    shows = (
        rest and _IP_SHOWS.fullmatch(rest[0]) and (len(rest) == 1 or rest[1] in {"show", "list", "ls", "sh"})
    )
    if not shows or any(word.startswith("-") for word in rest):
        return NotInProfile(reason="only showing is known to just read")
    return Reads()


_JOURNALCTL = grammar(
    """-aekqrxlm -b=? -n= -o= -p= -S= -U= -u= -t= -g= -N --all --pager-end --no-pager --quiet --reverse
    --catalog --full --no-full --boot=? --dmesg --lines= --output= --output-fields= --priority=
    --since= --until= --unit= --user-unit= --identifier= --grep= --case-sensitive=? --list-boots
    --disk-usage --utc --no-hostname --system --user --merge --fields --header --no-tail
    --truncate-newline --facility=""",
    "text",
    digits=True,
    shape=re.compile(r"[A-Z_][A-Z0-9_]*=.*|\+|-?[0-9]+"),
)

_COMMANDS["echo"] = _echo
_COMMANDS["ip"] = _ip
_COMMANDS["git"] = _GIT
_COMMANDS["kubectl"] = _KUBECTL
_COMMANDS["systemctl"] = _SYSTEMCTL
_COMMANDS["journalctl"] = _JOURNALCTL
_COMMANDS["docker"] = _DOCKER
_SPECIAL: dict[str, Callable[[Sequence[str]], Reads | NotInProfile]] = {"sed": _sed}

#: Programs that may be asked for their version, whatever else they do.
_VERSIONED = listed(
    """python python3 node npm go ruby perl docker kubectl git terraform helm java psql mysql redis-cli
    nginx make gcc cargo rustc php aws gcloud az bash ansible curl wget openssl ssh"""
)
_TRUSTED_DIRECTORIES = ("/bin/", "/usr/bin/")
_TIMEOUT = re.compile(r"\d+(?:\.\d+)?[smhd]?")


def plain_name(word: str) -> str | None:
    """Return the name of a program given by bare name or in a directory only root writes; else None."""
    for directory in _TRUSTED_DIRECTORIES:
        if word.startswith(directory):
            word = word.removeprefix(directory)
            break
    return word if word and "/" not in word else None


def without_harmless_wrappers(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Take `timeout 10` and `nice -n 5` off the front."""
    while argv:
        name = plain_name(argv[0])
        if name == "timeout" and len(argv) > 2 and _TIMEOUT.fullmatch(argv[1]):
            argv = argv[2:]
        elif name == "nice" and len(argv) > 3 and argv[1] == "-n" and re.fullmatch(r"-?\d+", argv[2]):
            argv = argv[3:]
        elif name == "nice" and len(argv) > 1 and not argv[1].startswith("-"):
            argv = argv[1:]
        else:
            break
    return argv


def read_only(argv: tuple[str, ...]) -> Reads | NotInProfile:
    """Return what `argv` looks at if it only looks."""
    argv = without_harmless_wrappers(argv)
    name = plain_name(argv[0]) if argv else None
    if name is None:
        return NotInProfile(reason="the program is not given by a plain name or from /bin or /usr/bin")
    words = argv[1:]
    if words == ("--version",) and name in _VERSIONED:
        return Reads()
    command = _SPECIAL.get(name) or _COMMANDS.get(name)
    if command is None:
        return NotInProfile(reason=f"{name} is not in the read_only profile")
    found = by_grammar(command, words) if isinstance(command, Grammar) else command(words)
    return NotInProfile(reason=f"{name}: {found.reason}") if isinstance(found, NotInProfile) else found
