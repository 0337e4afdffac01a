"""Whether an answer fits its question. A bad answer consumes nothing and can be given again."""

from typing import Any

import jsonschema_rs

from bot.domain.canonical import JsonObject
from bot.domain.decision import Answer, Choose, Edit, Respond
from bot.domain.errors import InvalidAnswer
from bot.domain.interrupt import Interrupt


def check(interrupt: Interrupt, answer: Answer) -> None:
    """Raise InvalidAnswer, saying how to do it right, unless `answer` fits `interrupt`."""
    if answer.verb not in interrupt.verbs:
        raise InvalidAnswer(
            f"This cannot be answered with “{answer.verb}”. Possible: {', '.join(interrupt.verbs)}."
        )
    match answer:
        case Choose(option=chosen):
            _check_option(interrupt, chosen)
        case Respond(data=data):
            _check_data(interrupt.response_schema, data)
        case Edit():
            _check_edit(interrupt, answer)
        case _:
            pass
    if interrupt.reason_required and not _reason(answer):
        raise InvalidAnswer("The policy wants a reason for this decision. Say why, in a few words.")


def _reason(answer: Answer) -> str:
    return "" if isinstance(answer, Respond) else answer.reason.strip()


def _check_option(interrupt: Interrupt, chosen: str) -> None:
    if interrupt.option(chosen) is None:
        offered = ", ".join(option.id for option in interrupt.options)
        raise InvalidAnswer(f"There is no option {chosen!r}. Offered: {offered}.")


def _check_data(schema: JsonObject | None, data: Any) -> None:
    if schema is None:
        if not isinstance(data, str) or not data.strip():
            raise InvalidAnswer("The answer must be some text.")
        return
    try:
        problem = next(jsonschema_rs.validator_for(schema, offline=True).iter_errors(data), None)
    except (ValueError, jsonschema_rs.ValidationError) as error:
        raise InvalidAnswer(
            "The question's form is not a valid JSON schema, so nothing can fit it."
        ) from error
    if problem is not None:
        where = "/".join(str(part) for part in problem.instance_path)
        raise InvalidAnswer(f"The answer does not fit{f' at {where}' if where else ''}: {problem.message}")


def _check_edit(interrupt: Interrupt, edit: Edit) -> None:
    if interrupt.kind == "review":
        _check_review_edit(interrupt, edit)
        return
    if edit.args is None or interrupt.planned is None:
        raise InvalidAnswer("An edit needs the new arguments.")
    changed = {name for name in {*edit.args, *interrupt.planned.args} if _differs(name, edit, interrupt)}
    if not changed:
        raise InvalidAnswer("Nothing was changed. Approve it instead.")
    locked = sorted(changed.difference(interrupt.editable)) if interrupt.editable is not None else []
    if locked:
        raise InvalidAnswer(f"The policy does not let {', '.join(locked)} be edited here.")


def _differs(name: str, edit: Edit, interrupt: Interrupt) -> bool:
    assert edit.args is not None
    assert interrupt.planned is not None
    missing = object()
    return edit.args.get(name, missing) != interrupt.planned.args.get(name, missing)


def _check_review_edit(interrupt: Interrupt, edit: Edit) -> None:
    subject = interrupt.subject or {}
    known = {call["id"] for call in subject.get("calls", [])}
    if edit.args is None and edit.text is None:
        raise InvalidAnswer("An edit needs a new text, or new arguments by call id.")
    for call_id, args in (edit.args or {}).items():
        if call_id not in known:
            raise InvalidAnswer(
                f"There is no call {call_id!r} under review. There are: {', '.join(sorted(known))}."
            )
        if not isinstance(args, dict):
            raise InvalidAnswer(f"The arguments of {call_id} must be an object.")
