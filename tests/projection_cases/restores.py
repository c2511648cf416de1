"""Claims that are away in the offload tier: how they come back, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import arrives, begun, event, finishes, lines, refused

__all__ = [
    "away",
    "restores",
    "restores_after_harm",
    "restores_again",
    "restores_by_halves",
    "restores_for_two",
    "restores_misreported",
]

_PLACES: Final = {"block_ids": (30, 31), "positions": (0, 1)}
_HALF: Final = {"block_ids": (30,), "positions": (0,)}


def _needed(name: str, request: str) -> Event:
    return event(Kind.CLAIM_RESTORE_REQUIRED, name, request_id=request)


def _failed(name: str, request: str) -> Event:
    return event(Kind.LOAD_FAILED, name, request_id=request)


def _loaded(name: str, request: str) -> Event:
    return event(Kind.LOAD_FINISHED, name, request_id=request, **_PLACES)


def _restored(name: str, request: str, *, from_tier: bool = True) -> Event:
    return event(Kind.CLAIM_RESTORED, name, request_id=request, from_tier=from_tier)


def away(name: str, block: int, mode: Mode) -> list[Event]:
    """A claim that is stored and evicted; where its mode does not allow that, one that was stored
    before it was claimed."""
    claim = begun(name, mode, block=block)
    if mode is not Mode.OFFLOADABLE:
        return [*claim[:3], event(Kind.HOST_COPY_FOUND, name)]
    gone = event(Kind.BLOCK_EVICTED, block_ids=(block, block + 1))
    return [*claim, event(Kind.STORE_FINISHED, name), gone, event(Kind.CLAIM_OFFLOADED, name)]


def _fates() -> dict[str, list[Event]]:
    """What becomes of the load."""
    half = event(Kind.LOAD_FINISHED, "a", request_id="r", **_HALF)
    return {
        "nothing is loaded": [],
        "the load fails": [_failed("a", "r")],
        "two loads fail": [_failed("a", "r"), _failed("a", "r")],
        "it is loaded": [_loaded("a", "r")],
        "half is loaded": [half],
        "something is loaded": [event(Kind.LOAD_FINISHED, "a", request_id="r")],
        "something of the object is loaded": [
            event(Kind.LOAD_FINISHED, object_id="object of a", request_id="r"),
        ],
        "it is loaded and evicted": [
            _loaded("a", "r"),
            event(Kind.BLOCK_EVICTED, block_ids=(30, 31)),
        ],
        "it is computed": [event(Kind.BLOCK_CACHED, "a", request_id="r", **_PLACES)],
        "the load fails and it is computed": [
            _failed("a", "r"),
            event(Kind.BLOCK_CACHED, "a", request_id="s", **_PLACES),
        ],
        "another computes it": [event(Kind.BLOCK_CACHED, "a", request_id="s", **_PLACES)],
        "nobody knows who computes it": [event(Kind.BLOCK_CACHED, "a", **_PLACES)],
    }


def _reports() -> dict[str, list[Event]]:
    """What is told of the load."""
    told: dict[str, list[Event]] = {"nothing is told": []}
    for from_tier in (True, False):
        said = _restored("a", "r", from_tier=from_tier)
        told[f"restored, {from_tier}, is told"] = [said]
    for outcome, name in (("refusal", "a"), ("harm", "a"), ("demotion", "b"), ("harm", None)):
        more = {"outcome": outcome, "outcome_claim_id": name}
        said = event(Kind.CLAIM_RESTORATION_FAILED, "a", request_id="r", **more)
        told[f"{outcome} of {name} is told"] = [said]
    for names in (("a",), ("b",), ()):
        more = {"outcome": "refusal", "outcome_claim_id": "a", "blocking_claim_ids": names}
        said = event(Kind.CLAIM_RESTORATION_FAILED, "a", request_id="r", **more)
        told[f"refusal of a for {names} is told"] = [said]
    return told


def _acts() -> dict[str, list[Event]]:
    """What becomes of the request."""
    done: dict[str, list[Event]] = {"it ends": []}
    for names in ((), ("a",), ("b",), ("a", "b")):
        done[f"it is refused for {names}"] = [refused("r", *names, restore=True)]
    reused = event(Kind.PREFIX_REUSED, "a", request_id="r")
    gone = event(Kind.BLOCK_EVICTED, block_ids=(30, 31))
    again = [_loaded("a", "r"), reused]
    done["it is refused for room"] = [refused("r", "a")]
    done["the claim is reused"] = [reused]
    done["the claim is loaded again and reused"] = again
    back = [gone, event(Kind.CLAIM_OFFLOADED, "a"), *again]
    done["the claim is evicted, loaded again and reused"] = back
    done["the claim is harmed and reused"] = [event(Kind.CLAIM_HARMED, "a"), reused]
    done["the claim is harmed"] = [event(Kind.CLAIM_HARMED, "a")]
    done["the claim is restored again"] = [_restored("a", "r")]
    return done


def restores(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """One request and one claim, beside a claim that is whole."""
    claims = [*away("a", 10, mode), *begun("b", mode, block=20)]
    needed = [arrives("r", 1), arrives("s", 1), _needed("a", "r")]
    every = product(_fates().items(), _reports().items(), _acts().items())
    for (fate, loads), (told, says), (act, ends) in every:
        name = f"{fate}, {told}, {act}"
        yield name, lines(*claims, *needed, *loads, *says, *ends, finishes("r"), finishes("s"))


def restores_for_two(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Two requests that wait for one claim, and one that waits for two claims."""
    a, b = away("a", 10, mode), away("b", 20, mode)
    first = [arrives("r", 1), arrives("s", 1)]
    ends = [finishes("r"), finishes("s")]
    fates = {"fails": _failed, "comes": _loaded}
    blame = event(Kind.CLAIM_RESTORATION_FAILED, "a", request_id="r", outcome="refusal")
    answers = {
        "told": [_restored("a", "r"), _restored("b", "r")],
        "refused for a": [refused("r", "a", restore=True)],
        "refused for both": [refused("r", "a", "b", restore=True)],
        "said to be refused": [blame, refused("r", "a", restore=True)],
        "not told": [],
    }
    uses = {
        "used by r": [event(Kind.PREFIX_REUSED, "a", request_id="r")],
        "used by s": [event(Kind.PREFIX_REUSED, "a", request_id="s")],
        "computed by s": [event(Kind.BLOCK_CACHED, "a", request_id="s", **_PLACES)],
        "not used": [],
    }
    for (one, fate), (other, then) in product(fates.items(), fates.items()):
        for (told, says), (act, used) in product(answers.items(), uses.items()):
            name = f"the first {one}, the second {other}, {told}, {act}"
            two = [_needed("a", "r"), _needed("b", "r"), fate("a", "r"), then("b", "r")]
            yield f"of two claims {name}", lines(*a, *b, *first, *two, *says, *used, *ends)
            waits = [_needed("a", "r"), _needed("a", "s"), fate("a", "r"), then("a", "s")]
            yield f"for two requests {name}", lines(*a, *first, *waits, *says, *used, *ends)
            late = [_needed("a", "r"), fate("a", "r"), _needed("a", "s"), then("a", "s")]
            yield f"one after another, {name}", lines(*a, *first, *late, *says, *used, *ends)


def restores_again(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A claim that is back for one request, and what is done and told of it after that."""
    loaded = [_needed("a", "s"), _loaded("a", "s"), _restored("a", "s")]
    back = [*away("a", 10, mode), arrives("r", 1), arrives("s", 1), *loaded]
    gone = event(Kind.BLOCK_EVICTED, block_ids=(30, 31))
    between = {
        "nothing": [],
        "evicted": [gone, event(Kind.CLAIM_OFFLOADED, "a")],
        "loaded again for s": [gone, _loaded("a", "s")],
        "loaded again for r": [gone, _loaded("a", "r")],
        "loaded again for another": [gone, _loaded("a", "t")],
        "loaded twice for s": [gone, _loaded("a", "s"), gone, _loaded("a", "s")],
        "failed for r": [_failed("a", "r")],
    }
    needs = {"asked for by r": [_needed("a", "r")], "not asked for": []}
    tells = {"told to r": [_restored("a", "r")], "told to s": [_restored("a", "s")], "not told": []}
    uses = {
        f"used by {name}": [event(Kind.PREFIX_REUSED, "a", request_id=name)] for name in ("r", "s")
    }
    every = product(
        between.items(), needs.items(), tells.items(), [("not used", []), *uses.items()]
    )
    for (change, first), (asked, needed), (told, says), (used, use) in every:
        ends = [finishes("s"), finishes("r")]
        name = f"{change}, {asked}, {told}, {used}"
        yield name, lines(*back, *first, *needed, *says, *use, *ends)
        if needed:
            yield f"asked before: {name}", lines(*back, *needed, *first, *says, *use, *ends)


def restores_after_harm(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A claim that is away and harmed, and a request that needs it: who brings it back, and what
    is done with it then."""
    harmed, needed = event(Kind.CLAIM_HARMED, "a"), _needed("a", "r")
    lost = event(Kind.HOST_COPY_LOST, "a")
    orders = {
        "needed, then harmed": [needed, lost, harmed],
        "harmed, then needed": [lost, harmed, needed],
        "harmed without a loss": [needed, harmed],
    }
    backs = {"it is loaded": [_loaded("a", "r")]}
    for name in ("r", "s", None):
        more = {} if name is None else {"request_id": name}
        backs[f"{name} computes it"] = [event(Kind.BLOCK_CACHED, "a", **more, **_PLACES)]
        first = event(Kind.BLOCK_CACHED, "a", **more, **_HALF)
        rest = event(Kind.BLOCK_CACHED, "a", **more, block_ids=(31,), positions=(1,))
        backs[f"{name} computes it by halves"] = [first, rest]
    used = event(Kind.PREFIX_REUSED, "a", request_id="s")
    thens = {
        "it is not reused": [],
        "it is reused": [used],
        "it is said to be restored": [_restored("a", "r"), used],
        "it is needed again": [_needed("a", "s"), used],
        "it is lost again": [event(Kind.BLOCK_EVICTED, block_ids=(30, 31)), harmed],
    }
    begins = [*away("a", 10, mode), arrives("r", 1), arrives("s", 1)]
    every = product(orders.items(), backs.items(), thens.items())
    for (order, harm), (back, came), (then, what) in every:
        ends = [finishes("r"), finishes("s")]
        yield f"{order}, {back}, {then}", lines(*begins, *harm, *came, *what, *ends)


def restores_misreported(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Of these, the ones in which a second load is told to nobody, or none is told to somebody."""
    for name, stream in restores_again(mode):
        silent = "loaded" in name and name.endswith("not told, used by s")
        if silent or ("nothing" in name and "asked for by r, told to r" in name):
            yield name, stream


def restores_by_halves(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Two blocks of three that the predicate needs come back one by one, loaded or computed."""
    claim = begun("a", mode, size=3, predicate="contiguous_range(1, 2)")
    begins = [
        *claim,
        event(Kind.STORE_FINISHED, "a"),
        event(Kind.BLOCK_EVICTED, block_ids=(10, 11, 12)),
        event(Kind.CLAIM_OFFLOADED, "a"),
        arrives("r", 1),
    ]
    steps: dict[str, list[Event]] = {"lost": [event(Kind.BLOCK_EVICTED, block_ids=(31, 32))]}
    for how, kind in (("loaded", Kind.LOAD_FINISHED), ("computed", Kind.BLOCK_CACHED)):
        for at in ((0,), (1,), (2,), (1, 2)):
            blocks = tuple(30 + position for position in at)
            placed = event(kind, "a", request_id="r", block_ids=blocks, positions=at)
            steps[f"{at} {how}"] = [placed]
    found = event(Kind.BLOCK_CACHED, "a", found=True, block_ids=(31,), positions=(1,))
    steps["(1,) found"] = [found]
    reused = event(Kind.PREFIX_REUSED, "a", request_id="r")
    for needed in ([], [_needed("a", "r")]):
        for some in product(steps.items(), repeat=3):
            name = ", ".join(step for step, _ in some)
            done = [each for _, events in some for each in events]
            end = [_restored("a", "r"), reused, finishes("r")]
            yield f"{name}, {len(needed)} needed", lines(*begins, *needed, *done, *end)
