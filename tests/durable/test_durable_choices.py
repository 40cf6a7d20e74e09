"""The choices about a message whose code asks for other steps than it has: each durable, each made once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from places import Place, settle, until
from test_durable_drift import drifted, shop, steps

from workbench import Call, Workbench, durable
from workbench.errors import AlreadyDecided, BadInput, DeadLettered, Drift, NoCode


async def stopped(place: Place, before: list[str], after: list[str]) -> tuple[Any, list[str]]:
    """The handle of a message that recorded the steps `before`, whose code asks for `after`; and what ran."""
    ran: list[str] = []
    handle = await drifted(place, steps(ran, *before, hang=True), steps(ran, *after), recorded=len(before))
    await until(lambda: handle.status == "crashed")
    assert ran == before
    return handle, ran


async def reopened(place: Place, after: list[str], ran: list[str]) -> Any:
    """The handle of the same key in a host of its own, after the death of the one before."""
    await place.crash(place.benches[-1])
    bench = await place.open(shop(steps(ran, *after)))
    return bench.lookup("shop", id="a")


def kinds(bench: Any) -> list[str]:
    return [entry.kind for entry in bench.store.history_now("shop:a") if entry.step is not None]


async def test_a_blocked_key_says_which_steps_are_at_odds(place: Place) -> None:
    handle, _ = await stopped(place, ["charge"], ["bill"])
    bench = place.benches[-1]

    assert bench.blocked == {"shop:a": str(handle.error)}
    assert "'charge'" in bench.blocked["shop:a"]
    assert "'bill'" in bench.blocked["shop:a"]
    assert any("start_over()" in note for note in handle.error.__notes__)
    desk = await place.open(shop(steps([], "bill")), worker=False)
    assert desk.blocked == bench.blocked


async def test_the_scheduler_leaves_a_drifted_key_alone(place: Place) -> None:
    handle, _ = await stopped(place, ["charge"], ["bill"])
    lives = len(handle._runtime.store.activations_now("shop:a"))

    for _ in range(5):
        await place.clock.advance(100)

    assert len(handle._runtime.store.activations_now("shop:a")) == lives
    assert handle.status == "crashed"


async def test_starting_over_runs_the_effects_again_and_keeps_the_history(place: Place) -> None:
    handle, ran = await stopped(place, ["charge", "mail"], ["bill", "mail"])

    await handle.start_over()

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "mail", "bill", "mail"]
    assert kinds(place.benches[-1]) == ["step", "step", "attempt", "drift", "replaced", "step", "step"]
    assert place.benches[-1].blocked == {}


async def test_a_key_that_started_over_can_be_copied(place: Place, tmp_path: Path) -> None:
    handle, _ = await stopped(place, ["charge", "mail"], ["bill", "mail"])
    await handle.start_over()
    assert await handle.until(lambda state: state == 1) == 1

    await place.benches[-1].export("shop:a", tmp_path / "shop.jsonl")

    async with Workbench.open(":memory:") as other:
        assert await other.import_(tmp_path / "shop.jsonl") == "shop:a"
        assert kinds(other) == kinds(place.benches[-1])


async def test_starting_over_is_kept_by_the_journal_until_somebody_acts_on_it(place: Place) -> None:
    handle, ran = await stopped(place, ["charge"], ["bill"])
    desk = await place.open(worker=False)
    await place.crash(place.benches[0])

    await desk.resolve("shop:a", "started over", by="ada")
    assert ran == ["charge"]
    handle = await reopened(place, ["bill"], ran)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "bill"]


async def test_what_was_replaced_answers_no_step_in_any_later_life(place: Place) -> None:
    ran: list[str] = []
    handle, _ = await stopped(place, ["charge"], ["bill"])
    await place.crash(place.benches[-1])
    bench = await place.open(shop(steps(ran, "bill", "mail", hang=True)))
    await until(lambda: "shop:a" in bench.blocked)
    await bench.lookup("shop", id="a").start_over()
    await until(lambda: ran == ["bill", "mail"])
    await until(lambda: kinds(bench).count("step") == 3)

    handle = await reopened(place, ["bill", "mail"], ran)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["bill", "mail"]
    assert kinds(place.benches[-1]).count("replaced") == 1


async def test_accepting_a_renamed_step_gives_it_the_recorded_result(place: Place) -> None:
    values: list[Any] = []

    async def before(ctx: Any) -> None:
        await ctx.step("charge", lambda: "receipt 7")
        await asyncio.Event().wait()

    async def after(ctx: Any) -> None:
        values.append(await ctx.step("bill", lambda: "never run"))

    handle = await drifted(place, before, after, recorded=1)
    await until(lambda: handle.status == "crashed")

    await handle.accept()

    assert await handle.until(lambda state: state == 1) == 1
    assert values == ["receipt 7"]


async def test_an_accepted_name_stays_accepted_over_a_restart(place: Place) -> None:
    ran: list[str] = []
    handle, _ = await stopped(place, ["charge"], ["bill"])
    await place.crash(place.benches[-1])
    bench = await place.open(shop(steps(ran, "bill", "mail", hang=True)))
    await until(lambda: "shop:a" in bench.blocked)
    await bench.lookup("shop", id="a").accept()
    await until(lambda: kinds(bench).count("step") == 2)

    handle = await reopened(place, ["bill", "mail"], ran)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["mail"]


async def test_a_step_whose_place_was_taken_is_never_run_again_by_its_old_name(place: Place) -> None:
    handle, ran = await stopped(place, ["charge"], ["check", "charge"])

    await handle.accept()
    await until(lambda: handle.status == "crashed" and "gave it to 'check'" in str(handle.error))

    assert (ran, handle.error.asked, handle.error.recorded) == (["charge"], "charge", "charge")


async def test_an_added_step_runs_and_the_recorded_ones_answer_as_before(place: Place) -> None:
    handle, ran = await stopped(place, ["charge", "mail"], ["check", "charge", "mail"])

    await handle.accept(added=True)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "mail", "check"]


async def test_what_an_added_step_replaces_is_settled_in_the_end(place: Place) -> None:
    handle, ran = await stopped(place, ["charge", "mail"], ["check", "mail"])

    await handle.accept(added=True)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "mail", "check"]


async def test_accepting_a_step_that_is_left_out_settles_it(place: Place) -> None:
    handle, ran = await stopped(place, ["charge", "mail"], ["charge"])
    assert (handle.error.asked, handle.error.recorded) == (None, "mail")

    await handle.accept()

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "mail"]


async def test_setting_a_drifted_message_aside_makes_it_a_dead_letter(place: Place) -> None:
    handle, ran = await stopped(place, ["charge"], ["bill"])

    await handle.set_aside(by="ada")
    await until(lambda: handle.dead_letters)

    (letter,) = handle.dead_letters
    assert (letter.seq, letter.error) == (1, "its steps are other ones now; ada set it aside")
    await handle.cast(5)
    assert await handle.until(lambda state: state == 5) == 5
    assert ran == ["charge", "bill"]


async def test_the_caller_of_a_drifted_message_that_is_set_aside_hears_of_it(place: Place) -> None:
    def asks(name: str, *, hang: bool) -> Any:
        @durable(key="asks:{id}", name="asks")
        async def body(ctx, id: str):
            yield 0
            async for message in ctx:
                match message:
                    case Call(_, reply):
                        await ctx.step(name, lambda: 1)
                        if hang:
                            await asyncio.Event().wait()
                        reply(1)

        return body

    bench = await place.open(asks("charge", hang=True))
    lost = bench.lookup("asks", id="a").call("go", id="1")
    await until(lambda: [entry for entry in bench.store.history_now("asks:a") if entry.kind == "step"])
    await place.crash(bench)
    lost.cancel()
    bench = await place.open(asks("bill", hang=False))
    handle = bench.lookup("asks", id="a")
    with pytest.raises(Drift):
        await handle.call("go", id="1")

    await handle.set_aside()

    with pytest.raises(DeadLettered, match="its steps are other ones now"):
        await handle.call("go", id="1")


async def test_of_two_hosts_that_choose_at_once_one_does(place: Place) -> None:
    handle, _ = await stopped(place, ["charge"], ["bill"])
    desk = await place.open(worker=False)

    ends = await asyncio.gather(
        handle.accept(by="ada"), desk.resolve("shop:a", "set aside", by="bo"), return_exceptions=True
    )

    (refused,) = [end for end in ends if end is not None]
    assert isinstance(refused, AlreadyDecided)
    assert (refused.status, refused.by) in (("accepted", "ada"), ("set aside", "bo"))
    assert str(refused).startswith(f"the drift of 'shop:a' is already {refused.status}, by {refused.by}")


async def test_another_host_acts_on_a_choice_of_a_bench_that_runs_nothing(place: Place) -> None:
    handle, ran = await stopped(place, ["charge"], ["bill"])
    desk = await place.open(worker=False)

    await desk.resolve("shop:a", "started over")
    await settle()
    await place.clock.advance(3)
    await until(lambda: handle.state == 1)

    assert ran == ["charge", "bill"]


async def test_there_is_nothing_to_choose_where_nothing_drifted(place: Place) -> None:
    handle, _ = await stopped(place, ["charge"], ["bill"])
    await handle.accept()
    await handle.until(lambda state: state == 1)
    await until(lambda: handle.unacked == 0)

    for refused in (handle.accept(), place.benches[-1].resolve("shop:b", "accepted")):
        with pytest.raises(NoCode, match="asks for other steps than it has; there is nothing to choose"):
            await refused
    with pytest.raises(BadInput, match="'explode' is no choice about a drift; there are started over, accepted"):
        await place.benches[-1].resolve("shop:a", "explode")


async def test_code_that_comes_back_needs_no_choice(place: Place) -> None:
    handle, ran = await stopped(place, ["charge"], ["bill"])

    place.benches[-1].add(shop(steps(ran, "charge", "mail")))
    await until(lambda: handle.state == 1)

    assert (ran, place.benches[-1].blocked) == (["charge", "mail"], {})


async def test_the_inspector_offers_the_choices(place: Place) -> None:
    handle, _ = await stopped(place, ["charge"], ["bill"])
    source = handle.source()
    labels = [action["label"] for action in source.view()["actions"]]

    await source.command("accept", {})

    assert labels == ["Kill", "Recover", "Start over", "Accept", "Set aside"]
    assert await handle.until(lambda state: state == 1) == 1
    assert [action["label"] for action in source.view()["actions"]] == ["Kill"]


async def test_a_requeued_message_does_not_get_back_what_was_replaced(place: Place) -> None:
    handle, ran = await stopped(place, ["charge"], ["bill", "fail"])

    async def failing(ctx: Any) -> None:
        await ctx.step("bill", lambda: ran.append("bill"))
        if len(ran) < 3:
            raise ValueError("broken on purpose")
        await ctx.step("charge", lambda: ran.append("charge"))

    place.benches[-1].add(shop(failing, max_attempts=1))
    await until(lambda: len(handle._runtime.store.activations_now("shop:a")) == 3 and handle.status == "crashed")
    await handle.start_over()
    await until(lambda: handle.dead_letters)
    ran.append("mended")
    await handle.dead_letters.requeue(handle.dead_letters[0].id)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "bill", "mended", "charge"]
