"""The Slack client of one person: what it shows them, what it lets them do, what it sends."""

from dataclasses import dataclass
from typing import Any

from bot.playground.delivery import Delivery
from bot.playground.errors import CannotDo
from bot.playground.hub import Hub
from bot.playground.inputs import STATE, Control, filled, find, option, state_values
from bot.playground.interactions import action_of
from bot.playground.places import Post, Sheet
from bot.playground.shapes import Json, as_dict
from bot.playground.world import Channel, Message, User

Values = dict[str, dict[str, Json]]


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
class SlackClient:
    hub: Hub
    user_id: str

    @property
    def user(self) -> User:
        return self.hub.world.users[self.user_id]

    # What this person can see and use; else `CannotDo` says why not.

    def signed_in(self) -> User:
        if self.user.deleted:
            raise CannotDo(f"{self.user.name} is deactivated and cannot sign in")
        return self.user

    def channel(self, channel_id: str) -> Channel:
        user, channel = self.signed_in(), self.hub.world.channels[channel_id]
        if user.id not in channel.members:
            raise CannotDo(f"{user.name} is not in #{channel.name}")
        return channel

    def message(self, post: Post) -> Message:
        self.channel(post.channel)
        message = post.current
        if message is None:
            raise CannotDo("the message is deleted; a client that did not notice would use `clicks_stale`")
        if message.ephemeral_to not in (None, self.user_id):
            raise CannotDo(f"{self.user.name} cannot see what was whispered to {message.ephemeral_to}")
        return message

    def in_front(self, sheet: Sheet) -> Sheet:
        user, view = self.signed_in(), sheet.view
        stack = self.hub.world.modals.get(user.id) if view.type == "modal" else [view]
        if not stack or stack[-1] is not view or view.user != user.id:
            raise CannotDo(f"the {view.type} view {sheet.title!r} is not in front of {user.name}")
        return sheet

    def control(self, name: str, in_: Post | Sheet) -> Control:
        if not self.hub.manifest.interactivity:
            raise CannotDo("the manifest has interactivity off, so Slack sends no clicks")
        blocks = (
            self.in_front(in_).view.body["blocks"] if isinstance(in_, Sheet) else self.message(in_).blocks
        )
        return find(blocks, name, self.user_id)

    # What was typed and picked, and not sent yet.

    def keep(self, control: Control, in_: Post | Sheet, state: Json) -> None:
        typed = self.hub.world.inputs.setdefault((self.user_id, _container(in_)), {})
        typed.setdefault(control.block["block_id"], {})[control.element["action_id"]] = state

    def values(self, sheet: Sheet) -> Values:
        typed = self.hub.world.inputs.get((self.user_id, sheet.id), {})
        return state_values(sheet.view.body["blocks"], typed)

    # What is sent.

    async def press(self, control: Control, in_: Post | Sheet, *, confirm: bool, wait: bool) -> Interaction:
        if control.kind in STATE or control.kind == "overflow":
            raise CannotDo(f"{control.label!r} is a {control.kind}, not a button; use `selects`")
        if _asks_to_confirm(control) and not confirm:
            return self._nothing()
        return await self._send(control, in_, None, None, wait=wait)

    async def pick(
        self, control: Control, in_: Post | Sheet, choice: Any, *, confirm: bool, wait: bool
    ) -> Interaction:
        if control.kind == "overflow":
            state, chosen = None, option(control, choice)
        else:
            state, chosen = filled(control, choice), None
        if _asks_to_confirm(control) and not confirm:
            return self._nothing()
        if state is not None:
            self.keep(control, in_, state)
            # An input block tells the app only if it asked for that; a menu elsewhere always does.
            if control.block.get("type") == "input" and not control.block.get("dispatch_action"):
                return self._nothing()
        return await self._send(control, in_, state, chosen, wait=wait)

    async def act_in_message(
        self,
        control: Control,
        message: Message,
        state: Json | None = None,
        chosen: Json | None = None,
        *,
        wait: bool,
    ) -> Interaction:
        user = self.signed_in()
        action = action_of(control, state, chosen, self.hub.world.next_ts())
        typed = self.hub.world.inputs.get((user.id, f"{message.channel}/{message.ts}"), {})
        values = state_values(message.blocks, typed)
        return await self.sent(self.hub.act_in_message(user, message, control, action, values), wait=wait)

    async def sent(self, delivery: Delivery, *, wait: bool) -> Interaction:
        interaction = Interaction(hub=self.hub, delivery=delivery)
        return await interaction.settled() if wait else interaction

    async def _send(
        self, control: Control, in_: Post | Sheet, state: Json | None, chosen: Json | None, *, wait: bool
    ) -> Interaction:
        if isinstance(in_, Post):
            return await self.act_in_message(control, self.message(in_), state, chosen, wait=wait)
        action = action_of(control, state, chosen, self.hub.world.next_ts())
        delivery = self.hub.act_in_view(self.user, in_.view, control, action, self.values(in_))
        return await self.sent(delivery, wait=wait)

    def _nothing(self) -> Interaction:
        return Interaction(hub=self.hub, delivery=None)


def _asks_to_confirm(control: Control) -> bool:
    return as_dict(control.element.get("confirm")) is not None


def _container(in_: Post | Sheet) -> str:
    return in_.id if isinstance(in_, Sheet) else f"{in_.channel}/{in_.ts}"
