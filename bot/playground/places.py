"""What tests look at: places to wait in, messages and views as somebody saw them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.playground.errors import CannotDo
from bot.playground.hub import Hub
from bot.playground.inputs import controls, find, state_values
from bot.playground.shapes import Json, as_dict, as_list, text_of
from bot.playground.world import Message, Session, View

_PRESSED = ("button", "icon_button", "feedback_buttons", "workflow_button")


def shown_text(value: object) -> str:
    """Return all words of a message or view, one piece of text a line."""
    return "\n".join(_texts(value))


def _texts(value: object) -> Iterator[str]:
    if (found := as_dict(value)) is not None:
        for name, part in found.items():
            if name in ("text", "title", "label", "url", "user_id") and isinstance(part, str):
                yield part
            else:
                yield from _texts(part)
    elif (many := as_list(value)) is not None:
        # The parts of one rich text section read as one line.
        if many and all(
            (as_dict(item) or {}).get("type") in ("text", "link", "user", "emoji") for item in many
        ):
            yield "".join(piece for item in many for piece in _texts(item))
        else:
            for item in many:
                yield from _texts(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message as it was when somebody looked. `current` is what it is now."""

    hub: Hub
    channel: str
    ts: str
    thread_ts: str | None
    text: str
    blocks: list[Json]
    user: str
    ephemeral_to: str | None = None

    @property
    def current(self) -> Message | None:
        world = self.hub.world
        if self.ephemeral_to is not None:
            return world.ephemerals.get((self.channel, self.ts))
        found = world.messages.get(self.channel, {}).get(self.ts)
        return None if found is None or found.deleted else found

    @property
    def thread(self) -> "Place":
        return Place(hub=self.hub, id=self.channel, root=self.thread_ts or self.ts)

    @property
    def shown(self) -> str:
        """All words of the message now; nothing once it is deleted."""
        message = self.current
        return "" if message is None else f"{message.text}\n{shown_text(message.blocks)}"

    @property
    def buttons(self) -> list[str]:
        """Labels of the buttons there are now, whoever may see them."""
        return _buttons(self.current)

    def buttons_for(self, user: str) -> list[str]:
        message = self.current
        found = controls(message.blocks) if message else ()
        return [c.label for c in found if c.kind in _PRESSED and c.is_visible_to(user)]

    async def shows(self, text: str) -> "Post":
        """Wait until `text` can be read in this message."""
        await self.hub.wait(lambda: text in self.shown, f"{text!r} in the message {self.shown!r}")
        return self.again()

    async def has_no_buttons(self) -> "Post":
        await self.hub.wait(lambda: not self.buttons, f"no buttons, but there are {self.buttons}")
        return self.again()

    async def is_gone(self) -> None:
        await self.hub.wait(lambda: self.current is None, f"the message {self.shown!r} to be deleted")

    def again(self) -> "Post":
        """Return the message as it is now."""
        message = self.current
        if message is None:
            raise CannotDo("the message is deleted")
        return look(self.hub, message)


def look(hub: Hub, message: Message) -> Post:
    return Post(
        hub=hub,
        channel=message.channel,
        ts=message.ts,
        thread_ts=message.thread_ts,
        text=message.text,
        blocks=list(message.blocks),
        user=message.user,
        ephemeral_to=message.ephemeral_to,
    )


def _buttons(message: Message | None) -> list[str]:
    return [c.label for c in controls(message.blocks) if c.kind in _PRESSED] if message else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A channel, a direct message, or with `root` one thread in it."""

    hub: Hub
    id: str
    root: str | None = None

    def thread(self, root: str) -> "Place":
        return Place(hub=self.hub, id=self.id, root=root)

    @property
    def messages(self) -> list[Post]:
        """Everything here that everybody sees, oldest first; a channel's threads are included."""
        return [look(self.hub, message) for message in self._messages()]

    @property
    def status(self) -> str:
        return self.hub.world.status(self.id, self.root or "")

    @property
    def session(self) -> Session | None:
        return self.hub.world.sessions.get((self.id, self.root or ""))

    async def card_with(self, button: str, *, saying: str = "", after: Post | None = None) -> Post:
        """Wait for the newest message with such a button, and with these words if given."""

        def search() -> Post | None:
            for message in self._newest(after):
                if button in _buttons(message) and saying in f"{message.text}\n{shown_text(message.blocks)}":
                    return look(self.hub, message)
            return None

        return await self.hub.wait(search, f"a card with a button {button!r} {saying!r} in {self._name}")

    async def message_containing(self, text: str, *, after: Post | None = None) -> Post:
        """Wait for the newest message of the bot with these words."""

        def search() -> Post | None:
            for message in self._newest(after):
                if message.by_bot and text in f"{message.text}\n{shown_text(message.blocks)}":
                    return look(self.hub, message)
            return None

        return await self.hub.wait(search, f"a message with {text!r} in {self._name}")

    async def has_status(self, text: str) -> None:
        await self.hub.wait(lambda: self.status == text, f"status {text!r}, not {self.status!r}")

    async def has_session(self, status: str) -> None:
        await self.hub.wait(
            lambda: self.session is not None and self.session.status == status,
            f"an agent session that is {status!r}, not {self.session}",
        )

    def _messages(self) -> Iterator[Message]:
        if self.root is not None:
            yield from self.hub.world.thread(self.id, self.root)
        else:
            yield from (m for m in self.hub.world.messages.get(self.id, {}).values() if not m.deleted)

    def _newest(self, after: Post | None) -> Iterator[Message]:
        """Yield from the newest back, so that a wait in a long channel looks at little."""
        if self.root is not None:
            found: Iterator[Message] = iter(list(self._messages())[::-1])
        else:
            found = iter(reversed(self.hub.world.messages.get(self.id, {}).values()))
        for message in found:
            if after is not None and message.ts <= after.ts:
                return
            if not message.deleted:
                yield message

    @property
    def _name(self) -> str:
        name = f"#{self.hub.world.channels[self.id].name}"
        return name if self.root is None else f"the thread {self.root} of {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A modal or a Home tab in front of one person; always as it is now."""

    hub: Hub
    view: View

    @property
    def id(self) -> str:
        return self.view.id

    @property
    def title(self) -> str:
        return text_of(self.view.body.get("title"))

    @property
    def shown(self) -> str:
        return shown_text(self.view.body)

    @property
    def errors(self) -> dict[str, str]:
        """Return the errors under inputs, by label."""
        labels = {c.block["block_id"]: c.label for c in controls(self.view.body["blocks"])}
        return {labels.get(block, block): text for block, text in self.view.errors.items()}

    @property
    def trouble(self) -> str | None:
        return self.view.trouble

    @property
    def is_closed(self) -> bool:
        return self.view.closed

    def value_of(self, label: str) -> Any:
        """Return what an input holds now."""
        world, view = self.hub.world, self.view
        control = find(view.body["blocks"], label, view.user)
        typed = world.inputs.get((view.user, view.id), {})
        state = state_values(view.body["blocks"], typed)[control.block["block_id"]][
            control.element["action_id"]
        ]
        return next(value for name, value in state.items() if name != "type")

    async def shows(self, text: str) -> None:
        await self.hub.wait(lambda: text in self.shown, f"{text!r} in the view {self.shown!r}")
