"""Killed again and again: what waits for a person is never given up, what takes the kernel down with it is."""

from __future__ import annotations

from pathlib import Path

from lives import kill_program_at, killed_at, left, lines, run_program, told


def test_ten_kills_while_an_approval_waits_lose_nothing(tmp_path: Path) -> None:
    for _ in range(10):
        kill_program_at(tmp_path, "run_life", "asked")

    assert run_program(tmp_path, "run_life") == 0

    end = left(tmp_path)
    assert end["state"]["status"] == "completed"
    assert len(lines(tmp_path / "requests")) == 11
    assert len(set(lines(tmp_path / "requests"))) == 1
    assert set(end["effects"].values()) == {1}
    assert end["turns"] == [0, 1, 2]


def test_three_calls_that_ask_at_once_are_each_decided_and_run_once_after_a_kill(tmp_path: Path) -> None:
    kill_program_at(tmp_path, "three_life", "three")

    assert run_program(tmp_path, "three_life") == 0

    end = left(tmp_path)
    assert end["effects"] == {f"cancel run:r1#1#t1.{position}": 1 for position in range(3)}
    assert (end["state"], end["turns"]) == ("All gone.", [0, 1])
    requests = lines(tmp_path / "requests")
    assert len(set(requests)) == 3
    assert set(requests[:3]) == set(requests[3:])


def test_a_message_that_takes_the_process_down_is_set_aside_after_three_deaths(tmp_path: Path) -> None:
    deaths = [run_program(tmp_path, "fuse_life") for _ in range(3)]

    assert deaths == [1, 1, 1]
    assert run_program(tmp_path, "fuse_life") == 0
    end = left(tmp_path)
    assert end["effects"]["burn bad"] == 3
    assert end["dead"] == [[1, "burn", "its host died while it was handled, 3 times"]]
    assert end["state"] == ["after"]


def test_a_step_that_has_its_process_killed_is_set_aside_after_three_deaths(tmp_path: Path) -> None:
    deaths = [run_program(tmp_path, "mill_life") for _ in range(3)]

    assert deaths == [-9, -9, -9]
    assert run_program(tmp_path, "mill_life") == 0
    end = left(tmp_path)
    assert end["effects"] == {"crush mill:a#1##crush#0": 3}
    assert end["dead"] == [1, "crush", "its host died while it was handled, 3 times", 3]
    assert end["state"] == ["after"]


def test_ten_kills_of_what_is_at_rest_set_nothing_aside(tmp_path: Path) -> None:
    for _ in range(10):
        kill_program_at(tmp_path, "rest_life", "resting")

    assert run_program(tmp_path, "rest_life") == 0

    end = left(tmp_path)
    assert end["dead"] == 0
    assert "attempt" not in end["kinds"]
    assert {"sleep", "try", "wait"} <= set(end["kinds"])


async def test_a_call_cut_after_its_effect_is_interrupted_and_the_model_is_told(tmp_path: Path) -> None:
    await killed_at(tmp_path, "ship_life", "inside-ship")

    end = await told(tmp_path, "ship_life")

    assert end["effects"] == {"ship run:r1#1#t1.0": 1}
    assert end["call"]["status"] == "interrupted"
    assert end["call"]["note"] == "the model was told"
    assert "may or may not have happened" in end["call"]["result"]
    assert "may or may not have happened" in end["state"]
