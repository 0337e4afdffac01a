"""The only place that knows who is who: fits adapters to the engine's ports and opens what must be closed."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from bot.domain.errors import ConfigError
from bot.domain.ids import RunId, ThreadId, UserId, WorkerId, readable
from bot.domain.interrupt import Interrupt
from bot.domain.person import Person
from bot.domain.run import AgentSpec, Head
from bot.domain.tool import ToolCall
from bot.engine.approvals import Approvals
from bot.engine.assess import Assessor
from bot.engine.driver import World
from bot.engine.judge import Judge
from bot.engine.live_policies import LivePolicies
from bot.engine.ports import Front, Model, People
from bot.engine.runner import Runner
from bot.engine.supervisor import Supervisor
from bot.engine.tasks import beside
from bot.llm.anthropic import AnthropicModel
from bot.llm.offline import OfflineModel
from bot.policy.explain import Explanation, explain
from bot.policy.shell import Proof, prove
from bot.settings import Settings
from bot.storage.sqlite import open_sqlite
from bot.storage.store import Database, SqlStore
from bot.storage.workers import is_gone, this_worker
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.builtin.execute import ExecuteSettings
from bot.tools.process.sandbox import find_sandbox
from bot.tools.registry import Registry


def utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the clock everybody else is given


class RandomIds:
    """Short names that people can read aloud; the database refuses the rare double."""

    def run(self) -> RunId:
        return RunId(readable(secrets.randbits(50), 10))

    def thread(self) -> ThreadId:
        return ThreadId(readable(secrets.randbits(50), 10))


class Alone:
    """People of a terminal: whoever sits there is who they are to the operating system."""

    async def person(self, user: UserId) -> Person:
        return Person(id=user)


def policy_paths(settings: Settings) -> tuple[Path, ...]:
    """Where the policies are: as set, or the default one that comes with Askfirst."""
    if settings.policies.exists() or "policies" in settings.model_fields_set:
        return (settings.policies,)
    packaged = Path(str(resources.files("bot"))) / "_policies"
    return (packaged if packaged.exists() else Path(__file__).parent.parent / "policies",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A running engine and the parts that fronts and commands look into."""

    runner: Runner
    supervisor: Supervisor
    store: SqlStore
    policies: LivePolicies
    toolbox: Registry
    judge: Judge
    worker: WorkerId
    settings: Settings

    def explain(self, head: Head, interrupt: Interrupt) -> Explanation | None:
        """Every rule that was looked at for the planned call, as the policy is now."""
        if interrupt.planned is None or interrupt.call_id is None:
            return None
        policy = self.policies.current.for_channel(head.thread.channel)
        call = ToolCall(id=interrupt.call_id, tool=interrupt.planned.tool, args=interrupt.planned.args)
        context = self.judge.context(head, interrupt.planned, interrupt.impact)
        return explain(policy, call, context)

    def agent(self, channel: str) -> AgentSpec:
        """Who works in this channel: the policy's agent, completed with the operator's settings."""
        policy = self.policies.current.for_channel(channel)
        workdir = str(self.settings.workdir.resolve())
        spec = policy.agent or AgentSpec(model="")
        model = "offline" if self.settings.offline else spec.model or self.settings.model
        patience = policy.checkpoint_ttl or spec.patience
        environment = policy.environment
        return replace(spec, model=model, cwd=spec.cwd or workdir, patience=patience, environment=environment)


def _prover(text: str) -> Sequence[str] | str | None:
    """What is executed for a command that was proved: its words, or its canonical text."""
    proof = prove(text)
    if not isinstance(proof, Proof):
        return None
    return proof.argv if proof.argv is not None else proof.render()


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncGenerator[Model]:
    if settings.anthropic_api_key is None:
        yield OfflineModel()
        return
    key = settings.anthropic_api_key.get_secret_value()
    async with AnthropicModel(api_key=key, base_url=settings.anthropic_base_url) as model:
        yield model


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[SqlStore]:
    """Only the database, for commands that look and do not drive."""
    async with _open_database(settings.database) as database:
        yield SqlStore(database, is_gone)


def _open_database(where: str) -> AbstractAsyncContextManager[Database]:
    if not where.startswith(("postgres://", "postgresql://")):
        return open_sqlite(Path(where))
    try:
        # Only replicas need it, so only they need to have installed it.
        from bot.storage.postgres import open_postgres  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError("PostgreSQL needs a driver: pip install 'askfirst[postgres]'") from error
    return open_postgres(where)


@asynccontextmanager
async def open_engine(
    settings: Settings, front: Front, *, people: People | None = None
) -> AsyncGenerator[Engine]:
    """Everything, running. At the end runs are let go of in good order, for another process to take.

    Raises:
        ConfigError: a setting, a policy or the database cannot be used; says what to do.
    """
    policies = LivePolicies(policy_paths(settings))
    worker = this_worker(secrets.randbits(30))
    execute = ExecuteSettings(sandbox=await find_sandbox(settings.sandbox), prove=_prover)
    toolbox = Registry(builtin_tools(clock=utc_now, execute=execute))
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings))
        model = await stack.enter_async_context(open_model(settings))
        judge = Judge(
            toolbox=toolbox, policies=policies, store=store, clock=utc_now, people=people or Alone()
        )
        world = World(
            store=store,
            model=model,
            toolbox=toolbox,
            judge=judge,
            front=front,
            clock=utc_now,
            worker=worker,
            assessor=Assessor(
                model if isinstance(model, AnthropicModel) else None, settings.scope_model or settings.model
            ),
            drift_tolerance=settings.drift_tolerance,
        )
        stack.push_async_callback(lambda: store.forget_worker(worker, utc_now()))
        supervisor = await stack.enter_async_context(Supervisor(world).running())
        await stack.enter_async_context(beside(policies.watch(store, utc_now)))
        approvals = Approvals(store, toolbox, judge, utc_now, worker=worker)
        yield Engine(
            runner=Runner(world, supervisor, approvals, RandomIds()),
            supervisor=supervisor,
            store=store,
            policies=policies,
            toolbox=toolbox,
            judge=judge,
            worker=worker,
            settings=settings,
        )
