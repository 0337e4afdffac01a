"""What people do in Slack: only what their client would let them do, else `CannotDo` says why."""

from dataclasses import dataclass
from typing import Any

from bot.playground import timeline
from bot.playground.cast import GENERAL
from bot.playground.delivery import Delivery
from bot.playground.errors import CannotDo
from bot.playground.hub import Hub
from bot.playground.inputs import STATE, Control, filled, find, option, state_values, unfilled
from bot.playground.interactions import action_of
from bot.playground.methods.views import close_views
from bot.playground.places import Place, Post, Sheet, look
from bot.playground.shapes import Json, as_dict
from bot.playground.world import BOT_USER, Channel, Happened, Message, User, View

_INPUT_TYPES = set(STATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """Something a person did that the app must ack; without a delivery nothing was sent."""

    hub: Hub
    delivery: Delivery | None

    @property
    def cancelled(self) -> bool:
        return self.delivery is None

    @property
    def acked(self) -> bool:
        return self.delivery is not None and self.delivery.state == "acked"

    @property
    def didnt_respond(self) -> bool:
        """Whether the person sees a warning instead of an effect."""
        return self.delivery is not None and self.delivery.state == "missed"

    @property
    def answer(self) -> Json | None:
        return None if self.delivery is None else self.delivery.answer

    async def settled(self) -> "Interaction":
        """Wait until the app acked, or the person was told that it did not."""
        if self.delivery is not None:
            # Not `hub.wait`: with hundreds of clicks under way, each ack would wake all of them.
            async with self.hub.patiently(f"an ack of {self.delivery.label}"):
                await self.delivery.settled.wait()
        return self


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
        channel = self._joined(place.id)
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
        message = self._existing(post)
        if message.user != self.id:
            raise CannotDo(f"{self.name} can edit only their own messages")
        timeline.edit(self.hub.world, message, by=self.id, text=text, blocks=[_rich_text(text)])
        return look(self.hub, message)

    async def deletes(self, post: Post) -> None:
        """Delete a message; also the bot's, as an admin could."""
        timeline.delete(self.hub.world, self._existing(post))

    async def reacts(self, emoji: str, *, to: Post) -> None:
        message = self._existing(to)
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
        control = find(self._blocks(in_), button, self.id)
        return await self._uses(control, in_, None, confirm=confirm, wait=wait)

    async def clicks_stale(self, button: str, *, in_: Post, wait: bool = True) -> Interaction:
        """Press a button as it was when `in_` was looked at: a client that has not caught up yet."""
        self._active()
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
        return await self._sends_message_action(control, old, None, None, wait=wait)

    async def selects(
        self, choice: Any, *, from_: str, in_: Post | Sheet, confirm: bool = True, wait: bool = True
    ) -> Interaction:
        """Pick from a menu, check boxes, radio buttons or an overflow menu, by label."""
        control = find(self._blocks(in_), from_, self.id)
        return await self._uses(control, in_, choice, confirm=confirm, wait=wait)

    async def types(self, text: str, *, into: str, in_: Post | Sheet) -> None:
        """Fill in a field without sending anything."""
        control = find(self._blocks(in_), into, self.id)
        self._keep(control, in_, filled(control, text))

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
        self._on_top(sheet)
        blocks = sheet.view.body["blocks"]
        for label, value in (values or {}).items():
            control = find(blocks, label, self.id)
            self._keep(control, sheet, filled(control, value))
        if not sheet.view.body.get("submit"):
            raise CannotDo(f"the modal {sheet.title!r} has no submit button")
        state = self._state(sheet)
        if missing := unfilled(blocks, state):
            raise CannotDo(f"the client asks to fill in {', '.join(map(repr, missing))} first")
        delivery = self.hub.submit(self.user, sheet.view, state)
        return await self._done(delivery, wait=wait)

    async def closes(self, sheet: Sheet, *, all_: bool = False, wait: bool = True) -> Interaction:
        """Close the modal on top, or all of them; the app hears of it if it asked to."""
        self._on_top(sheet)
        stack = self.hub.world.modals[self.id]
        closing = list(stack) if all_ or sheet.view.body.get("clear_on_close") else [sheet.view]
        state = self._state(sheet)
        close_views(self.hub.world, self.id, closing)
        if not sheet.view.body.get("notify_on_close"):
            return Interaction(hub=self.hub, delivery=None)
        delivery = self.hub.tell_closed(self.user, sheet.view, state, is_cleared=len(closing) > 1 or all_)
        return await self._done(delivery, wait=wait)

    async def opens_home(self, tab: str = "home") -> None:
        self._active()
        world = self.hub.world
        event: Json = {
            "type": "app_home_opened",
            "user": self.id,
            "channel": world.direct_message(self.id).id,
            "tab": tab,
            "event_ts": world.next_ts(),
        }
        self.hub.transcript.note("--", f"{self.name} opens the {tab} tab")
        world.happened(Happened(subscription="app_home_opened", event=event))

    async def home(self) -> Sheet:
        """Wait for the Home tab that the app published for this person."""
        view = await self.hub.wait(lambda: self.hub.world.homes.get(self.id), f"a Home tab for {self.name}")
        return Sheet(hub=self.hub, view=view)

    async def runs(self, command: str, *, in_: Place | None = None, wait: bool = True) -> Interaction:
        """Run a slash command, for example `/askfirst waiting`."""
        name, _, text = command.partition(" ")
        if name not in self.hub.manifest.commands:
            raise CannotDo(f"{name} is not a command; there are {sorted(self.hub.manifest.commands)}")
        place = in_ or self.home_channel
        if place.root is not None:
            raise CannotDo("Slack runs no slash commands in threads")
        delivery = self.hub.run_command(self.user, self._joined(place.id), name, text)
        return await self._done(delivery, wait=wait)

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

    # How it is done.

    async def _uses(
        self, control: Control, in_: Post | Sheet, choice: Any, *, confirm: bool, wait: bool
    ) -> Interaction:
        self._active()
        chosen = option(control, choice) if control.kind == "overflow" else None
        state = filled(control, choice) if control.kind in _INPUT_TYPES else None
        if as_dict(control.element.get("confirm")) is not None and not confirm:
            return Interaction(hub=self.hub, delivery=None)
        if state is not None:
            self._keep(control, in_, state)
            # An input block tells the app only if it asked for it; a menu elsewhere always does.
            if control.block.get("type") == "input" and not control.block.get("dispatch_action"):
                return Interaction(hub=self.hub, delivery=None)
        if isinstance(in_, Post):
            return await self._sends_message_action(control, self._existing(in_), state, chosen, wait=wait)
        action = action_of(control, state, chosen, self.hub.world.next_ts())
        delivery = self.hub.act_in_view(self.user, in_.view, control, action, self._state(in_))
        return await self._done(delivery, wait=wait)

    async def _sends_message_action(
        self, control: Control, message: Message, state: Json | None, chosen: Json | None, *, wait: bool
    ) -> Interaction:
        action = action_of(control, state, chosen, self.hub.world.next_ts())
        typed = self.hub.world.inputs.get((self.id, f"{message.channel}/{message.ts}"), {})
        values = state_values(message.blocks, typed)
        delivery = self.hub.act_in_message(self.user, message, control, action, values)
        return await self._done(delivery, wait=wait)

    async def _done(self, delivery: Delivery, *, wait: bool) -> Interaction:
        interaction = Interaction(hub=self.hub, delivery=delivery)
        return await interaction.settled() if wait else interaction

    def _keep(self, control: Control, in_: Post | Sheet, state: Json) -> None:
        typed = self.hub.world.inputs.setdefault((self.id, _container(in_)), {})
        typed.setdefault(control.block["block_id"], {})[control.element["action_id"]] = state

    def _state(self, sheet: Sheet) -> dict[str, dict[str, Json]]:
        typed = self.hub.world.inputs.get((self.id, sheet.id), {})
        return state_values(sheet.view.body["blocks"], typed)

    def _blocks(self, in_: Post | Sheet) -> list[Json]:
        if isinstance(in_, Sheet):
            if in_.view.type == "modal":
                self._on_top(in_)
            return in_.view.body["blocks"]
        return self._existing(in_).blocks

    def _existing(self, post: Post) -> Message:
        self._joined(post.channel)
        message = post.current
        if message is None:
            raise CannotDo("the message is deleted; a client that did not notice would use `clicks_stale`")
        if message.ephemeral_to not in (None, self.id):
            raise CannotDo(f"{self.name} cannot see what was whispered to {message.ephemeral_to}")
        return message

    def _joined(self, channel_id: str) -> Channel:
        self._active()
        channel = self.hub.world.channels[channel_id]
        if self.id not in channel.members:
            raise CannotDo(f"{self.name} is not in #{channel.name}")
        return channel

    def _active(self) -> None:
        if self.user.deleted:
            raise CannotDo(f"{self.name} is deactivated and cannot sign in")

    def _on_top(self, sheet: Sheet) -> View:
        self._active()
        stack = self.hub.world.modals.get(self.id)
        if not stack or stack[-1] is not sheet.view:
            raise CannotDo(f"the modal {sheet.title!r} is not in front of {self.name}")
        return sheet.view


def person(hub: Hub, user_id: str) -> Person:
    if user_id not in hub.world.users:
        raise CannotDo(f"there is nobody with the id {user_id!r}")
    channels = hub.world.channels.values()
    # The first channel they are in; in a new workspace that is #general, for the stranger the shared one.
    first = next((channel.id for channel in channels if user_id in channel.members), GENERAL)
    return Person(hub=hub, id=user_id, home_channel=Place(hub=hub, id=first))


def _container(in_: Post | Sheet) -> str:
    return in_.id if isinstance(in_, Sheet) else f"{in_.channel}/{in_.ts}"


def _rich_text(text: str) -> Json:
    """Return the block in which clients send what was typed."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text or " "}]}
    return {"type": "rich_text", "elements": [section]}
