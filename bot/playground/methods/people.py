"""auth.test, users.*, usergroups.*, team.info, bots.info: who is who."""

from bot.playground.errors import SlackError
from bot.playground.methods.call import Call
from bot.playground.methods.conversations import page
from bot.playground.render import user_json, usergroup_json
from bot.playground.shapes import Json
from bot.playground.world import APP_ID, BOT_ID, BOT_USER, TEAM


def auth_test(call: Call) -> Json:
    return {
        "url": f"{call.url}/",
        "team": "Playground",
        "team_id": TEAM,
        "user": "askfirst",
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def user_info(call: Call) -> Json:
    user = call.world.user(call.args.text("user"))
    return {"user": user_json(user, with_email="users:read.email" in call.manifest.scopes)}


def users_list(call: Call) -> Json:
    with_email = "users:read.email" in call.manifest.scopes
    return page(call, "members", [user_json(u, with_email=with_email) for u in call.world.users.values()])


def user_by_email(call: Call) -> Json:
    email = call.args.text("email")
    for user in call.world.users.values():
        if f"{user.name}@example.com" == email and not user.deleted:
            return {"user": user_json(user)}
    raise SlackError("users_not_found")


def usergroups_list(call: Call) -> Json:
    disabled_too = call.args.flag("include_disabled")
    groups = [usergroup_json(g) for g in call.world.usergroups.values() if disabled_too or not g.disabled]
    if not call.args.flag("include_users"):
        for group in groups:
            del group["users"]
    return {"usergroups": groups}


def usergroup_users(call: Call) -> Json:
    group = call.world.usergroups.get(call.args.text("usergroup"))
    if group is None or (group.disabled and not call.args.flag("include_disabled")):
        raise SlackError("no_such_subteam")
    return {"users": list(group.users)}


def team_info(_call: Call) -> Json:
    return {"team": {"id": TEAM, "name": "Playground", "domain": "playground"}}


def bot_info(_call: Call) -> Json:
    return {
        "bot": {
            "id": BOT_ID,
            "deleted": False,
            "name": "askfirst",
            "app_id": APP_ID,
            "user_id": BOT_USER,
        }
    }
