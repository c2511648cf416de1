"""Decides the verdict on a checked mode (holds, refuted or undecided) and words it.

It also says how a theorem was decided, and within which bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.report.results import NOT_FOUND
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.checks.coverage import Reached
    from proofs.checks.results import Sound
    from proofs.report.results import Check, Consistent

__all__ = ["FAR", "by", "exit_code", "how", "refuting", "sentence", "undecided", "verdict"]

FAR = "for runs of every length and any number of blocks"
"""How far a proof goes."""

_ENGINES = {
    "search": "bounded search",
    "recorded": "recorded invariant",
    "spacer": "Spacer",
}


def exit_code(checks: list[Check]) -> int:
    """0 if every mode holds, 1 if one is refuted, 3 otherwise, also when nothing was checked.

    A mode holds if its witness exists, its theorem is proved, and every other check that ran
    succeeds. It is also refuted if a lemma fails, if no run compares a clause, or if an obligation
    is redundant or needed contrary to `proofs.checks.redundancy`. A gap in the paper's bundle is a
    failure only if that is the bundle being checked.
    """
    verdicts = set(map(verdict, checks))
    if "refuted" in verdicts:
        return 1
    return 0 if verdicts == {"holds"} else 3


def verdict(check: Check) -> str:
    """`holds`, `refuted` or `undecided`."""
    if refuting(check):
        return "refuted"
    return "undecided" if undecided(check) else "holds"


def sentence(check: Check) -> str:
    """The verdict with its scope, or with the reasons for it."""
    said = verdict(check)
    head = f"{said}: {check.mode}, {check.bundle} bundle"
    if said == "holds":
        number = len(check.sound.clauses)
        clauses = f"all {number} clauses" if number > 1 else "the one clause"
        obligations = counted(len(check.obligations), "obligation")
        return f"{head}. Its {obligations} imply {clauses} of the theorem, {FAR}."
    why = refuting(check) or undecided(check)
    return f"{head}. {'; '.join(why)[:1].upper()}{'; '.join(why)[1:]}."


def refuting(check: Check) -> list[str]:
    """Every reason why the mode is refuted."""
    why, reached = [], check.consistent.reached
    why += [
        each.says
        if each.name == "runs"
        else f"a check of the statement fails, {each.name}: {each.says}"
        for each in check.statement
        if each.result == "failed"
    ]
    if check.sound.result == "refuted":
        why.append(_broken(check))
    if check.receptive is not None and check.receptive.result == "refuted":
        why.append(
            f"a runtime cannot always keep the obligations: {', '.join(check.receptive.failed)}"
        )
    why += [
        f"the lemma {lemma.name} fails, and the theorem depends on it"
        for lemma in check.lemmas
        if lemma.result == "failed"
    ]
    if reached is not None and reached.uncompared and reached.complete:
        why.append(_uncompared(reached))
    where = "proofs/checks/redundancy.py"
    why += [
        f"the obligation {name} is redundant, and {where} does not list it"
        for name in check.redundancy.unasked
    ]
    why += [
        f"the obligation {name} is necessary, and {where} lists it as redundant"
        for name in check.redundancy.needed
    ]
    return why


def undecided(check: Check) -> list[str]:
    """Every check whose result is neither shown nor refuted."""
    why = [] if check.sound.result in ("proved", "refuted") else [_how_far(check.sound)]
    why += [
        f"a check of the statement is undecided: {each.name}"
        for each in check.statement
        if each.result not in ("proved", "failed")
    ]
    why += [
        f"the lemma {lemma.name} is neither proved nor refuted"
        for lemma in check.lemmas
        if lemma.result not in ("proved", "failed")
    ]
    why += _not_seen(check.consistent)
    if check.receptive is not None and check.receptive.result not in ("proved", "refuted"):
        why.append("whether a runtime can always keep the obligations is unknown")
    why += [
        f"whether the obligation {name} is necessary is unknown: the work limit was reached"
        for name in check.redundancy.undecided
    ]
    return why


def by(sound: Sound) -> str:
    """The engine that answered, and what was checked again."""
    if sound.result != "proved":
        return _ENGINES[sound.engine]
    found = "a recorded invariant" if sound.engine == "recorded" else "an invariant of Spacer"
    return f"{found}, checked again by plain Z3"


def how(sound: Sound) -> str:
    """The text after "Sound: RESULT, "."""
    by = f"{_ENGINES[sound.engine]}, {sound.seconds:.1f} s"
    reason = f": {sound.reason}" if sound.reason else ""
    match sound.result:
        case "proved":
            checked = "the invariant was checked again by plain Z3: initiation, consecution"
            checked += ", implication"
            return (
                "for runs of every length and any number of blocks, what is tracked among "
                f"arbitrary others ({by}; {checked}). Clauses (the auditor reads only reports):"
            )
        case "bounded":
            return f"not proved: {_how_far(sound)} ({by}{reason}):"
        case "refuted":
            return f"the obligations do not imply every clause ({by}{reason}):"
    return f"neither proved nor refuted ({by}{reason}):"


def _broken(check: Check) -> str:
    sound, obligations = check.sound, counted(len(check.obligations), "obligation")
    if not sound.story:
        reason = f" ({sound.reason})" if sound.reason else ""
        return f"some run keeps all {obligations} and breaks a clause{reason}"
    length = counted(len(sound.story), "event")
    return f"a run of {length} keeps all {obligations} and breaks {' and '.join(sound.failed)}"


def _how_far(sound: Sound) -> str:
    if sound.result == "bounded":
        length = "any length" if sound.bound is None else f"up to {counted(sound.bound, 'event')}"
        return (
            f"no run of {length}, with counts of blocks up to {sound.blocks}, "
            "breaks a clause; nothing is known beyond these bounds"
        )
    reason = f" ({sound.reason})" if sound.reason else ""
    return f"the theorem is neither proved nor refuted{reason}"


def _not_seen(found: Consistent) -> Iterator[str]:
    """Goals that no run was found for."""
    depth = counted(found.depth, "event")
    if found.result == NOT_FOUND:
        yield (
            f"no witness was found: no run of up to {depth} exercises and satisfies every "
            "obligation; increase --depth"
        )
    elif found.result != "witnessed":
        yield f"the work limit was reached after {depth}, and no witness was found"
    for scenario in found.scenarios or ():
        if scenario.result == NOT_FOUND:
            length = counted(scenario.depth, "event")
            yield f"no run of up to {length} has the scenario {scenario.story}"
        elif scenario.result != "found":
            yield f"whether a run has the scenario {scenario.story} is unknown"
    reached = found.reached
    if reached is None:
        return
    unexplained = [*reached.missing, *(name for name, why in reached.dead.items() if not why)]
    if unexplained:
        yield f"no run reaches {', '.join(unexplained)}, and no reason is known"
    if not reached.complete:
        yield f"coverage is known up to {counted(reached.depth, 'event')} only"
        if reached.uncompared:
            yield _uncompared(reached)


def _uncompared(reached: Reached) -> str:
    depth = counted(reached.depth, "event")
    return f"no run of up to {depth} compares {', '.join(reached.uncompared)}"
