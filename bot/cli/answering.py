"""Lets a person at the terminal answer interrupts: shows the card, reads the answer, tells what became of it."""

from dataclasses import dataclass

from bot.cli import card, form
from bot.cli.keyboard import Keyboard
from bot.cli.paint import Paint
from bot.domain.decision import Answer, Approve, Cancel, Choose, Edit, Reject, Respond
from bot.domain.errors import Refused, Stale
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.literal import visible
from bot.domain.person import Person
from bot.policy.explain import render_text
from bot.wiring import Engine, utc_now


class Later(Exception):
    """The person leaves the question open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a person sits: the engine, their keyboard, and who they are."""

    engine: Engine
    keyboard: Keyboard
    person: Person
    paint: Paint

    async def answer(self, asked: Asked) -> bool:
        """Show one interrupt and take an answer; return whether it was settled.

        Raises:
            Later: the person quits; the question stays open.
        """
        interrupt = asked.interrupt
        print()
        for line in card.lines_of(asked, self.paint, now=utc_now()):
            print(line)
        while True:
            print(self.paint(f"   {card.keys(interrupt)}", "dim"))
            typed = (await self._ask("   decide> ")).strip()
            try:
                answer = await self._understood(interrupt, typed)
                if answer is None:
                    continue
                counted = await self.engine.runner.decide(interrupt.id, answer, self.person, via="terminal")
            except Refused as refused:
                print(self.paint(f"   {refused}", "red"))
                continue
            except Stale as late:
                print(self.paint(f"   {late}", "yellow"))
                return True
            if counted.votes < counted.needed:
                print(f"   Counted: {counted.votes} of {counted.needed}. Somebody else has to agree.")
                return False
            return True

    async def _ask(self, prompt: str) -> str:
        try:
            return await self.keyboard.ask(self.paint(prompt, "bold"))
        except EOFError:
            raise Later from None

    async def _understood(self, interrupt: Interrupt, typed: str) -> Answer | None:
        """Turn a key into an answer; None if it was no answer."""
        if typed.isdigit() and 1 <= int(typed) <= len(interrupt.options):
            return Choose(option=interrupt.options[int(typed) - 1].id)
        key = typed[:1].lower()
        if key == "q":
            raise Later
        if key == "?":
            await self._explain(interrupt)
            return None
        makers = {
            "y": self._approve,
            "e": self._edit,
            "r": self._reject,
            "a": self._respond,
            "c": self._cancel,
        }
        maker = makers.get(key)
        if maker is None or (len(typed) > 1 and key not in "yra"):
            print("   I did not understand that; nothing was decided.")
            return None
        return await maker(interrupt)

    async def _approve(self, interrupt: Interrupt) -> Answer:
        reason = await self._ask("   why? ") if interrupt.reason_required else ""
        return Approve(reason=reason)

    async def _reject(self, _interrupt: Interrupt) -> Answer:
        return Reject(reason=await self._ask("   reason (may be empty): "))

    async def _cancel(self, _interrupt: Interrupt) -> Answer:
        return Cancel()

    async def _respond(self, interrupt: Interrupt) -> Answer:
        return Respond(data=await form.fill(self.keyboard, interrupt.response_schema))

    async def _edit(self, interrupt: Interrupt) -> Answer:
        if interrupt.planned is None:
            return await self._edit_review(interrupt)
        tool = self.engine.toolbox.definition(interrupt.planned.tool)
        schema = tool.parameters if tool else {}
        args = await form.edit(self.keyboard, interrupt.planned.args, schema, interrupt.editable)
        reason = await self._ask("   why? ") if interrupt.reason_required else ""
        return Edit(args=args, reason=reason)

    async def _edit_review(self, interrupt: Interrupt) -> Answer:
        subject = interrupt.subject or {}
        if not subject.get("calls"):
            return Edit(text=await self._ask("   new text: "))
        edited: dict[str, object] = {}
        for call in subject["calls"]:
            tool = self.engine.toolbox.definition(call["tool"])
            print(f"   {call['id']} {visible(call['tool'])}")
            args = await form.edit(self.keyboard, call["args"], tool.parameters if tool else {}, None)
            if args != call["args"]:
                edited[call["id"]] = args
        return Edit(args=edited)

    async def _explain(self, interrupt: Interrupt) -> None:
        head = await self.engine.store.head(interrupt.run_id)
        explanation = self.engine.explain(head, interrupt) if head else None
        if explanation is None:
            print("   This question is not from the policy; there is no rule to explain.")
            return
        for line in render_text(explanation, colour=self.paint.on).splitlines():
            print(f"   {line}")
