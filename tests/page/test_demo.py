"""`make demo`, clicked through by a person: each suggested request, to its end."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import expect

from bot.playground.demo import Demo
from tests.page.screen import Screen

pytestmark = pytest.mark.slow


async def test_a_read_runs_by_itself_and_the_verdict_is_in_the_audit(tour: Screen) -> None:
    await tour.take("A read")
    await tour.shows("the March builds are still needed")
    await expect(tour.side).to_contain_text("verdict allow · tool read_file")
    await expect(tour.side).to_contain_text("records, unbroken")
    await tour.shot("read")


async def test_the_cleanup_is_clarified_then_narrowed_by_the_approver(tour: Screen, tmp_path: Path) -> None:
    await tour.take("The 847-file cleanup")
    await tour.shows("Before I start")
    await tour.shot("cleanup-clarification")
    await tour.button("Start with these limits").click()
    await tour.shows("847 files")
    await tour.become("Ada Approver")
    await tour.shot("cleanup-card")
    await tour.button("Older than 1 year (312)").click()
    await tour.confirm("Approve")
    await tour.shows("312")
    await expect(tour.thread.get_by_role("button", name="Reject…")).to_have_count(0)
    await tour.shows("for @requester")
    await tour.shot("cleanup-done")
    left = await asyncio.to_thread(lambda: len(list((tmp_path / "files" / "ci-artifacts").iterdir())))
    assert left == 847 - 312


async def test_a_forbidden_command_is_refused_and_nobody_is_asked(tour: Screen) -> None:
    await tour.take("A rejected command")
    await tour.shows("is not allowed here, so I did not do it")
    await expect(tour.side).to_contain_text("verdict deny · tool execute · rules never")
    await expect(tour.button("Approve")).to_have_count(0)


async def test_the_requester_cannot_approve_and_an_approver_edits(tour: Screen, tmp_path: Path) -> None:
    await tour.take("An edit")
    await tour.button("Approve").click()
    await expect(tour.thread.locator("article.ephemeral")).to_be_visible()
    await tour.shot("edit-refused")
    await tour.become("Ada Approver")
    await expect(tour.thread.locator("article.ephemeral")).to_have_count(0)
    await tour.button("Edit…").click()
    await tour.modal.get_by_label("content").fill("hello, edited\n")
    await tour.shot("edit-modal")
    await tour.modal.get_by_role("button", name="Approve edited").click()
    await tour.shows("Edited and approved by @approver")
    await tour.shows("for @requester")
    written = await asyncio.to_thread((tmp_path / "files" / "greeting.txt").read_text)
    assert written == "hello, edited\n"


async def test_in_production_two_people_must_agree_each_with_a_reason(tour: Screen, tmp_path: Path) -> None:
    await tour.take("Two approvers")
    for name in ("Ada Approver", "Sam Second"):
        assert not (tmp_path / "files" / "status.txt").exists()
        await tour.approve_with_reason(name, "fine with me")
        if name == "Ada Approver":
            await expect(tour.side).to_contain_text("1 of 2 agreed")
    await tour.shows("for @requester")
    assert (tmp_path / "files" / "status.txt").exists()


async def test_a_vote_survives_a_crash_before_the_second_one(tour: Screen, tmp_path: Path) -> None:
    await tour.take("Two approvers")
    await tour.approve_with_reason("Ada Approver", "the window is open")
    await expect(tour.side).to_contain_text("1 of 2 agreed")
    await tour.side.get_by_role("button", name="Kill the bot now").click()
    await tour.side.get_by_role("button", name="Start the bot again").click()
    await expect(tour.side).to_contain_text("running as process")
    await tour.approve_with_reason("Sam Second", "agreed")
    await tour.shows("for @requester")
    assert (tmp_path / "files" / "status.txt").exists()


async def test_a_guest_is_told_that_guests_cannot_ask(tour: Screen) -> None:
    await tour.become("Gus Guest")
    await tour.say("@askfirst read notes.txt")
    await tour.shows("Guests cannot ask me to do things here")
    await expect(tour.thread.locator("article.ephemeral")).to_have_count(1)
    await expect(tour.side).to_contain_text("No run yet")


async def test_the_policy_explains_itself_in_a_modal_and_underneath(tour: Screen) -> None:
    await tour.take("An edit")
    await tour.button("Explain").click()
    await expect(tour.modal).to_contain_text("write_file")
    await tour.shot("explain")
    await tour.page.keyboard.press("Escape")
    await expect(tour.modal).to_be_hidden()
    await expect(tour.side).to_contain_text("deny secrets silent")


async def test_a_question_is_answered_and_the_run_goes_on_with_the_answer(tour: Screen) -> None:
    await tour.take("A question")
    await tour.shows("When may I do maintenance?")
    await tour.shot("question")
    await tour.button("Tonight at 22:00").click()
    await tour.shows("Noted: Tonight at 22:00.")


async def test_a_question_nobody_answers_is_reminded_of_and_expires(tour: Screen) -> None:
    await tour.take("A timeout")
    await expect(tour.button("Approve")).to_be_visible()
    await tour.side.get_by_role("button", name="Skip to the next timer").click()
    await tour.shows("This waits for you since")
    await tour.shot("timeout-reminder")
    await tour.side.get_by_role("button", name="+15 min").click()
    await tour.shows("Expired")
    await tour.shows("Nobody decided in time")
    await expect(tour.button("Approve")).to_have_count(0)
    await expect(tour.side).to_contain_text("Nothing waits")
    await tour.shot("timeout-expired")


async def test_a_killed_bot_goes_on_where_it_stopped(tour: Screen, demo: Demo, tmp_path: Path) -> None:
    await tour.take("A crash")
    await expect(tour.button("Approve")).to_be_visible()
    first = demo.bot.pid
    await tour.side.get_by_role("button", name="Kill the bot now").click()
    await expect(tour.side).to_contain_text("killed")
    await tour.become("Ada Approver")
    await tour.button("Approve").click()
    await expect(tour.page.get_by_role("alert").filter(has_text="did not respond")).to_be_visible()
    await tour.shot("crash-killed")
    await tour.side.get_by_role("button", name="Start the bot again").click()
    await expect(tour.side).to_contain_text("running as process")
    assert demo.bot.pid != first
    await tour.button("Approve").click()
    await tour.shows("Approved by")
    await tour.shows("for @requester")
    await tour.shot("crash-went-on")
    assert await asyncio.to_thread((tmp_path / "files" / "crash.txt").read_text) == "still here\n"


async def test_the_home_tab_lists_what_waits_for_an_approver(tour: Screen) -> None:
    await tour.take("An edit")
    await expect(tour.button("Approve")).to_be_visible()
    await tour.become("Ada Approver")
    await tour.go("Askfirst: Home")
    await expect(tour.conversation).to_contain_text("write_file")
    await tour.shot("home")
