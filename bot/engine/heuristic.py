"""A first look at a request without a model: words that change things, words that are vague. Errs on asking. Pure."""

import re
from collections.abc import Collection

from bot.domain.assessment import Assessment, BlastRadius, ScopeField

#: Verbs that remove or overwrite, by the tool they will probably need.
_REMOVES = (
    r"delete|remove|clean(?: ?up| ?out)?|purge|wipe|erase|prune|drop|truncate|trash|discard|tidy|"
    r"get rid of|free(?: up)?|empty|flush|uninstall|destroy|nuke|reset|overwrite"
)
_MOVES = r"move|archive|rename|relocate|stage|rotate"
_WRITES = (
    r"write|create|add|append|edit|change|update|replace|fix|set|configure|patch|bump|modify|rewrite|migrate"
)
_RUNS = (
    r"run|execute|restart|reboot|stop|start|kill|deploy|roll ?back|scale|install|upgrade|apply|push|merge|release|"
    r"shut ?down|enable|disable|revoke|grant|terminate|drain|fail ?over|restore"
)
_SENDS = r"send|notify|message|announce|broadcast|email|mail|invite|tell|ping everyone|post"
_READS = (
    r"show|list|find|read|look|check|search|count|compare|explain|describe|summari[sz]e|what|which|who|when|where|why|"
    r"how|is|are|does|do|can|report|tail|grep|print|display|view|inspect|analy[sz]e|review|status|diff|tell me|give me"
)
_CHANGES = f"{_REMOVES}|{_MOVES}|{_WRITES}|{_RUNS}|{_SENDS}"
#: Says neither which things nor how many.
_VAGUE = (
    r"old|stale|unused|unneeded|temporary|temp|test files|junk|stuff|things?|some|several|everything|every|all|any|"
    r"leftovers?|artifacts?|obsolete|outdated|duplicates?|large|big|logs|files|backups|branches|users|records|data|them|"
    r"it|everyone|everybody|people|customers|servers|services|hosts|pods|containers|volumes|instances|space|mess"
)
_MANY = (
    r"all|every|everything|everyone|everybody|entire|whole|each|recursively|bulk|mass|production|prod|cluster|"
    r"database"
)
#: Names something in particular: a path, a file, a quoted word, a command, a host, a number of things.
_PATH = re.compile(
    r"(?:^|\s)(~?/[\w./*@+-]+|\.{1,2}/[\w./*@+-]*|[\w*-]+(?:/[\w.*-]+)+|[\w*-]+\.[A-Za-z]\w{0,5})(?=$|[\s,;:.!?)])"
)
_QUOTED = re.compile(r"[`\"'“]([^`\"'”]{1,200})[`\"'”]")
#: Nothing to do at all: greetings, thanks, asking for help.
_CHATTER = re.compile(
    r"(?:hello|hi|hey|good (?:morning|afternoon|evening|day)|thanks?(?: you)?|thank you|help|ping|test|ok(?:ay)?|"
    r"yes|no|never ?mind|bye|cheers)(?: (?:there|all|everyone|bot|askfirst|again|a lot|very much))?[\s!.?]*"
)
_AGE = re.compile(r"(\d+)\s*(day|week|month|year)s?", re.IGNORECASE)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_PARTICULAR = re.compile(
    r"(?:^|\s)[#@]\w+|\b(?:pid \d+|[\w-]+\.(?:service|com|org|io|local)|pr ?#?\d+|v\d+\.\d+)\b", re.IGNORECASE
)
#: "the api", "nginx on web-1": one named thing after a verb.
_NAMED = re.compile(
    r"\b(?:the |service )?([a-z][a-z0-9]*(?:-[a-z0-9]+)+|api|nginx|redis|postgres|worker|scheduler|web-?\d*|db-?\d+)\b"
)


def assess(text: str, tools: Collection[str]) -> Assessment:
    """Return what `text` would probably do with `tools`. Knows words, not meanings: in doubt it is unclear."""
    words = " ".join(text.lower().split())
    kind = _kind(words)
    targets = _targets(text)
    vague = kind not in {"reads", "chatter"} and _is_vague(words, targets, kind)
    return Assessment(
        understood=_understood(words),
        ambiguous=vague,
        blast_radius=_radius(words, kind, vague=vague),
        tools=tuple(tool for tool in _TOOLS[kind] if tool in tools),
        targets=targets,
        fields=_fields(words, targets) if kind in {"removes", "moves"} else (),
        by="heuristic",
    )


_TOOLS: dict[str, tuple[str, ...]] = {
    "chatter": (),
    "reads": ("find_files", "read_file"),
    "removes": ("delete_files",),
    "moves": ("move_files",),
    "writes": ("write_file",),
    "runs": ("execute",),
    "sends": ("send_message",),
    "unknown": (),
}


def _kind(words: str) -> str:
    """The most consequential thing the words ask for; a question about it is a read."""
    if _CHATTER.fullmatch(words):
        return "chatter"
    if re.match(rf"(?:please |can you |could you |hey |hi |ok |now )*(?:{_READS})\b", words) and not _also(
        words
    ):
        return "reads"
    for kind, verbs in (
        ("removes", _REMOVES),
        ("sends", _SENDS),
        ("runs", _RUNS),
        ("moves", _MOVES),
        ("writes", _WRITES),
        ("reads", _READS),
    ):
        if re.search(rf"\b(?:{verbs})\b", words):
            return kind
    return "unknown"


def _also(words: str) -> bool:
    """Whether a request that begins like a question goes on to change something: "find X and delete it"."""
    polite = re.match(r"(?:please )?(?:can|could|would|will) you (?:please )?", words)
    rest = words[polite.end() :] if polite else words
    asks_to_change = re.search(rf"(?:\band|\bthen|,|;)\s+(?:then )?(?:{_CHANGES})\b", words)
    return bool(asks_to_change) or bool(polite and re.match(rf"(?:{_CHANGES})\b", rest))


def _targets(text: str) -> tuple[str, ...]:
    found = [match.group(1) for match in _PATH.finditer(text)] + _QUOTED.findall(text)
    return tuple(dict.fromkeys(found))


def _is_vague(words: str, targets: tuple[str, ...], kind: str) -> bool:
    if kind == "unknown":
        return True
    particular = bool(targets) or bool(_PARTICULAR.search(words))
    if kind in {"removes", "moves"}:
        # A folder says where, not which: "delete old logs in /var/log" still leaves that open.
        files = [target for target in targets if not target.endswith("/") and re.search(r"\.\w+$", target)]
        open_ended = re.search(rf"\b(?:{_VAGUE})\b", words) is not None and not _AGE.search(words)
        return not particular or (open_ended and not files)
    if kind == "runs":
        return not (particular or _NAMED.search(words) or re.match(r"(?:please )?(?:run|execute) \S+", words))
    if kind == "sends":
        return not particular
    return not particular and re.search(rf"\b(?:{_VAGUE})\b", words) is not None


def _radius(words: str, kind: str, *, vague: bool) -> BlastRadius:
    if kind in {"reads", "chatter"}:
        return "low"
    many = re.search(rf"\b(?:{_MANY})\b", words) is not None
    if many or (vague and kind in {"removes", "unknown"}):
        return "high"
    return "medium" if kind in {"removes", "runs", "moves", "sends"} or vague else "low"


def _understood(words: str) -> str:
    return words[:200]


def _fields(words: str, targets: tuple[str, ...]) -> tuple[ScopeField, ...]:
    """Where, and how old at least: what somebody who deletes files in bulk must have said."""
    tools = ("delete_files", "move_files")
    folders = tuple(target for target in targets if "/" in target)
    age = _AGE.search(words)
    days = int(age.group(1)) * _DAYS[age.group(2).lower()] if age else 365
    where = ScopeField(
        name="path",
        question="Which folder?",
        tools=tools,
        limit={"path": {"under": "$path"}},
        suggestions=folders or (".",),
        default=folders[0] if folders else ".",
    )
    how_old = ScopeField(
        name="older_than_days",
        question="How old at least, in days?",
        tools=tools,
        limit={"older_than_days": {"gte": "$older_than_days"}},
        suggestions=tuple(sorted({90, 365, 730, days})),
        default=days,
    )
    return (where, how_old)


def parse_answer(text: str, fields: Collection[ScopeField]) -> dict[str, object]:
    """Find values for `fields` in free text, as far as words alone can tell."""
    found: dict[str, object] = {}
    age = _AGE.search(text)
    paths = _targets(text)
    number = re.search(r"\b(\d+)\b", text)
    for each in fields:
        bounds = {bound for limit in each.limit.values() for bound in limit}
        if "under" in bounds and paths:
            found[each.name] = paths[0]
        elif bounds & {"gte", "lte"} and age:
            found[each.name] = int(age.group(1)) * _DAYS[age.group(2).lower()]
        elif bounds & {"gte", "lte"} and number:
            found[each.name] = int(number.group(1))
    return found
