"""Who lives in a new workspace: enough kinds of people and places to get an approval wrong in every way."""

from bot.playground.world import BOT_USER, PARTNER_TEAM, Channel, User, Usergroup, World

REQUESTER = "U0REQUESTER"
APPROVER = "U0APPROVER"
SECOND_APPROVER = "U0SECOND"
GUEST = "U0GUEST"
STRANGER = "U0STRANGER"
FORMER = "U0FORMER"

GENERAL = "C0GENERAL"
PRIVATE = "C0PRIVATE"
SHARED = "C0SHARED"
ELSEWHERE = "C0ELSEWHERE"
ARCHIVED = "C0ARCHIVED"

ONCALL = "S0ONCALL"

_USERS = (
    User(id=BOT_USER, name="askfirst", real_name="Askfirst", is_bot=True),
    User(id=REQUESTER, name="requester", real_name="Rita Requester"),
    User(id=APPROVER, name="approver", real_name="Ada Approver"),
    User(id=SECOND_APPROVER, name="second", real_name="Sam Second"),
    User(id=GUEST, name="guest", real_name="Gus Guest", is_restricted=True),
    User(id=STRANGER, name="stranger", real_name="Stella Stranger", team=PARTNER_TEAM, is_stranger=True),
    User(id=FORMER, name="former", real_name="Fred Former", deleted=True),
)
_STAFF = {BOT_USER, REQUESTER, APPROVER, SECOND_APPROVER}


def populate(world: World) -> None:
    for user in _USERS:
        world.users[user.id] = user
    for channel in (
        Channel(id=GENERAL, name="general", members=_STAFF | {GUEST, FORMER}),
        Channel(id=PRIVATE, name="ops-private", kind="private", members=set(_STAFF)),
        Channel(id=SHARED, name="with-partner", is_ext_shared=True, members=_STAFF | {STRANGER}),
        # The bot was never invited here.
        Channel(id=ELSEWHERE, name="elsewhere", members={REQUESTER, APPROVER}),
        Channel(id=ARCHIVED, name="old-project", members=set(_STAFF), is_archived=True),
    ):
        world.channels[channel.id] = channel
    for user in _USERS:
        if not (user.is_bot or user.deleted or user.is_stranger):
            world.direct_message(user.id)
    world.usergroups[ONCALL] = Usergroup(
        id=ONCALL, handle="oncall", name="On call", users=[APPROVER, SECOND_APPROVER]
    )
