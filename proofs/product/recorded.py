"""Compares the streams of a trace that was recorded with the model of a runtime."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from models.framework.hooked import Hooked, facts_of
from models.framework.lineage import Parted, Untried
from models.loading import load_inferred
from models.registry import parts, runtime
from monitor.check.conclude import place_of
from monitor.input.errors import utf8
from monitor.input.records import line_of
from monitor.input.sources import Source
from proofs.product.accepts import ACCEPTED, LIMIT, REJECTED, UNDECIDED, Found, accepts
from spec.events.alphabet import FACTS
from spec.language.errors import SpecError
from spec.language.suggest import resolve
from spec.stream.breaks import Order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from models.framework.model import Model
    from models.registry import Runtime
    from monitor.input.records import At, Form, Record
    from monitor.report.verdict import Place
    from spec.events.alphabet import Kind
    from spec.events.canonical import Event

__all__ = ["SCHEMA", "Acceptance", "StreamAcceptance", "acceptance"]

SCHEMA: Final = "resident-claims/acceptance/1"


class StreamAcceptance(msgspec.Struct, frozen=True):
    """Whether a stream is a run of a model.

    `instance` says which of the instances that the stream leaves open it is about; empty where
    there is one. `taken` of its `events` are a run of the model, by these `actions`; `complete`
    says that they end where an action of the model does. `at` is the first event that no run has
    next, or from which on nothing is decided, and `why` is the reason; `instead` is what the model
    could have done.
    """

    stream: str
    verdict: str
    instance: str
    events: int
    taken: int
    complete: bool
    actions: tuple[str, ...]
    at: Place | None = None
    why: str = ""
    instead: tuple[str, ...] = ()


class Acceptance(msgspec.Struct, frozen=True):
    """Each stream of a trace, compared with a model.

    `left_out` is what the model has no state for: a trace in which it happens is no run of it.
    """

    schema: str
    model: str
    inference: str | None
    trace: str
    sha256: str
    verdict: str
    streams: tuple[StreamAcceptance, ...]
    left_out: str = ""


class _Stream:
    """The events of one stream up to the first line from which on events may be missing, without
    those that are stated again.
    """

    def __init__(self) -> None:
        self.total = 0
        self.events: list[Event] = []
        self.places: list[At] = []
        self.unseen: frozenset[Kind] = frozenset()
        self.ends: tuple[At, str] | None = None
        self._order, self._form = Order(), cast("Form | None", None)

    def take(self, record: Record) -> None:
        """Take in a line of the stream."""
        fresh = [(event, at) for event, at in record.events if not event.restated]
        self.total += len(fresh)
        if record.stamp.observes is not None:
            self.unseen = FACTS - record.stamp.observes
        form = self._form = self._form or record.stamp.form
        self._order.first = form.first
        step = self._order.take(line_of(record, foreign=record.stamp.form is not form))
        why = step.broken.text if step.broken is not None else ""
        why = why or next((each.why for each in record.doubts), "")
        if record.unknown is not None:
            why = why or f"there is no kind of event {record.unknown}"
        if why and self.ends is None:
            self.ends = record.at, why
        if self.ends is None:
            self.events += (event for event, _ in fresh)
            self.places += (at for _, at in fresh)

    @property
    def whole(self) -> bool:
        """Whether the stream states that it is complete."""
        return self._order.opened is not None and not self._order.cut

    @property
    def lacks(self) -> tuple[At, str] | None:
        """From which line on events may be missing, and why; None where the stream is whole."""
        if self.ends is None and self._order.cut:
            return cast("At", self._order.opened), "the stream was cut before its end"
        return self.ends


def acceptance(
    name: str,
    trace: str,
    *,
    inference: str | None = None,
    limit: int = LIMIT,
    progress: Callable[[int, int], None] | None = None,
) -> Acceptance:
    """Compare each stream of a trace with a model, by `NAME` or `NAME:VARIANT`.

    Where the size of a model can be read from a stream, that size is taken, unless a variant of a
    fixed size is named. What the stream leaves open is tried, or is named as `NAME:INSTANCE`. A
    model of vLLM is compared by the facts that the plugin's hooks state of it (`Hooked`).

    Args:
        inference: the name of the one whose shim makes claims of the runtime's calls.
        limit: the most states that the model may be in after an event.
        progress: receives the number of events so far, and of states.

    Raises:
        InputError: the trace cannot be read.
        UnknownName: there is no such model, variant or inference.
        SpecError: the stream does not state what the size of the model follows from, or facts of
            the model contradict each other.
    """
    whole, variant = parts(name)
    found = runtime(whole)
    if variant and inference is None:
        known = [*found.instances, *found.variants]
        variant = resolve(variant, known, what="variant", listed="models list")
    sized = inference is None and found.of_trace is not None and variant not in found.variants
    named = found.name if sized or not variant else f"{found.name}:{variant}"
    usual, shim = load_inferred(named, inference)
    source, streams = Source([trace]), dict[str, _Stream]()
    for record in source:
        streams.setdefault(record.stamp.stream, _Stream()).take(record)

    def compare(model: Model[Any], stream: _Stream) -> Found:
        events = stream.events
        facts = facts_of(events) if isinstance(model, Hooked) else list(enumerate(events))
        given = [event for _, event in facts]
        unseen = stream.unseen
        found = accepts(model, given, shim=shim, unseen=unseen, limit=limit, progress=progress)
        ends = found.taken == len(facts)
        return replace(found, taken=len(events) if ends else facts[found.taken][0])

    judged = tuple(
        _judged(
            each,
            stream,
            _of_size(found, variant, stream) if sized else [("", usual)],
            compare,
            f"the model can be in more than {limit} states",
        )
        for each, stream in streams.items()
    )
    verdicts = {each.verdict for each in judged} or {UNDECIDED}
    worst = next(each for each in (REJECTED, UNDECIDED, ACCEPTED) if each in verdicts)
    return Acceptance(
        SCHEMA,
        name,
        inference,
        utf8(trace),
        source.accounts[0].sha256,
        worst,
        judged,
        usual.left_out,
    )


def _of_size(found: Runtime, variant: str, stream: _Stream) -> Iterator[tuple[str, Model[Any]]]:
    """The instances of the size of a stream; only those of this name, if there is a name.

    Those that differ in what the stream leaves open of prompts have one name, and a number. Without
    a name, the usual instance of a runtime without claims follows.
    """
    refusal: SpecError | None = None
    names = Counter[str]()
    try:
        for name, model in () if found.of_trace is None else found.of_trace(stream.events):
            names[name] += 1
            if variant in ("", name):
                yield name if names[name] == 1 else f"{name}-{names[name]}", model
    except SpecError as error:
        refusal = None if isinstance(error, Parted) and variant in names else error
    if not found.takes and not variant:
        usual, make = next(iter(found.variants.items()))
        yield usual, make()
    if refusal:
        raise refusal


def _judged(
    name: str,
    stream: _Stream,
    instances: Iterable[tuple[str, Model[Any]]],
    compare: Callable[[Model[Any], _Stream], Found],
    too_many: str,
) -> StreamAcceptance:
    """The verdict of one that accepts, else of an undecided one, else of the nearest."""
    best: tuple[tuple[bool, bool, int, bool], str, Found] | None = None
    untried = ""
    try:
        for instance, model in instances:
            found = compare(model, stream)
            fits = found.verdict == ACCEPTED and (found.complete or not stream.whole)
            rank = fits, found.verdict == UNDECIDED, found.taken, found.near
            if best is None or rank > best[0]:
                best = rank, instance, found
            if fits:
                break
    except Untried as error:
        untried = str(error)
    if best is None and not untried:
        raise SpecError(f"stream {name} leaves no instance of the model")
    why, at = too_many if best else untried, None
    _, instance, found = best or (None, "", Found(UNDECIDED, 0))
    verdict, instead = found.verdict, found.instead
    if verdict != ACCEPTED:
        at = stream.places[found.taken]
        if verdict == REJECTED:
            why = f"no run of the model has {stream.events[found.taken].kind} next"
    elif stream.lacks is not None:
        verdict, (at, why), instead = UNDECIDED, stream.lacks, ()
    elif stream.whole and not found.complete:
        verdict, at = REJECTED, stream.places[-1]
        why = "the stream ends here, within an action of the model"
    else:
        why, instead = "", ()
        if not stream.events:
            verdict, why = UNDECIDED, "the stream has no event"
    if untried and verdict == REJECTED:
        verdict, why, instead = UNDECIDED, untried, ()
    return StreamAcceptance(
        name,
        verdict,
        instance,
        stream.total,
        found.taken,
        found.complete,
        tuple(map(str, found.actions)),
        None if at is None else place_of(at),
        why,
        instead,
    )
