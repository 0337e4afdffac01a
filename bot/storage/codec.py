"""Values to JSON text and back. JSON only: nothing stored can name code to run.

Formats, one line per version. Always write the newest, read every released one, refuse newer ones;
`tests/contract/formats/` keeps an example of each.

1  the first
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from bot.domain.decision import Decision, Outcome
from bot.domain.errors import Corrupt
from bot.domain.grant import Grant
from bot.domain.interrupt import Interrupt
from bot.domain.run import Head
from bot.domain.transcript import Item
from bot.domain.verdict import Approvers
from bot.engine.ports import CancelRequest

FORMAT: Final = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

T = TypeVar("T")

#: From an older format to the next: number → function from its JSON text to the next one's.
UPGRADES: dict[int, Callable[[str], str]] = {}


class Codec(Generic[T]):
    """Writes and reads one type."""

    def __init__(self, name: str, kind: Any) -> None:
        self._name = name
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)

    def write(self, value: T, *, leave_out: set[str] | None = None) -> str:
        # None is left out: absent means the default, and every default of a stored field is None or frozen.
        return self._adapter.dump_json(value, exclude=leave_out, exclude_none=True).decode()

    def read(self, text: str, version: int, name: str) -> T:
        """Decode `text`, which was written in format `version`.

        Raises:
            Corrupt: it is not what we wrote, or a newer Askfirst wrote it.
        """
        if version > FORMAT:
            raise Corrupt(f"{self._name} {name}", f"format {version} is newer than this program; upgrade it")
        try:
            for old in range(version, FORMAT):
                text = UPGRADES[old](text)
            return self._adapter.validate_json(text)
        except (ValidationError, ValueError, KeyError) as error:
            raise Corrupt(f"{self._name} {name}", _first_line(error)) from error


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(str(part) for part in problem['loc']) or 'value'}: {problem['msg']}"
    return str(error).splitlines()[0]


HEAD: Codec[Head] = Codec("run", Head)
ITEM: Codec[Item] = Codec("entry", Item)
INTERRUPT: Codec[Interrupt] = Codec("interrupt", Interrupt)
OUTCOME: Codec[Outcome] = Codec("outcome", Outcome)
DECISION: Codec[Decision] = Codec("vote", Decision)
GRANT: Codec[Grant] = Codec("grant", Grant)
ESCALATED: Codec[tuple[Approvers, ...]] = Codec("escalation", tuple[Approvers, ...])
CANCEL: Codec[CancelRequest] = Codec("cancel request", CancelRequest)


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
