"""Makes a judge an automaton: steps it between configurations, and remembers each step.

A configuration is all that a judge knows after some events, by a number. An event is taken in once
in each configuration, however many states of a model share it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from models.framework.reduction import reduce
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.canonical import Event
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line
from spec.stream.judge import Judge
from spec.stream.value import Value, freeze, relabelled, renamed, thaw

__all__ = ["FIRST", "Stepper"]

FIRST: Final = 0
"""The configuration before any event."""


class Stepper:
    """A judge of complete streams without times: durations elapse where an event states it.

    `verdicts` has for each configuration what each of `obligations` came to for the claim that is
    judged.

    Args:
        mode: that of claims that state none.
        claims: the ids of claims that events may name.
        requests: those of requests.
        judged: the claim whose verdicts are wanted; without one only facts are checked.
    """

    def __init__(
        self,
        mode: Mode,
        claims: Collection[str],
        requests: Collection[str],
        judged: str | None = None,
    ) -> None:
        self.obligations = MODES[mode].names(Bundle.CONTRACT)
        self._judge = Judge(mode)
        self._claims, self._requests = frozenset(claims), frozenset(requests)
        self._judged = frozenset[str](() if judged is None else {judged})
        self._parts: dict[Any, int] = {}
        self._part: list[Any] = []
        self._values: list[tuple[int, ...]] = []  # by their parts, which most have in common
        self._numbers: dict[tuple[int, ...], int] = {}
        self._events: list[Event] = []
        self._event_numbers: dict[Event, int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self.verdicts: list[tuple[Verdict, ...]] = []
        self._add(freeze(self._judge), self._found)

    def __len__(self) -> int:
        return len(self._values)

    def number(self, event: Event) -> int:
        """The number of an event.

        Raises:
            SpecError: it names a claim or a request that there is not.
        """
        number = self._event_numbers.get(event)
        if number is None:
            if event.request_id is not None and event.request_id not in self._requests:
                raise SpecError(f"{event.kind} names {event.request_id}, which is no request of it")
            if event.claim_id is not None and event.claim_id not in self._claims:
                raise SpecError(f"{event.kind} names {event.claim_id}, which is not followed")
            number = self._event_numbers[event] = len(self._events)
            self._events.append(event)
        return number

    def after(self, configuration: int, event: int) -> int:
        """The configuration after the event of a number.

        Raises:
            SpecError: it contradicts those before it.
        """
        found = self._after.get((configuration, event))
        return self._take(configuration, event) if found is None else found

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

    def renamed(self, configuration: int, blocks: tuple[int, ...]) -> int:
        """The configuration where each block has another name."""
        found = self.verdicts[configuration]
        return self._add(renamed(self._value(configuration), blocks), lambda: found)

    def relabelled(self, configuration: int, names: Mapping[str, str]) -> int:
        """The configuration where claims, requests and what belongs to them have other names.

        The claim that is judged keeps its name.
        """
        found = self.verdicts[configuration]
        return self._add(relabelled(self._value(configuration), names), lambda: found)

    def _add(self, value: Value, verdicts: Callable[[], tuple[Verdict, ...]]) -> int:
        key = tuple(map(self._number, value))
        number = self._numbers.setdefault(key, len(self._values))
        if number == len(self._values):
            self._values.append(key)
            self.verdicts.append(verdicts())
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
