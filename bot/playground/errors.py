"""What can go wrong in the playground, by who must act.

PlaygroundError
├── SlackError      the app called the Web API wrongly; answered as Slack would
├── CannotDo        a person was told to do what their Slack client would not let them do
├── NeverHappened   a test waited for something that did not come (also an AssertionError)
└── Unsafe          something that looks like the real Slack was about to be touched
"""

from typing import Any


class PlaygroundError(Exception):
    pass


class SlackError(PlaygroundError):
    """`{"ok": false, "error": code, **fields}`."""

    def __init__(
        self, code: str, *, status: int = 200, headers: dict[str, str] | None = None, **fields: Any
    ) -> None:
        super().__init__(code)
        self.code = code
        self.status = status
        self.headers = headers or {}
        self.fields = fields

    def body(self) -> dict[str, Any]:
        return {"ok": False, "error": self.code, **self.fields}


class CannotDo(PlaygroundError):
    pass


class NeverHappened(PlaygroundError, AssertionError):
    pass


class Unsafe(PlaygroundError):
    pass


def bad_arguments(*messages: str) -> SlackError:
    """`invalid_arguments` with the reasons where Slack's SDKs print them."""
    return SlackError(
        "invalid_arguments", response_metadata={"messages": [f"[ERROR] {message}" for message in messages]}
    )
