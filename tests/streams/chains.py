"""The stories in order, and chains of them: what follows from what."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from spec.events.alphabet import CONFLICT_ACTIONS
from spec.events.canonical import EVENT_ENCODER
from tests.streams.stories import (
    Story,
    accepted,
    accepted_only_in_words,
    another_block_told,
    arrives,
    block_lost_told,
    cached,
    committed,
    computed,
    conflict_ended,
    copy_found,
    copy_lost,
    deferred,
    demoted,
    demoted_aloud_only,
    dropped,
    echoed,
    elapsed,
    evicted,
    evicted_whatever,
    expired,
    failure_answered,
    failure_smeared,
    fallback,
    filled,
    finishes,
    fits,
    found_in_cache,
    harm_stated,
    harmed,
    hit_told,
    load_failed,
    loaded,
    looked_up,
    looked_up_somehow,
    materialized,
    misnamed,
    miss_told,
    misstated,
    offloaded,
    offloaded_in_words,
    passed_over,
    rebound,
    recomputed,
    refusal_stated,
    refused,
    refused_for_it,
    refused_to_another,
    refused_wrongly,
    registered,
    registered_for_a_time,
    rejected,
    released_by_a_stranger,
    required,
    required_by_another,
    reroute_told,
    rerouted,
    reset,
    restored,
    retired,
    reused,
    reused_by_another,
    route_told,
    route_told_wrongly,
    routed,
    served,
    served_again,
    thinned,
    timed,
    turned_away,
    turned_down,
    unmaterialized,
    wiped,
    withdrawn,
)

__all__ = ["ACTIONS", "CHAINS", "STORIES"]

STORIES: Final[tuple[Story, ...]] = (
    *(
        registered,
        accepted,
        misstated,
        committed,
        accepted_only_in_words,
        rejected,
        turned_down,
        cached,
        materialized,
    ),
    *(
        filled,
        thinned,
        evicted,
        reset,
        wiped,
        unmaterialized,
        harmed,
        block_lost_told,
        another_block_told,
        demoted,
        demoted_aloud_only,
    ),
    *(released_by_a_stranger, retired, elapsed, expired, arrives, fits, finishes, refused),
    *(
        refused_wrongly,
        deferred,
        turned_away,
        conflict_ended,
        offloaded,
        required,
        loaded,
        restored,
    ),
    *(recomputed, reused, load_failed, failure_answered, failure_smeared, fallback, echoed),
    *(copy_lost, routed, route_told, route_told_wrongly, served, hit_told, misnamed, rebound),
    *(timed, registered_for_a_time, computed, found_in_cache, copy_found, looked_up_somehow),
    *(evicted_whatever, passed_over, withdrawn, dropped, refusal_stated, harm_stated),
    *(refused_for_it, offloaded_in_words, rerouted, reroute_told, served_again, miss_told),
    *(required_by_another, reused_by_another, refused_to_another),
)
ACTIONS: Final = tuple(sorted(CONFLICT_ACTIONS))

_held: tuple[Story, ...] = (accepted, filled)
_timed: tuple[Story, ...] = (timed, filled)
_copied: tuple[Story, ...] = (*_held, offloaded)
_away: tuple[Story, ...] = (*_copied, evicted, required)
_routed: tuple[Story, ...] = (registered, filled, routed)
CHAINS: Final[tuple[tuple[Story, ...], ...]] = (
    *((accepted,), (committed, fits, cached, finishes), (accepted_only_in_words,)),
    *((committed, evicted), (committed, cached, offloaded), (committed, offloaded)),
    *((accepted, harmed), (misstated,), (rejected,), (registered, materialized)),
    *((committed, turned_down), (accepted, committed), (*_timed, elapsed, demoted)),
    *((registered, fits, cached, finishes), (registered, cached, evicted)),
    *((registered, filled, harmed), (registered, withdrawn), (committed, withdrawn)),
    *((*_held, unmaterialized), (*_held, misnamed), (*_held, rebound), (accepted, cached, reset)),
    *((*_held, reset, harmed, filled), (*_held, reset, cached), (*_held, evicted, unmaterialized)),
    *((registered, filled, evicted, unmaterialized, filled), (registered, filled, thinned)),
    *((registered, filled, evicted_whatever), (registered, filled, passed_over)),
    *((*_held, demoted, evicted), (*_held, demoted_aloud_only), (*_held, retired, materialized)),
    *((*_held, released_by_a_stranger), (*_held, retired, arrives, finishes), (*_held, retired)),
    *((*_held, withdrawn), (*_held, dropped)),
    *((*_timed, expired, evicted), (*_timed, elapsed, evicted), (*_timed, expired, materialized)),
    *((*_held, elapsed), (registered_for_a_time, filled, elapsed, retired, evicted)),
    *((*_held, conflict_ended), (*_held, refused, refused_wrongly), (*_held, arrives, finishes)),
    *((*_held, refused, fits, finishes), (*_held, fits, deferred, finishes)),
    *((*_held, conflict_ended, fits, deferred, finishes), (*_held, arrives, demoted, finishes)),
    *((*_held, refused, finishes, fits, finishes), (*_held, finishes)),
    *(
        (*_held, arrives, deferred, finishes),
        (*_held, arrives, looked_up, deferred, demoted, finishes),
    ),
    *((*_held, fits, looked_up, finishes), (*_held, fits, looked_up_somehow, finishes)),
    *((*_away, turned_away, finishes), (*_away, demoted, finishes)),
    *((*_held, arrives, retired, finishes), (*_held, arrives, evicted, finishes)),
    *((*_away, loaded, restored, reused, finishes), (*_away, loaded, reused, finishes)),
    *((*_away, reused, finishes), (*_away, finishes), (*_away, recomputed), (*_away, restored)),
    *((*_away, computed, reused, finishes), (*_away, computed, finishes)),
    *((*_away, found_in_cache, reused, finishes), (*_held, evicted, copy_found)),
    *((*_held, offloaded, loaded, restored), (*_held, evicted), (*_away, copy_lost, finishes)),
    *((*_away, load_failed, failure_answered, finishes), (*_away, load_failed, harmed, finishes)),
    *((*_away, load_failed, failure_answered, computed), (*_away, load_failed, refusal_stated)),
    *((*_away, load_failed, harm_stated, harmed, finishes), (*_away, load_failed, harm_stated)),
    *((*_copied, required, load_failed, harmed), (*_copied, reset, loaded, reset, harmed, harmed)),
    *((*_copied, required, load_failed, harm_stated, harmed), (*_held, demoted, accepted)),
    (*_away, load_failed, refused_for_it, finishes),
    (*_copied, reset, harmed, required, load_failed, harm_stated, computed, harmed),
    (*_away, required_by_another, loaded, restored, reused_by_another, reused, finishes),
    (*_away, required_by_another, load_failed, refused_for_it, refused_to_another, finishes),
    (*_away, required_by_another, load_failed, harmed, loaded, refused_to_another),
    *((*_held, offloaded, required, restored), (*_held, offloaded, required, finishes)),
    (registered, filled, thinned, block_lost_told, unmaterialized),
    (registered, filled, passed_over, another_block_told),
    (*_copied, copy_lost, reset, loaded, reset, harmed, harmed),
    *((*_away, load_failed, computed), (*_away, load_failed, refusal_stated, reused, finishes)),
    *((*_away, load_failed, failure_smeared, finishes), (*_away, load_failed, fallback, finishes)),
    *((*_away, load_failed, echoed, finishes), (*_away, fallback), (*_away, load_failed, demoted)),
    *((*_routed, route_told, served, hit_told, finishes), (*_routed, finishes)),
    *((*_routed, route_told_wrongly), (*_routed, served, finishes)),
    *((*_routed, route_told, route_told_wrongly), (registered, fits, route_told_wrongly)),
    *((*_routed, served, hit_told, miss_told), (*_routed, served, served_again, miss_told)),
    *((*_routed, rerouted, reroute_told), (*_routed, rerouted, route_told, finishes)),
    (*_routed, rerouted, route_told, reroute_told, finishes),
    (*_routed, served, served_again, hit_told, miss_told, finishes),
    *((*_held, offloaded_in_words), (*_copied, evicted, fits, looked_up, computed)),
    *((*_away, loaded, finishes, fits, reused), (*_away, finishes, fits, looked_up, computed)),
    *((*_away, loaded, finishes, restored, fits, reused), (*_away, finishes, loaded, restored)),
    *((*_away, refused_for_it), (*_held, fits, refused_for_it, finishes)),
    *((*_away, loaded, restored, evicted, loaded, reused), (*_away, turned_away, computed)),
    (registered, routed, fits, route_told, served, hit_told, finishes),
    (registered, committed, retired, withdrawn, routed, served, route_told, finishes),
    (registered, committed, cached, materialized, retired, withdrawn, evicted),
    (registered, committed, cached, materialized, retired, committed),
)
"""Stories that follow from each other; every stream starts from one of them."""


def trace() -> bytes:
    """The chains as a trace, each a stream of its own; without one that no trace can state."""
    lines = []
    for number, chain in enumerate(CHAINS):
        if rebound not in chain:  # a lookup that names no request is bad input
            events = [event for story in chain for event in story("claim:a", "request:1")]
            for sequence, event in enumerate(events):
                stamped = replace(event, stream=f"scenario-{number}", sequence=sequence)
                lines.append(EVENT_ENCODER.encode(stamped) + b"\n")
    return b"".join(lines)
