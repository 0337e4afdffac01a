"""How long tools may run and how much they may say."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    #: Run time of a tool that names none of its own.
    seconds: float = 60
    preview_seconds: float = 15
    #: What the model reads of a result, in characters; the middle is left out.
    output: int = 40_000
    #: What is streamed to the thread of one call, in characters; the rest is in the result only.
    progress: int = 40_000


DEFAULT = Limits()


@dataclass(slots=True)
class Capped:
    """Text of any length in bounded memory: its beginning and its end."""

    limit: int
    _head: str = ""
    _tail: str = ""
    _seen: int = field(default=0)

    def add(self, text: str) -> None:
        self._seen += len(text)
        room = self.limit // 2 - len(self._head)
        self._head += text[: max(room, 0)]
        self._tail = (self._tail + text[max(room, 0) :])[-(self.limit - self.limit // 2) :]

    @property
    def text(self) -> str:
        left_out = self._seen - len(self._head) - len(self._tail)
        if left_out <= 0:
            return self._head + self._tail
        return f"{self._head}\n… {left_out:,} characters left out …\n{self._tail}"


def capped(text: str, limit: int) -> str:
    box = Capped(limit)
    box.add(text)
    return box.text
