"""views.*: modals on a stack of three, opened with a trigger; the Home tab of each person."""

import json
from typing import Literal

from bot.playground import timeline
from bot.playground.blockkit.surfaces import VIEW_BYTES, check_view
from bot.playground.errors import SlackError, bad_arguments
from bot.playground.methods.call import Call, invalid, missing
from bot.playground.render import view_json
from bot.playground.shapes import Json, dicts
from bot.playground.world import Trigger, View, World

STACK = 3


def open_(call: Call) -> Json:
    body = checked(call, "modal")
    trigger = exchange(call)
    # Opening from inside a modal puts the new view on top of it.
    return {"view": view_json(push_view(call.world, trigger.user, body))}


def push(call: Call) -> Json:
    body = checked(call, "modal")
    trigger = exchange(call)
    if not call.world.modals.get(trigger.user):
        raise SlackError("not_found")
    return {"view": view_json(push_view(call.world, trigger.user, body))}


def update(call: Call) -> Json:
    body = checked(call, None)
    view = _find(call)
    if body["type"] != view.type:
        raise bad_arguments(f"must be a {view.type} view [json-pointer:/view/type]")
    _check_hash(call, view)
    replace_view(call.world, view, body)
    return {"view": view_json(view)}


def publish(call: Call) -> Json:
    if not call.manifest.home_tab:
        raise SlackError("not_enabled")
    user = call.world.user(call.args.text("user_id"))
    body = checked(call, "home")
    view = call.world.homes.get(user.id)
    if view is None:
        view = new_view(call.world, user.id, body)
        call.world.homes[user.id] = view
    else:
        _check_hash(call, view)
        replace_view(call.world, view, body)
    call.world.changed("home", {"user": user.id})
    return {"view": view_json(view)}


def checked(call: Call, kind: Literal["modal", "home"] | None) -> Json:
    """Return the view of this call, or say what is wrong with it."""
    body = call.args.mapping("view")
    if body is None:
        raise missing("view")
    return check_body(body, kind)


def check_body(body: Json, kind: Literal["modal", "home"] | None) -> Json:
    if len(json.dumps(body)) > VIEW_BYTES:
        raise SlackError("view_too_large")
    if problems := check_view(body):
        raise invalid("invalid_arguments", problems)
    if kind is not None and body["type"] != kind:
        raise bad_arguments(f"must be a {kind} view [json-pointer:/view/type]")
    return body


def exchange(call: Call) -> Trigger:
    """Use up the trigger of a click: it works once, for three seconds."""
    trigger_id = call.args.optional("trigger_id") or call.args.optional("interactivity_pointer")
    if not trigger_id:
        raise missing("trigger_id")
    trigger = call.world.triggers.get(trigger_id)
    if trigger is None:
        raise SlackError("invalid_trigger_id")
    if trigger.used:
        raise SlackError("exchanged_trigger_id")
    if call.world.now() >= trigger.expires_at:
        raise SlackError("expired_trigger_id")
    trigger.used = True
    return trigger


def new_view(world: World, user: str, body: Json) -> View:
    view_id = world.next_id("V")
    _claim_external_id(world, view_id, body)
    stack = world.modals.get(user, []) if body["type"] == "modal" else []
    view = View(
        id=view_id,
        type=body["type"],
        user=user,
        body=_stored(world, body),
        hash=world.next_ts(),
        root=stack[0].id if stack else view_id,
        previous=stack[-1].id if stack else None,
    )
    world.views[view_id] = view
    return view


def push_view(world: World, user: str, body: Json) -> View:
    stack = world.modals.setdefault(user, [])
    if len(stack) >= STACK:
        raise SlackError("push_limit_reached")
    view = new_view(world, user, body)
    stack.append(view)
    world.changed("modal", {"user": user, "view": view.id})
    return view


def replace_view(world: World, view: View, body: Json) -> None:
    _claim_external_id(world, view.id, body)
    view.body = _stored(world, body)
    view.hash = world.next_ts()
    view.errors, view.trouble = {}, None
    # What was typed stays only in inputs that kept their block id and action id.
    kept = {block["block_id"] for block in view.body["blocks"]}
    typed = world.inputs.get((view.user, view.id), {})
    world.inputs[view.user, view.id] = {block: state for block, state in typed.items() if block in kept}
    world.changed("view_changed", {"user": view.user, "view": view.id})


def close_views(world: World, user: str, views: list[View]) -> None:
    gone = {view.id for view in views}
    for view in views:
        view.closed = True
        world.inputs.pop((user, view.id), None)
        world.external_ids = {name: id_ for name, id_ in world.external_ids.items() if id_ not in gone}
    world.modals[user] = [view for view in world.modals.get(user, []) if view.id not in gone]
    world.changed("modal_closed", {"user": user, "views": sorted(gone)})


def _find(call: Call) -> View:
    view_id = call.args.optional("view_id")
    external_id = call.args.optional("external_id")
    if not view_id and not external_id:
        raise missing("view_id")
    view = call.world.views.get(view_id or call.world.external_ids.get(external_id or "", ""))
    if view is None or view.closed:
        raise SlackError("not_found")
    return view


def _check_hash(call: Call, view: View) -> None:
    if call.args.optional("hash") not in (None, view.hash):
        raise SlackError("hash_conflict")


def _claim_external_id(world: World, view_id: str, body: Json) -> None:
    external_id = body.get("external_id")
    if external_id:
        if world.external_ids.get(external_id, view_id) != view_id:
            raise SlackError("duplicate_external_id")
        world.external_ids[external_id] = view_id


def _stored(world: World, body: Json) -> Json:
    return body | {"blocks": timeline.with_ids(world, dicts(body["blocks"]))}
