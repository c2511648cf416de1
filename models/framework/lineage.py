"""Derives from a trace of the plugin what prompts hold, and which of them begin alike.

Content keys are not used. That a prompt begins like another one follows from a claim that both
looked up, or from the first blocks that a request did not compute: it found them, so they hold
what an earlier prompt begins with (`models.framework.beginnings`). Where several prompts, or none,
may be that one, it is left open, and each possibility is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from models.framework.beginnings import Beginning, Guess, Prompt, own_part
from models.framework.hooked import Watch, facts_of
from models.framework.joins import Joins, claims_of
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["Lineage", "Parted", "Seen", "Untried", "lineages_of"]

_MOST: Final = 64
"""Possibilities that are tried."""

_CHOICES: Final = 4_096
"""Choices that are made for them; some lead to none."""


class Untried(SpecError):
    """A trace leaves open what was not tried: that none of the others fits rejects nothing."""


class Parted(Untried):
    """Prompts may be other than the model can have, unless the name of an instance excludes it."""


class Seen(NamedTuple):
    """A prompt: the first `shared` blocks are those of an object, then come first ones of the own
    parts of other prompts, and then its own.

    `between` has of each of those prompts the name and how many blocks. `tail` are blocks behind
    the whole ones. `start` is the first position that was computed or loaded; None where nothing
    was.
    """

    name: str
    object_id: str
    shared: int
    own: int = 0
    tail: int = 0
    start: int | None = None
    between: tuple[tuple[str, int], ...] = ()


class Lineage(NamedTuple):
    """The prompts in the order of their arrival, the claims, and the blocks of the pool."""

    prompts: tuple[Seen, ...]
    watches: tuple[Watch, ...]
    usable: int


def lineages_of(events: Sequence[Event]) -> Iterator[Lineage]:
    """What the prompts of a trace may hold: each possibility, the likeliest first.

    Raises:
        Untried: there are more than are tried, or may be others, in the end.
        SpecError: no request arrives, or what a prompt or a claim is about is undetermined.
    """
    arrivals = [event for event in events if event.kind is Kind.REQUEST_ARRIVED]
    if not arrivals:
        raise SpecError("no request arrives in the stream", "give a trace that the plugin wrote")
    joins = Joins(events, claims_of(events))
    watches = tuple(
        Watch(name, joins.objects[name], each.size) for name, each in joins.claims.items()
    )
    usable = max(event.usable or 0 for event in arrivals)
    facts = [event for _, event in facts_of(events)]
    for number, guess in enumerate(_guesses(facts, Guess(joins))):
        if number == _MOST:
            raise Untried(f"prompts may begin alike in more than {_MOST} ways")
        prompts = tuple(_seen(each) for each in guess.prompts.values())
        yield Lineage(prompts, watches, usable)
    if joins.open:
        raise Untried(joins.open)


def _guesses(facts: Sequence[Event], first: Guess) -> Iterator[Guess]:
    """What blocks hold at the end of a trace, by each choice of options: the first ones first."""
    waiting: list[tuple[Guess, int, Beginning | None]] = [(first, -1, None)]
    whole, undetermined, choices = False, "", 0
    while waiting:
        guess, chosen, option = waiting.pop()
        choices += 1
        if choices > _CHOICES:
            raise Untried(f"prompts may begin alike in more than {_CHOICES} ways")
        if chosen >= 0:
            guess.take(facts[chosen], option)
        for at in range(chosen + 1, len(facts)):
            options = guess.options(facts[at])
            if len(options) != 1:
                undetermined = undetermined or facts[at].request_id or ""
                waiting += [(guess.copy(), at, each) for each in reversed(options)]
                break
            guess.take(facts[at], options[0])
        else:
            whole = True
            yield guess
    if not whole:
        said = f"what request {undetermined} shares with the ones before it is undetermined"
        raise SpecError(said)


def _seen(prompt: Prompt) -> Seen:
    """A prompt, by the contents of its blocks."""
    tail = prompt.blocks - prompt.size
    if prompt.begins is None:
        return Seen(prompt.name, prompt.object_id, prompt.blocks)
    if tail < 0:
        said = f"what request {prompt.name} shares with the ones before it is undetermined"
        raise SpecError(said)
    parts = groupby(prompt.contents, key=lambda content: content[0])
    (name, shared), *rest = ((owner, sum(1 for _ in part)) for owner, part in parts)
    others = [(own_part(owner) or owner, size) for owner, size in rest]
    own = others.pop()[1] if others and others[-1][0] == prompt.name else 0
    return Seen(prompt.name, name, shared, own, tail, prompt.start, tuple(others))
