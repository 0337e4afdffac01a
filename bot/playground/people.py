"""What people do in Slack: only what their client would let them do, else `CannotDo` says why."""

from dataclasses import dataclass
from typing import Any

from bot.playground import timeline
from bot.playground.cast import GENERAL
from bot.playground.client import Interaction, SlackClient
from bot.playground.errors import CannotDo
from bot.playground.hub import Hub
from bot.playground.inputs import filled, find, unfilled
from bot.playground.methods.views import close_views
from bot.playground.places import Place, Post, Sheet, look
from bot.playground.render import view_json
from bot.playground.shapes import Json
from bot.playground.world import BOT_USER, Happened, Message, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    hub: Hub
    id: str
    #: Where they write when the test does not say.
    home_channel: Place

    @property
    def user(self) -> User:
        return self.hub.world.users[self.id]

    @property
    def _client(self) -> SlackClient:
        return SlackClient(hub=self.hub, user_id=self.id)

    @property
    def name(self) -> str:
        return self.user.name

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    @property
    def dm(self) -> Place:
        return Place(hub=self.hub, id=self.hub.world.direct_message(self.id).id)

    # Talking.

    async def says(self, text: str, *, in_: Place | None = None, client_msg_id: str | None = None) -> Post:
        """Write a message. Slack stores it once, even if a client sends a `client_msg_id` again."""
        place = in_ or self.home_channel
        channel = self._client.channel(place.id)
        known = self.hub.world.messages.get(channel.id, {}).values() if client_msg_id else ()
        for message in known:
            if message.client_msg_id == client_msg_id:
                return look(self.hub, message)
        world = self.hub.world
        message = Message(
            channel=channel.id,
            ts=world.next_ts(),
            user=self.id,
            text=text,
            thread_ts=place.root,
            client_msg_id=client_msg_id or world.next_id("msg-"),
            blocks=[_rich_text(text)],
        )
        self.hub.transcript.note("--", f"{self.name} writes {text!r} in #{channel.name}")
        return look(self.hub, timeline.post(world, message))

    async def mentions_bot(self, text: str, *, in_: Place | None = None) -> Post:
        return await self.says(f"<@{BOT_USER}> {text}", in_=in_)

    async def replies(self, text: str, *, to: Post) -> Post:
        return await self.says(text, in_=to.thread)

    async def edits(self, post: Post, text: str) -> Post:
        message = self._client.message(post)
        if message.user != self.id:
            raise CannotDo(f"{self.name} can edit only their own messages")
        timeline.edit(self.hub.world, message, by=self.id, text=text, blocks=[_rich_text(text)])
        return look(self.hub, message)

    async def deletes(self, post: Post) -> None:
        """Delete a message; also the bot's, as an admin could."""
        timeline.delete(self.hub.world, self._client.message(post))

    async def reacts(self, emoji: str, *, to: Post) -> None:
        message = self._client.message(to)
        message.reactions.setdefault(emoji, []).append(self.id)
        timeline.react(self.hub.world, message, self.id, emoji, added=True)

    # Buttons, menus, fields.

    async def clicks(
        self, button: str, *, in_: Post | Sheet, confirm: bool = True, wait: bool = True
    ) -> Interaction:
        """Press the button that is there now; a confirm dialog is answered by `confirm`.

        Raises:
            CannotDo: there is no such button for this person, whatever was there before.
        """
        control = self._client.control(button, in_)
        return await self._client.press(control, in_, confirm=confirm, wait=wait)

    async def clicks_stale(self, button: str, *, in_: Post, wait: bool = True) -> Interaction:
        """Press a button as it was when `in_` was looked at: a client that has not caught up yet."""
        control = find(in_.blocks, button, self.id)
        now = in_.current
        old = Message(
            channel=in_.channel,
            ts=in_.ts,
            user=in_.user,
            text=in_.text,
            thread_ts=in_.thread_ts,
            blocks=in_.blocks,
            by_bot=True,
            metadata=now.metadata if now is not None else None,
            ephemeral_to=in_.ephemeral_to,
        )
        return await self._client.act_in_message(control, old, wait=wait)

    async def selects(
        self, choice: Any, *, from_: str, in_: Post | Sheet, confirm: bool = True, wait: bool = True
    ) -> Interaction:
        """Pick from a menu, check boxes, radio buttons or an overflow menu, by label."""
        control = self._client.control(from_, in_)
        return await self._client.pick(control, in_, choice, confirm=confirm, wait=wait)

    async def types(self, text: str, *, into: str, in_: Post | Sheet) -> None:
        """Fill in a field without sending anything."""
        control = self._client.control(into, in_)
        self._client.keep(control, in_, filled(control, text))

    # Modals, the Home tab, commands.

    async def modal(self, title: str | None = None) -> Sheet:
        """Wait for a modal in front of this person."""

        def top() -> Sheet | None:
            stack = self.hub.world.modals.get(self.id)
            sheet = Sheet(hub=self.hub, view=stack[-1]) if stack else None
            return sheet if sheet is not None and title in (None, sheet.title) else None

        return await self.hub.wait(top, f"a modal {title or ''} in front of {self.name}")

    async def submits(
        self, sheet: Sheet, values: dict[str, Any] | None = None, *, wait: bool = True
    ) -> Interaction:
        """Fill in a modal by label and press its submit button."""
        blocks = self._client.in_front(sheet).view.body["blocks"]
        for label, value in (values or {}).items():
            control = find(blocks, label, self.id)
            self._client.keep(control, sheet, filled(control, value))
        if not sheet.view.body.get("submit"):
            raise CannotDo(f"the modal {sheet.title!r} has no submit button")
        state = self._client.values(sheet)
        if missing := unfilled(blocks, state):
            raise CannotDo(f"the client asks to fill in {', '.join(map(repr, missing))} first")
        delivery = self.hub.submit(self.user, sheet.view, state)
        return await self._client.sent(delivery, wait=wait)

    async def closes(self, sheet: Sheet, *, all_: bool = False, wait: bool = True) -> Interaction:
        """Close the modal on top, or all of them; the app hears of it if it asked to."""
        self._client.in_front(sheet)
        stack = self.hub.world.modals[self.id]
        closing = list(stack) if all_ or sheet.view.body.get("clear_on_close") else [sheet.view]
        state = self._client.values(sheet)
        close_views(self.hub.world, self.id, closing)
        if not sheet.view.body.get("notify_on_close"):
            return Interaction(hub=self.hub, delivery=None)
        delivery = self.hub.tell_closed(self.user, sheet.view, state, is_cleared=len(closing) > 1 or all_)
        return await self._client.sent(delivery, wait=wait)

    async def opens_home(self, tab: str = "home") -> None:
        """Open the app's Home tab, or with `tab="messages"` its direct message."""
        self._client.signed_in()
        world = self.hub.world
        event: Json = {
            "type": "app_home_opened",
            "user": self.id,
            "channel": world.direct_message(self.id).id,
            "tab": tab,
            "event_ts": world.next_ts(),
        }
        if tab == "home" and self.id in world.homes:
            event["view"] = view_json(world.homes[self.id])
        self.hub.transcript.note("--", f"{self.name} opens the {tab} tab")
        world.happened(Happened(subscription="app_home_opened", event=event))

    async def home(self) -> Sheet:
        """Wait for the Home tab that the app published for this person."""
        view = await self.hub.wait(lambda: self.hub.world.homes.get(self.id), f"a Home tab for {self.name}")
        return Sheet(hub=self.hub, view=view)

    async def runs(self, command: str, *, in_: Place | None = None, wait: bool = True) -> Interaction:
        """Run a slash command, for example `/askfirst waiting`."""
        name, _, text = command.partition(" ")
        if name not in self.hub.manifest.commands or "commands" not in self.hub.manifest.scopes:
            raise CannotDo(f"{name} is not a command; there are {sorted(self.hub.manifest.commands)}")
        place = in_ or self.home_channel
        if place.root is not None:
            raise CannotDo("Slack runs no slash commands in threads")
        delivery = self.hub.run_command(self.user, self._client.channel(place.id), name, text)
        return await self._client.sent(delivery, wait=wait)

    async def presses_stop(self, *, in_: Place) -> None:
        """Press the stop button that Slack shows while an agent session is processing."""
        session, world = in_.session, self.hub.world
        if session is None or session.status != "processing" or in_.root is None:
            raise CannotDo("there is a stop button only in a thread whose session is processing")
        if "agent_session_stopped" not in self.hub.manifest.events:
            raise CannotDo("there is no stop button: the app does not subscribe to agent_session_stopped")
        streaming: list[str] = []
        for message in world.thread(in_.id, in_.root):
            if message.stream is not None and message.stream.is_open(world.now()):
                message.stream.stopped = "user"
                streaming.append(message.ts)
                timeline.refresh(world, message)
        event: Json = {
            "type": "agent_session_stopped",
            "channel": in_.id,
            "thread_ts": in_.root,
            "user": self.id,
            "streaming_message_ts": streaming,
            "event_ts": world.next_ts(),
        }
        subscription = "agent_session_stopped"
        world.happened(Happened(subscription=subscription, event=event, channel=world.channels[in_.id]))

    # What only this person sees.

    @property
    def whispers(self) -> list[Post]:
        """Ephemeral messages to this person, oldest first."""
        found = self.hub.world.ephemerals.values()
        return [look(self.hub, message) for message in found if message.ephemeral_to == self.id]

    async def ephemeral_containing(self, text: str) -> Post:
        return await self.hub.wait(
            lambda: next((post for post in reversed(self.whispers) if text in post.shown), None),
            f"an ephemeral message with {text!r} to {self.name}",
        )


def person(hub: Hub, user_id: str) -> Person:
    if user_id not in hub.world.users:
        raise CannotDo(f"there is nobody with the id {user_id!r}")
    channels = hub.world.channels.values()
    # The first channel they are in; in a new workspace that is #general, for the stranger the shared one.
    first = next((channel.id for channel in channels if user_id in channel.members), GENERAL)
    return Person(hub=hub, id=user_id, home_channel=Place(hub=hub, id=first))


def _rich_text(text: str) -> Json:
    """Return the block in which clients send what was typed."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text or " "}]}
    return {"type": "rich_text", "elements": [section]}
