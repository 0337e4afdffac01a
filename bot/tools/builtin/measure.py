"""What a selection of files holds, and the receipt for what was done with it."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from bot.domain.tool import Alternative, Impact
from bot.engine.ports import CallContext, Clock
from bot.tools.staging import Receipt
from bot.tools.tool import Arguments, Output, ToolFailed, located
from bot.tools.walk import DAY, Found, Selection, start_of
from bot.tools.words import day, many, size

YEAR = 365
_SAMPLES = 5
#: Never walked from, whatever the policy says: nobody means these.
_SYSTEM = "bin boot dev etc home lib lib64 opt proc root run sbin sys usr var"
_TOO_MUCH = frozenset({"/", *(f"/{name}" for name in _SYSTEM.split())})
_NO_FILES = ("/dev", "/proc", "/sys")


class BulkArguments(Arguments):
    path: str = Field(description="Directory, with everything below it; or one file")
    pattern: str = Field("*", description="*.tmp matches names at any depth; build/**/*.o matches paths")
    older_than_days: float = Field(0, ge=0, description="Only files last changed at least this long ago")
    max_files: int | None = Field(None, ge=1, description="Touch nothing if more files than this match")


@dataclass(slots=True)
class Measured:
    """What a selection holds, in bounded memory."""

    count: int = 0
    bytes: int = 0
    oldest: float = float("inf")
    newest: float = float("-inf")
    samples: list[str] = field(default_factory=list[str])
    #: Of these, files that are at least a year old.
    old_count: int = 0
    old_bytes: int = 0

    def add(self, found: Found, year_ago: float) -> None:
        self.count += 1
        self.bytes += found.size
        self.oldest = min(self.oldest, found.modified)
        self.newest = max(self.newest, found.modified)
        if found.modified <= year_ago:
            self.old_count += 1
            self.old_bytes += found.size
        if len(self.samples) < _SAMPLES:
            self.samples.append(f"{found.path} ({size(found.size)}, {day(found.modified)})")

    @property
    def what(self) -> str:
        return f"{many(self.count, 'file')} ({size(self.bytes)})"

    @property
    def facts(self) -> dict[str, str]:
        return {"oldest": day(self.oldest), "newest": day(self.newest)} if self.count else {}

    def impact(self, summary: str, *, reversible: bool, alternatives: tuple[Alternative, ...] = ()) -> Impact:
        return Impact(
            summary=summary,
            count=self.count,
            bytes=self.bytes,
            samples=tuple(self.samples),
            reversible=reversible,
            facts=self.facts,
            alternatives=alternatives,
        )


def measure(selection: Selection, stop: threading.Event) -> Measured:
    measured = Measured()
    year_ago = selection.now - YEAR * DAY
    for found in selection.files(stop):
        measured.add(found, year_ago)
    return measured


def selected(args: BulkArguments, context: CallContext, clock: Clock) -> Selection:
    root, only = start_of(located(args.path, context))
    if not only and (str(root) in _TOO_MUCH or str(root).startswith(tuple(f"{path}/" for path in _NO_FILES))):
        raise ToolFailed(f"{root} is too much: name a directory inside it")
    return Selection(
        root=root,
        only=only,
        pattern=args.pattern,
        older_than_days=args.older_than_days,
        now=clock().timestamp(),
    )


def checked(selection: Selection, args: BulkArguments, stop: threading.Event) -> Measured:
    """Measure once more, now; refuse if it is more than the call allows."""
    measured = measure(selection, stop)
    if args.max_files is not None and measured.count > args.max_files:
        found = many(measured.count, "file")
        raise ToolFailed(f"Nothing was touched: {found} match, more than max_files {args.max_files}.")
    return measured


def move_summary(found: Measured, selection: Selection, to: Path) -> str:
    return f"Move {found.what} from {selection.root} to {to}. Can be restored."


def told(receipt: Receipt, what: str, more: str = "") -> Output:
    """Write the receipt: what was done, what was not, and why."""
    failures = receipt.failures
    reasons = "".join(f"\n- {failure}" for failure in failures[:_SAMPLES])
    rest = f"\n- … {len(failures) - _SAMPLES:,} more" if len(failures) > _SAMPLES else ""
    return Output(
        text=f"{what}; {len(failures):,} failed.{more}{reasons}{rest}", status="error" if failures else "ok"
    )
