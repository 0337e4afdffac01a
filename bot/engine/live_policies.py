"""The policies in force: read from files, and read again when they change."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.domain.audit import AuditFact
from bot.domain.run import Breakpoint
from bot.domain.tool import ToolCall
from bot.domain.verdict import Verdict
from bot.engine.ports import Clock, Store
from bot.policy.context import Context
from bot.policy.evaluate import decide, limits_touched
from bot.policy.files import PolicyProblems, PolicySet, load, reload
from bot.policy.model import Clarify, LimitUse, Policy

logger = logging.getLogger(__name__)

#: A person who saved a file looks up about now.
LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class InForce:
    """One channel's policy, as the engine sees it."""

    policy: Policy

    @property
    def version(self) -> str:
        return self.policy.version

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        return self.policy.breakpoints

    @property
    def clarify(self) -> Clarify | None:
        return self.policy.clarify

    def decide(self, call: ToolCall, context: Context) -> Verdict:
        return decide(self.policy, call, context)

    def limits_touched(self, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
        return limits_touched(self.policy, call, context)


class LivePolicies:
    """A changed file replaces them as a whole, after its own tests passed, or not at all."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Raises PolicyProblems: without a valid policy the bot does not start."""
        self._paths = tuple(paths)
        self._current = load(*self._paths)
        self._problem = ""

    @property
    def current(self) -> PolicySet:
        return self._current

    @property
    def problem(self) -> str:
        """What is wrong with the files as they are now; empty if they are in force."""
        return self._problem

    def for_channel(self, channel: str) -> InForce:
        return InForce(self._current.for_channel(channel))

    def refresh(self) -> bool:
        """Take over changed files; return whether something is in force that was not before.

        Broken files change nothing: the last good policies stay, and `problem` says why.
        """
        try:
            newest = reload(self._current, *self._paths)
        except (PolicyProblems, OSError) as error:
            self._problem = str(error)
            return False
        self._problem = ""
        changed = newest.version != self._current.version
        self._current = newest
        return changed

    async def watch(self, store: Store, clock: Clock) -> None:
        """Look at the files again and again; record what is taken over, and say what is not."""
        told = ""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if await asyncio.to_thread(self.refresh):
                logger.warning("policy changed: version %s is in force", self._current.version)
                await store.record([self._loaded(clock())])
            if self._problem and self._problem != told:
                logger.error("the changed policy is refused, the last good one stays:\n%s", self._problem)
            told = self._problem

    def _loaded(self, now: datetime) -> AuditFact:
        return AuditFact(kind="policy_loaded", at=now, run_id=None, body={"version": self._current.version})
