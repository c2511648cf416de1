"""Streams that somebody made to fool the monitor, each with the exit code that it must get."""

from pathlib import Path

import pytest

from monitor.__main__ import main

FOLDER = Path(__file__).parent / "hostile"

DUE = {
    "recomputed_after_an_empty_load": ("offloadable", 1),
    "half_computed_by_another": ("offloadable", 1),
    "recomputed_after_a_load_was_evicted": ("offloadable", 1),
    "dropped_early_and_expired_late": ("expiring", 1),
    "dropped_a_nanosecond_early": ("expiring", 1),
    "two_wait_for_one_load": ("offloadable", 0),
    "restored_for_another_in_silence": ("offloadable", 1),
    "refused_for_a_restore_that_did_not_fail": ("offloadable", 1),
    "offloaded_without_a_copy": ("offloadable", 1),
    "given_up_while_restoring": ("offloadable", 0),
    "routed_twice_and_told_once": ("routed_reuse", 1),
    "served_twice_and_told_once": ("routed_reuse", 1),
    "rerouted_and_both_told": ("routed_reuse", 0),
    "accepted_for_longer_than_asked": ("expiring", 3),
    "evicted_after_its_release": ("best_effort", 0),
}


def codes(name: str, mode: str) -> list[int]:
    """The exit codes, with and without --reference."""
    file = str(FOLDER / f"{name}.jsonl")
    return [main(["check", *form, file, "--mode", mode]) for form in ([], ["--reference"])]


@pytest.mark.parametrize("name", DUE)
def test_due(name: str) -> None:
    """Both judges give the exit code that is due."""
    mode, due = DUE[name]
    assert [due, due] == codes(name, mode)


def test_all() -> None:
    """Each stream of the folder is in the table."""
    assert {*DUE} == {file.stem for file in FOLDER.iterdir()}
