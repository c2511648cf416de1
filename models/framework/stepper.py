"""Makes a judge an automaton over what a model emits: steps it, and remembers each step.

A configuration is all that a judge knows after some events, by a number. An event is taken in once
in each configuration, however many states of a model share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from models.framework.model import Emitted, Model
from models.framework.reduction import reduce
from models.framework.shims import PLAIN, Shim, claim_of, events_of
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.canonical import Event
from spec.events.fields import required_of
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line
from spec.stream.fields import number as number_of
from spec.stream.judge import Judge
from spec.stream.value import Value, freeze, thaw

__all__ = ["FIRST", "Names", "Stepper", "relabelled", "renamed"]

FIRST: Final = 0
"""The configuration before any event."""


class Names(NamedTuple):
    """The names that blocks have from a state on, and what claims and requests are called."""

    blocks: tuple[int, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


class Stepper:
    """A judge of complete streams without times: durations elapse where an event states it.

    All claims of the model are followed, for the sake of the blocks and the capacity that they have
    in common with the one that is judged.

    Args:
        shim: how a reader names what the model emits.
        mode: that of the claims; by default that of the shim, else that in which the model takes
            claims.
        tracked: the holder whose claim is judged; without one only facts are checked.
    """

    def __init__(
        self,
        model: Model[Any],
        shim: Shim = PLAIN,
        mode: Mode | None = None,
        tracked: str | None = None,
    ) -> None:
        mode = mode or shim.mode or getattr(model, "mode", None) or Mode.BEST_EFFORT
        self.shim, self.obligations = shim, MODES[mode].names(Bundle.CONTRACT)
        self._judge = Judge(mode)
        self._claims, self._requests = {*map(claim_of, model.holders)}, {*model.requests}
        self._judged = frozenset(() if tracked is None else (claim_of(tracked),))
        self._parts: dict[Any, int] = {}
        self._part: list[Any] = []
        self._values: list[tuple[int, ...]] = []  # by their parts, which most have in common
        self._numbers: dict[tuple[int, ...], int] = {}
        self._verdicts: list[tuple[Verdict, ...]] = []
        self._events: list[Event] = []
        self._event_numbers: dict[Event, int] = {}
        self._stated: dict[tuple[Emitted, ...], list[int]] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._paths: dict[tuple[int, tuple[Emitted, ...]], tuple[int, ...]] = {}
        self._names: dict[tuple[int, Names], int] = {}
        self._add(freeze(self._judge), self._found)

    def __len__(self) -> int:
        return len(self._values)

    def verdict(self, configuration: int, obligation: int) -> Verdict:
        """What an obligation, by its place among `obligations`, comes to in a configuration."""
        return self._verdicts[configuration][obligation]

    def path(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, ...]:
        """The configuration, and the one after each event of what an action emitted.

        Raises:
            SpecError: an event contradicts those before it, names a claim or a request that the
                model does not state, or lacks a field that its kind requires.
        """
        found = self._paths.get((configuration, emits))
        if found is None:
            stated = self._stated.get(emits)
            if stated is None:
                stated = self._stated[emits] = [*map(self._number_of, events_of(self.shim, emits))]
            path = [configuration]
            for event in stated:
                following = self._after.get((path[-1], event))
                path.append(self._take(path[-1], event) if following is None else following)
            found = self._paths[configuration, emits] = tuple(path)
        return found

    def after(
        self, configuration: int, emits: tuple[Emitted, ...], obligation: int
    ) -> tuple[int, int]:
        """The configuration after what an action emitted, and how many events that was.

        What breaks the obligation breaks it for good: events after that one are left out.

        Raises:
            SpecError: as `path` does.
        """
        path, verdicts = self.path(configuration, emits), self._verdicts
        if verdicts[path[-1]][obligation] is not Verdict.VIOLATED:
            return path[-1], len(path) - 1
        broken = [each for each in path if verdicts[each][obligation] is Verdict.VIOLATED]
        return broken[0], len(path) - len(broken)

    def renamed(self, configuration: int, names: Names) -> int:
        """The configuration where blocks, claims and requests have these names instead.

        The claim that is judged keeps its name.
        """
        found = self._names.get((configuration, names))
        if found is None:
            value, verdicts = self._value(configuration), self._verdicts[configuration]
            if names.labels:
                value = relabelled(value, dict(names.labels))
            if names.blocks:
                value = renamed(value, names.blocks)
            found = self._names[configuration, names] = self._add(value, lambda: verdicts)
        return found

    def _number_of(self, event: Event) -> int:
        number = self._event_numbers.get(event)
        if number is None:
            for name in required_of(event.kind):
                if getattr(event, name) in (None, ()):
                    raise SpecError(f"{event.kind} has no {name}")
            if event.request_id is not None and event.request_id not in self._requests:
                raise SpecError(f"{event.kind} names {event.request_id}, which is no request of it")
            if event.claim_id is not None and event.claim_id not in self._claims:
                raise SpecError(f"{event.kind} names {event.claim_id}, which is not followed")
            number = self._event_numbers[event] = len(self._events)
            self._events.append(event)
        return number

    def _take(self, configuration: int, event: int) -> int:
        judge, stated = self._judge, self._events[event]
        thaw(judge, self._value(configuration))
        judge.take(Line(1, (stated,)))  # where it is does not matter
        if judge.broken is not None:
            raise SpecError(f"{stated.kind}: {judge.broken.text}")
        reduce(judge, self._judged)
        number = self._add(freeze(judge), self._found)
        self._after[configuration, event] = number
        return number

    def _add(self, value: Value, verdicts: Callable[[], tuple[Verdict, ...]]) -> int:
        key = tuple(map(self._number, value))
        number = self._numbers.setdefault(key, len(self._values))
        if number == len(self._values):
            self._values.append(key)
            self._verdicts.append(verdicts())
        return number

    def _number(self, part: Any) -> int:
        number = self._parts.setdefault(part, len(self._part))
        if number == len(self._part):
            self._part.append(part)
        return number

    def _value(self, configuration: int) -> Value:
        return tuple([self._part[each] for each in self._values[configuration]])

    def _found(self) -> tuple[Verdict, ...]:
        claims = (self._judge.claims.get(name) for name in self._judged)
        found = {n: f.verdict for c in claims if c is not None for n, f in c.findings().items()}
        return tuple(found.get(name, Verdict.UNEXERCISED) for name in self.obligations)


def renamed(value: Value, names: Mapping[Any, Any] | Sequence[Any]) -> Value:
    """The value where each physical block has another name."""
    blocks, lost, *rest = value
    return (
        frozenset((names[block], key) for block, key in blocks),
        frozenset((claim, block if block is None else names[block]) for claim, block in lost),
        *rest,
    )


def relabelled(value: Value, names: Mapping[str, str]) -> Value:
    """The value where claims, requests, objects, owners and workers have other names.

    No count or position may be as large as the number of a name, which is 256 or more.
    """
    numbers = {number_of(old): number_of(new) for old, new in names.items()}

    def go(each: Any) -> Any:
        if type(each) is str:
            return names.get(each, each)
        if isinstance(each, frozenset):
            return frozenset(map(go, each))
        if isinstance(each, tuple):
            parts = map(go, each)
            return type(each)(*parts) if hasattr(each, "_fields") else tuple(parts)
        return numbers.get(each, each) if type(each) is int else each

    blocks, lost, *rest = value
    return (
        frozenset((block, go(key)) for block, key in blocks),
        frozenset((go(claim), block) for claim, block in lost),
        *map(go, rest),
    )
