"""Streams that somebody made to fool the monitor, each with the exit code that it must get."""

from pathlib import Path

import pytest

from monitor.__main__ import main

FOLDER = Path(__file__).parent / "hostile"

DUE = {
    "beside_a_claim_whose_duration_is_over": ("hard_protected", 0),
    "blamed_after_its_duration": ("hard_protected", 1),
    "beside_a_claim_whose_end_is_unseen": ("hard_protected", 3),
    "blamed_and_its_end_is_unseen": ("hard_protected", 3),
    "fits_beside_a_claim_whose_end_is_unseen": ("hard_protected", 3),
    "committed_without_a_time": ("expiring", 3),
    "over_too_soon_and_never_committed": ("best_effort", 3),
    "cached_again_after_a_strange_block_went": ("soft_priority", 3),
    "a_copy_of_the_lower_went_too": ("soft_priority", 3),
    "the_rest_of_the_object_went": ("soft_priority", 0),
    "the_rest_of_the_object_went_from_its_place": ("soft_priority", 0),
    "the_rest_of_the_object_and_a_block_of_its_own_went": ("soft_priority", 1),
    "recomputed_after_an_empty_load": ("offloadable", 1),
    "retired_under_another_object": ("hard_protected", 1),
    "named_twice_before_it_was_known": ("offloadable", 0),
    "expired_under_another_object": ("expiring", 1),
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
    "accepted_for_longer_than_asked": ("expiring", 1),
    "evicted_after_its_release": ("best_effort", 0),
    "a_second_load_in_silence": ("offloadable", 1),
    "a_load_of_a_part_in_silence": ("offloadable", 1),
    "refused_and_computed": ("offloadable", 1),
    "loaded_under_another_claim_in_silence": ("offloadable", 1),
    "loaded_for_a_request_that_ended_in_silence": ("offloadable", 1),
    "prefetched_in_silence": ("offloadable", 1),
    "refused_for_nothing_with_an_outcome": ("offloadable", 1),
    "loaded_after_a_short_prompt_in_silence": ("offloadable", 1),
    "restored_after_a_short_prompt": ("offloadable", 0),
    "restored_after_another_computed_what_they_share": ("offloadable", 0),
    "one_restore_fails_and_another_comes": ("offloadable", 0),
    "harmed_while_restoring": ("offloadable", 3),
    "one_load_for_two_claims_of_one_object": ("offloadable", 0),
    "one_load_for_two_claims_of_one_content": ("offloadable", 0),
    "a_load_in_flight_when_its_claim_ends": ("offloadable", 0),
    "a_low_victim_beside_a_high_one": ("soft_priority", 3),
    "routed_before_it_arrived": ("routed_reuse", 0),
    "routed_after_the_end": ("routed_reuse", 0),
    "prefetched_and_told": ("offloadable", 0),
    "loaded_for_a_request_that_ended_and_told": ("offloadable", 0),
    "there_for_the_first_time_by_a_load": ("offloadable", 0),
    "offloaded_before_it_was_claimed": ("offloadable", 0),
    "offloaded_before_it_was_claimed_and_loaded_in_silence": ("offloadable", 1),
    "told_of_one_claim_of_two": ("offloadable", 1),
    "one_half_loaded_in_silence": ("offloadable", 1),
    "restored_after_a_failure": ("offloadable", 0),
    "told_once_for_two": ("offloadable", 0),
    "one_failure_for_two": ("offloadable", 0),
    "required_after_the_load": ("offloadable", 0),
    "a_loss_after_the_end_is_told": ("soft_priority", 0),
    "one_eviction_told_block_by_block": ("soft_priority", 0),
    "routed_after_the_withdrawal_and_told": ("routed_reuse", 0),
    "a_loss_after_the_withdrawal_is_told": ("soft_priority", 0),
    "a_loss_is_told_of_the_block_and_of_the_claim": ("soft_priority", 0),
    "computed_by_a_request_that_had_ended": ("offloadable", 3),
    "withdrawn_between_route_and_reuse": ("routed_reuse", 0),
    "one_failure_for_two_that_recompute": ("offloadable", 0),
    "unmaterialized_then_a_loss_after_the_end": ("soft_priority", 0),
    "unmaterialized_after_the_end": ("soft_priority", 0),
    "unmaterialized_after_the_withdrawal": ("routed_reuse", 0),
    "materialized_after_the_withdrawal": ("routed_reuse", 0),
    "rerouted_after_the_end_and_told": ("routed_reuse", 0),
    "served_twice_across_the_end": ("routed_reuse", 0),
    "restored_while_one_that_was_served_goes_on": ("offloadable", 0),
    "restored_while_one_that_was_refused_goes_on": ("offloadable", 0),
    "refused_for_the_failure_of_another_after_a_restore": ("offloadable", 1),
    "harm_stated_for_the_failure_of_another_after_a_restore": ("offloadable", 1),
    "restored_for_another_then_recomputed": ("offloadable", 1),
    "restored_then_recomputed": ("offloadable", 1),
    "refusal_stated_for_the_failure_of_another_and_served": ("offloadable", 1),
    "harm_stated_for_the_failure_of_another_and_never_told": ("offloadable", 1),
    "refused_for_a_failure_after_another_computed_all": ("offloadable", 1),
    "a_second_load_fails_when_the_first_brought_all": ("offloadable", 0),
    "asked_for_and_computed_after_harm": ("offloadable", 0),
    "asked_for_after_the_harm_of_another": ("offloadable", 0),
    "computed_again_after_harm": ("offloadable", 1),
    "harmed_after_a_restore_and_computed": ("offloadable", 0),
    "refused_and_served_another_claim": ("offloadable", 1),
    "a_load_that_fails_after_the_end_is_told": ("offloadable", 0),
    "arrives_twice_after_a_failed_restore": ("offloadable", 3),
    "deferred_and_never_arrived": ("hard_protected", 3),
    "harmed_and_refused_and_served": ("offloadable", 1),
    "refused_and_another_load_fails_and_served": ("offloadable", 1),
    "harmed_and_back_for_another_then_computed": ("offloadable", 1),
    "harmed_and_computed_by_another_then_computed": ("offloadable", 1),
    "harmed_while_there_then_computed": ("offloadable", 1),
    "restored_and_harmed_for_another_then_reused": ("offloadable", 0),
    "required_after_harm_and_computed": ("offloadable", 0),
    "required_twice_after_harm_and_computed": ("offloadable", 0),
    "expired_after_its_entry_ended_too_soon": ("expiring", 1),
    "over_before_its_commitment_and_then_in_silence": ("expiring", 1),
    "over_before_its_commitment_and_expired_at_once": ("expiring", 1),
    "over_by_a_line_without_a_time": ("expiring", 3),
    "registered_again_after_its_owner_withdrew_it": ("best_effort", 3),
    "restored_after_harm_and_reused": ("offloadable", 0),
    "computed_after_a_load_ended_what_harm_excused": ("offloadable", 1),
    "required_after_harm_and_given_up": ("offloadable", 0),
    "told_of_a_block_that_was_not_lost": ("soft_priority", 1),
    "overwritten_by_another_claim": ("hard_protected", 3),
    "a_load_that_fails_before_its_request_arrives": ("offloadable", 0),
    "a_load_that_fails_before_a_second_request_arrives": ("offloadable", 3),
    "a_second_request_whose_load_failed_in_silence": ("offloadable", 1),
    "a_second_request_routed_before_it_arrives": ("routed_reuse", 0),
    "a_second_request_routed_in_silence": ("routed_reuse", 1),
}


def code(name: str, mode: str) -> int:
    """The exit code of `check`."""
    return main(["check", str(FOLDER / f"{name}.jsonl"), "--mode", mode])


@pytest.mark.slow
@pytest.mark.parametrize("name", DUE)
def test_due(name: str) -> None:
    """The judge gives the exit code that is due."""
    mode, due = DUE[name]
    assert due == code(name, mode)


def test_all() -> None:
    """Each stream of the folder is in one of the tables."""
    assert DUE.keys() == {file.stem for file in FOLDER.iterdir()}
