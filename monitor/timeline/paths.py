"""Keeps the steps by which the observers of a claim came to where they stand."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from monitor.timeline.items import Step
from spec.language.verdicts import Verdict
from spec.stream.claim import verdicts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.timeline.items import Found, Point
    from spec.stream.claim import Claim, Scope, Stand

__all__ = ["MOST_STEPS", "Paths"]

MOST_STEPS: Final = 24
"""Steps of an observer that are kept, the last ones."""


class Paths:
    """The steps of each observer of a claim, for the claim itself and for each request.

    Those of a request are kept as long as the judge follows the request, and for good where it
    was violated.
    """

    def __init__(self) -> None:
        self._stands: dict[str | None, list[Stand | None]] = {}
        self._steps: dict[str | None, dict[str, deque[Step]]] = {}
        self._broken: dict[str, deque[Step]] = {}

    def note(self, claim: Claim, point: Point, requests: Iterable[str] | None = None) -> None:
        """Take over the steps that a line made.

        Args:
            requests: those for which observers may have moved, beside the claim itself; by default
                all that the judge follows.
        """
        self._take(claim, None, claim.own, point)
        for request in [*claim.requests] if requests is None else requests:
            scope = claim.requests.get(request)
            if scope is not None:
                self._take(claim, request, scope, point)
        if len(self._stands) > len(claim.requests) + 1 or requests is None:
            for gone in self._stands.keys() - claim.requests.keys() - {None}:
                del self._stands[gone], self._steps[gone]

    def _take(self, claim: Claim, request: str | None, scope: Scope, point: Point) -> None:
        before = self._stands.get(request)
        if before == scope.stands:
            return
        if before is None or len(before) != len(scope.stands):
            before = self._open(request, len(scope.stands))
        for name, was, now in zip(claim.names, before, scope.stands, strict=True):
            if now is not None and now.rule is not None and now != was:
                source = 0 if was is None else was.state
                self._add(name, Step(request, source, now.rule, now.state, point))
        self._stands[request] = [*scope.stands]

    def _open(self, request: str | None, size: int) -> list[Stand | None]:
        """The observers of a request begin where those of the claim stand."""
        own = self._steps.get(None, {})
        steps = {name: deque(each, MOST_STEPS) for name, each in own.items()}
        self._steps[request] = {} if request is None else steps
        return [*(self._stands.get(None) or [None] * size)]

    def _add(self, name: str, step: Step) -> None:
        steps = self._steps[step.request].setdefault(name, deque(maxlen=MOST_STEPS))
        steps.append(step)
        if verdicts_of(name)[step.target] is Verdict.VIOLATED:
            self._broken.setdefault(name, steps.copy())

    def of(self, name: str, found: Found) -> list[Step]:
        """The steps of an obligation to the line that decided; to the latest where none did."""
        if name in self._broken:
            return [*self._broken[name]]
        paths = [[*each[name]] for each in self._steps.values() if name in each]
        if found.verdict is not Verdict.SATISFIED:
            return max(paths, key=lambda path: path[-1].point.line, default=[])
        for path in paths:
            lines = [step.point.line for step in path]
            if found.line in lines:
                return path[: len(lines) - lines[::-1].index(found.line)]
        return []
