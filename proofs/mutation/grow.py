"""`python -m proofs.mutation.grow [PLACE ...]`: adds runs that detect mutants no run detects yet.

Known runs are varied at random, from a fixed seed; variants that a faithful stream may contain are
tried. The solver is asked about the remaining mutants. Each run that detects one is minimised,
pinned and added to the file. An interrupted command resumes from the file.
"""

from __future__ import annotations

import random
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from proofs.engines.bounded.minimise import CARRIES
from proofs.mutation import pins
from proofs.mutation.campaign.run import PLACES, everything
from proofs.mutation.detection import of_changes
from proofs.mutation.detection.checks import CHECKS, forget
from proofs.mutation.detection.outcomes import rest_after, unchanged
from proofs.mutation.equivalence.of_changes import compare_change, shown_same
from proofs.mutation.equivalence.product import Compared, compare, difference, same_step
from proofs.mutation.mutants.rules import Mutant
from proofs.mutation.mutants.trusted import Change
from proofs.mutation.runs import judge
from proofs.mutation.runs.judge import alike, is_faithful, judged, received, trail
from proofs.mutation.runs.lines import RUNS, read_run, runs, usual, write_run
from spec.claims.states import Mode
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.files.writing import write_bytes
from spec.language.terms import Sort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from proofs.mutation.campaign.run import Tried

__all__ = ["grow", "settled", "simplest", "varied"]

ROUNDS, SIZE, LONGEST = 2, 1500, 10
_KINDS = tuple(Kind)
_WHOM = ("mine", "named", "here")


def varied(line: str, luck: random.Random) -> str:
    """A run with a few events removed, changed or inserted."""
    threshold, *words = line.split()
    if luck.random() < 0.1:
        threshold = str(luck.choice([1, 2, 3]))
    for _ in range(luck.choice([1, 1, 2, 2, 3])):
        how = luck.random()
        if how < 0.45:
            words.insert(luck.choice([len(words), luck.randrange(len(words) + 1)]), _word(luck))
        elif how < 0.6 and len(words) > 1:
            del words[luck.randrange(len(words))]
        elif how < 0.75:
            words = [*words[: luck.randrange(1, len(words) + 1)], _word(luck)]
        else:
            at = luck.randrange(len(words))
            words[at] = _otherwise(words[at], luck)
    return " ".join((threshold, *words[:LONGEST]))


def _word(luck: random.Random) -> str:
    word = str(luck.choice(_KINDS))
    for _ in range(luck.choice([0, 1, 1, 2, 3])):
        word = _otherwise(word, luck)
    return word


def _otherwise(word: str, luck: random.Random) -> str:
    """The event with another value in one of its fields."""
    name, *stated = word.split(":")
    fields = dict(field.split("=") for field in stated)
    plain = usual(Kind(name))
    carried = [f for f in CARRIES.get(Kind(name), ()) if f in EVENT_FIELDS]
    field = luck.choice((*carried, *carried, *_WHOM))
    if EVENT_FIELDS[field][0] is Sort.INT:
        fields[field] = str(luck.choice([0, 1, 1, 2, 2, 3]))
    else:
        fields[field] = str(1 - int(fields.get(field, plain[field])))
    if field == "mine" and luck.random() < 0.7:
        fields["named"] = fields["mine"]
    return ":".join((name, *(f"{f}={v}" for f, v in fields.items())))


def settled(line: str) -> str:
    """The run with the blocks of the other claims computed from the events before."""
    run, rest, events = read_run(line), 0, []
    for event in run.events:
        fields = {**event, "rest": rest}
        events.append((event["kind"], fields))
        rest = max(0, rest_after(fields))
    return write_run(run.threshold, events)


def simplest(line: str, distinguishes: Callable[[str], bool]) -> str:
    """A shorter run that still distinguishes, found by removing one part after another."""
    while True:
        shorter = (settled(each) for each in _shorter(line))
        found = next((s for s in shorter if len(s) < len(line) and distinguishes(s)), None)
        if found is None:
            return line
        line = found


def _shorter(line: str) -> Iterator[str]:
    threshold, *words = line.split()
    for at in range(len(words)) if len(words) > 1 else ():
        yield " ".join((threshold, *words[:at], *words[at + 1 :]))
    for at, word in enumerate(words):
        name, *fields = word.split(":")
        for number in range(len(fields)):
            less = ":".join((name, *fields[:number], *fields[number + 1 :]))
            yield " ".join((threshold, *words[:at], less, *words[at + 1 :]))
    if threshold != "1":
        yield " ".join(("1", *words))


def _possible(line: str) -> bool:
    """Whether in some mode a faithful stream contains the run, or all of it but its last event."""
    last = len(read_run(line).events)
    return any(unchanged().ends(mode, line) in {0, last} for mode in Mode)


def _distinguishes(tried: Tried, line: str) -> bool:
    """Whether a run would detect a change if it were pinned."""
    if isinstance(tried, Change):
        return of_changes.distinguishes(tried, line)
    if not isinstance(tried, Mutant) or tried.judge is None:
        return False
    constants = alike(tried.mode)
    if not is_faithful(constants, line):
        return False
    found = trail(tried.judge.verdicts(received(constants, line)))
    return found != trail(judged(constants, tried.original.name, line))


def _corpus(luck: random.Random) -> list[str]:
    known, found = list(runs()), dict[str, None]()
    while len(found) < SIZE:
        line = settled(varied(luck.choice(known), luck))
        if line not in runs() and _possible(line):
            found[line] = None
    return list(found)


def grow(place: str, say: Callable[[str], None]) -> list[Tried]:
    """Add runs for the undetected mutants of a place; the rest is equivalent or unknown."""
    left = _differing([each for each in everything(place) if not _is_noticed(each)])
    say(f"{place}: {len(left)} left")
    for number in range(ROUNDS):
        corpus = _corpus(random.Random(f"{place} {number}"))
        left = _round(left, corpus)
        _forget()
        say(f"{place}, round {number + 1}: {len(left)} left, {len(runs())} runs")
    for each in list(left):
        if _is_noticed(each):
            left.remove(each)
        elif (line := _asked(each)) is not None and _distinguishes(each, line):
            line = _simple(each, line)
            _add(line)
            left.remove(each)
            say(f"{place}: {each.name} by {line}")
        else:
            say(f"{place}: {each.name} by no run")
    say(f"{place}: {len(left)} left, {len(runs())} runs")
    return left


def _differing(left: Sequence[Tried]) -> list[Tried]:
    """The mutants that are not immediately proved equivalent."""
    found = [each for each in left if not isinstance(each, Mutant) or each.observer is None]
    changes = [each for each in left if isinstance(each, Change)]
    same = {id(each) for each, shown in zip(changes, shown_same(changes), strict=True) if shown}
    found = [each for each in found if id(each) not in same]
    rules = [each for each in left if isinstance(each, Mutant) and each.observer is not None]
    for _, group in groupby(rules, lambda mutant: mutant.original.name):
        of_one = list(group)
        observers = [mutant.observer for mutant in of_one if mutant.observer is not None]
        steps = same_step(of_one[0].mode, of_one[0].original, observers)
        found += [mutant for mutant, step in zip(of_one, steps, strict=True) if step is None]
    return found


def _round(left: Sequence[Tried], corpus: Sequence[str]) -> list[Tried]:
    still: list[Tried] = []
    fresh: list[str] = []
    for each in left:
        if any(_distinguishes(each, line) for line in fresh):
            continue
        hit = next((line for line in corpus if _distinguishes(each, line)), None)
        if hit is None:
            still.append(each)
            continue
        simple = _simple(each, hit)
        fresh.append(simple)
        _add(simple)
    return still


def _simple(tried: Tried, line: str) -> str:
    return simplest(line, lambda shorter: _possible(shorter) and _distinguishes(tried, shorter))


def _asked(tried: Tried) -> str | None:
    """A run by the solver."""
    if isinstance(tried, Change):
        return compare_change(tried)[1]
    if isinstance(tried, Mutant) and tried.observer is not None:
        same = compare(tried.mode, tried.original, tried.observer) is not Compared.DIFFERENT
        return None if same else difference(tried.mode, tried.original, tried.observer, plain=False)
    return None


def _is_noticed(tried: Tried) -> bool:
    return any(check(tried) is not None for check in CHECKS.values())


def _add(line: str) -> None:
    runs()[line] = dict(pins.pins_of(line))
    forget()
    write_bytes(Path(str(RUNS)), pins.page(runs(), runs()).encode())


def _forget() -> None:
    unchanged().forget()
    for known in (judge.received, judge.judged, judge.is_faithful, judge.breaches, read_run):
        known.cache_clear()
    forget()


def main() -> None:
    """Grow the places that are named, or all."""
    for place in sys.argv[1:] or PLACES:
        grow(place, lambda text: print(text, flush=True))


if __name__ == "__main__":
    main()
