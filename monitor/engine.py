"""Judges the records of streams by one mode. It reads no file and raises no error on any stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from monitor.evaluate.alike import PlacedFindings, SharedFindings
from monitor.evaluate.compile import compile_mode
from monitor.evaluate.conclusion import ClaimVerdict, Conclusion, ModeVerdict, decide
from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.observer_state import Finding
from monitor.evaluate.own_mode import owes_nothing, unclear_mode
from monitor.input.records import Stamp
from monitor.stream.grounds import Found, Grounds
from monitor.stream.keep import Keep
from monitor.stream.parting import Parting, fits
from monitor.stream.projection import Stream
from monitor.stream.stream_part import StreamPart, part_of
from monitor.stream.usual_events import take_usual, take_usual_of
from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.modes import MODES, Bundle
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.product import ProductState
    from monitor.input.batches import Run
    from monitor.input.records import At, Record
    from spec.events.canonical import Event

__all__ = [
    "ClaimVerdict",
    "Conclusion",
    "ModeVerdict",
    "Monitor",
    "decide",
    "owes_nothing",
    "unclear_mode",
]

_OF_ANOTHER: Final = {mode: f"it is of another mode, {mode}" for mode in Mode}


@dataclass(slots=True)
class Monitor(Parting):
    """Judges streams by one bundle of one mode: the claims that ask for it, or for none by name.

    Args:
        only: judge this claim id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        keep: what is kept of claims that are over; everything, by default.
        own: judge the claims alone that ask for the mode by name, and were accepted in no other.
        beside: other modes, whose claims the same streams judge for the monitors that `by` makes.
        late: lines that came too late to be put in order, and were left out.
    """

    mode: Mode
    bundle: Bundle = Bundle.CONTRACT
    only: str | None = None
    strict: bool = False
    keep: Keep | None = None
    own: bool = False
    beside: tuple[Mode, ...] = ()
    late: int = 0
    _streams: dict[tuple[str, str], Stream] = field(default_factory=dict)
    _unknown: Counter[str] = field(default_factory=Counter)
    _read: int = 0
    _rejected: int = 0
    _spoiled: dict[str, tuple[At, str]] = field(default_factory=dict)
    _moved: list[ClaimRun] | None = None

    def take(self, record: Record) -> None:
        """One line of a stream."""
        self._read += 1
        if record.unknown is not None:
            self._unknown[record.unknown] += 1
        stream = self._of(record)
        if record.lost:
            stream.lose(record.at, record.lost)
        stream.stamp(record.stamp, record.at)
        for event, at in record.events:
            stream.take(event, at)
        for doubt in record.doubts:
            stream.doubt(doubt, record.at)

    def take_event(self, event: Event, at: At, name: str) -> Stream | None:
        """A canonical event on a line of its own, by all modes at once.

        Args:
            name: of the stream.

        Returns:
            The stream; None, and nothing has changed, if it is to be parted before.
        """
        stream = self._streams.get((at.file, name)) or self._stream(at.file, name)
        if take_usual(stream, event, at):
            self._read += 1
            return stream
        if not fits(stream, event):
            return None
        self._read += 1
        if not stream.take_next(event, at):
            stream.stamp(Stamp(name, event.sequence, event.time_ns), at)
            stream.take(event, at)
        return stream

    def take_usual(self, events: Sequence[Event], file: str, line: int, name: str) -> int:
        """The same of events, up to the first one of which something is to be decided before, or
        after which the stream is to be parted.

        Args:
            line: that of the first event.
            name: of the stream.

        Returns:
            How many were taken.
        """
        taken = take_usual_of(self._stream(file, name), events, file, line)
        self._read += taken
        return taken

    def take_events(self, events: Sequence[Event], places: Sequence[At]) -> None:
        """Events of one file, each on a canonical line of its own, at the place beside it."""
        self._read += len(events)
        name, stream = None, None
        for event, at in zip(events, places, strict=True):
            if stream is None or event.stream != name:
                name = event.stream
                stream = self._stream(at.file, name or at.file)
            stream.stamp(Stamp(name or at.file, event.sequence, event.time_ns), at)
            stream.take(event, at)

    def take_run(self, run: Run) -> None:
        """The events of a run."""
        stream = self._stream(run.file, run.stream)
        if not stream.take_run(run):
            self.take_events(run.events, run.places)
            return
        self._read += len(run.events)

    def reject(self, at: At) -> None:
        """A line could not be read: what it states is missing from every stream of its file."""
        self._rejected += 1
        why = f"line {at.line} could not be read"
        self._spoiled.setdefault(at.file, (at, why))
        self.lose(at, why)

    def lose(self, at: At, why: str, name: str | None = None) -> None:
        """Lines may be missing here from a stream of the file, or from all that it has so far."""
        for (file, stream_name), stream in self._streams.items():
            if file == at.file and name in (None, stream_name):
                stream.lose(at, why)

    def watch(self, moved: list[ClaimRun]) -> None:
        """Append each claim that an event moves to this list, which the caller empties."""
        self._moved = moved
        for stream in self._streams.values():
            stream.watch(moved)

    def claims_of(self, record: Record) -> Iterable[ClaimRun]:
        """The claims, as they stand, of the stream that a record belongs to."""
        claims = self._of(record).claims.values()
        return [claim for claim in claims if self.only in (None, claim.claim_id)]

    def standing(self) -> Iterable[ClaimVerdict]:
        """The verdict on every claim in hand that no monitor made by `by` judges, as if the streams
        ended here; they go on.
        """
        return self._claims()

    def of(self, name: str) -> Monitor:
        """A monitor of the streams of this name alone, which has them in common with this one."""
        streams = {key: stream for key, stream in self._streams.items() if key[1] == name}
        return replace(self, _streams=streams)

    def by(self, mode: Mode) -> Monitor:
        """A monitor of the same streams by one of the modes that they judge."""
        return replace(self, mode=mode)

    def finish(self) -> None:
        """Every stream is over."""
        for stream in self._streams.values():
            stream.finish()

    def _stream(self, file: str, name: str) -> Stream:
        stream = self._streams.get((file, name))
        if stream is None:
            judges = [compile_mode(mode, self.bundle) for mode in (self.mode, *self.beside)]
            stream = Stream(judges, name, self._keep())
            self._streams[file, name] = stream
            if self._moved is not None:
                stream.watch(self._moved)
            if file in self._spoiled:
                stream.lose(*self._spoiled[file])
        return stream

    def _keep(self) -> Keep:
        return replace(self.keep or Keep(), one=self.only)

    def conclude(self) -> Conclusion:
        """The verdict, every stream being finished."""
        self.finish()
        return self.found().conclusion

    def found(self, *, apart: bool = False) -> Found:
        """The claims, and what a verdict rests on, once every stream is finished.

        Args:
            apart: other files are judged apart, and may go on with any of the streams.
        """
        claims, forgotten = tuple(self._claims()), tuple(self._forgotten())
        every = (*claims, *(alike for alike, _ in forgotten))
        every = tuple(each for each in every if not each.unclear)
        return Found(self._grounds(every, apart=apart), claims, forgotten)

    def _grounds(self, claims: tuple[ClaimVerdict, ...], *, apart: bool) -> Grounds:
        streams, parts = self._streams.values(), self._parts(apart=apart)
        mixed = (each.claim for each in claims if self._mixed(each.claim))
        cuts = (f"{s.name}: {s.order.cut[1]}" for s in streams if s.order.cut is not None)
        names, entry = MODES[self.mode].names(self.bundle), self._entry
        grounds = Grounds({name: set() for name in names}, entry, self.only, self.strict)
        grounds.read, grounds.unknown = self._read, self._unknown.copy()
        grounds.rejected, grounds.left_out, grounds.late = self._rejected, self.left_out, self.late
        grounds.occurs, grounds.entered = bool(claims), any(each.entered for each in claims)
        grounds.mixed = next(map(_of_two, mixed), "")
        grounds.modes = set() if grounds.entered else self._other_modes
        grounds.cut, grounds.parts = next(cuts, ""), parts
        grounds.full = next((s.requests.full for s in streams if s.requests.full), "")
        judged = (each for each in claims if each.judged and not self._mixed(each.claim))
        for findings in _apart(judged):
            for name in names:
                grounds.obligations[name].add(findings[name].verdict)
        return grounds

    def _parts(self, *, apart: bool) -> list[StreamPart]:
        """The streams that another file may go on with."""
        streams, several = self._streams.values(), Counter(name for _, name in self._streams)
        return [
            part_of(stream, lambda run: None if self._other(run) is not None else self.entered(run))
            for stream in streams
            if apart or several[stream.name] > 1
        ]

    def _claims(self) -> Iterable[ClaimVerdict]:
        alike: dict[ProductState, SharedFindings] = {}
        for (file, _), stream in self._streams.items():
            for claim in stream.claims.values():
                by = claim.compiled.mode
                if by is not self.mode and claim.declared_mode == by:
                    continue
                if self.only in (None, claim.claim_id):
                    yield self._judge_alike(file, claim, alike)

    @property
    def _other_modes(self) -> set[str]:
        """The other modes of which there are claims that go by one."""
        forgotten = (alike.run for s in self._streams.values() for alike in s.past if alike.count)
        claims = (claim for claim in self.claims() if self.only in (None, claim.claim_id))
        runs = claims if self.only is not None else (*claims, *forgotten)
        stated = {(run.declared_mode, run.unusual.other_mode) for run in runs}
        clear = (modes for modes in stated if not (self.own and unclear_mode(*modes)))
        return {mode for modes in clear for mode in modes if mode in MODES and mode != self.mode}

    def _judge_alike(
        self, file: str, claim: ClaimRun, alike: dict[ProductState, SharedFindings]
    ) -> ClaimVerdict:
        """The same as `judge`.

        Args:
            alike: what was found of claims before, by how they stand.
        """
        product, mode = claim.product, claim.compiled.mode
        if product is None or mode is not self.mode or claim.unusual.other_mode is not None:
            return self.judge(file, claim)
        if claim.declared_mode != mode and (self.own or claim.declared_mode is not None):
            return self.judge(file, claim)
        shared = alike.get(product)
        if shared is None or product.decided is None or not self.entered(claim):
            judged = self.judge(file, claim)
            if product.found is not None:
                alike[product] = SharedFindings(product.found)
            return judged
        verdict, why = product.decided
        return ClaimVerdict(file, claim, True, verdict, why, PlacedFindings(shared, claim.places))

    def _forgotten(self) -> Iterable[tuple[ClaimVerdict, int]]:
        for (file, _), stream in self._streams.items():
            for alike in stream.past if self.only is None else ():
                if alike.count:
                    yield self.judge(file, alike.run), alike.count

    def judge(self, file: str, claim: ClaimRun) -> ClaimVerdict:
        """The verdict on one claim of a file, as it stands."""
        if (by := claim.compiled.mode) is not self.mode and claim.declared_mode == by:
            unclear = ModeVerdict.INCONCLUSIVE
            return ClaimVerdict(file, claim, False, unclear, _OF_ANOTHER[by], NOTHING, by)
        entered = self.entered(claim)
        findings = {n: found if entered else _unentered(found) for n, found in claim.findings()}
        if self.own and (why := unclear_mode(claim.declared_mode, claim.unusual.other_mode)):
            unclear = ModeVerdict.INCONCLUSIVE
            return ClaimVerdict(file, claim, False, unclear, why, findings, unclear=True)
        if (other := self._other(claim)) is not None and not self._mixed(claim):
            unclear, why = ModeVerdict.INCONCLUSIVE, _OF_ANOTHER[other]
            return ClaimVerdict(file, claim, False, unclear, why, findings, other)
        product, mixed = claim.product, self._mixed(claim)
        if product is not None and product.decided is not None and entered and not mixed:
            return ClaimVerdict(file, claim, entered, *product.decided, findings)
        obligations = {} if mixed else {n: f.verdict for n, f in findings.items()}
        verdict, why = decide(obligations, self.missing(claim))
        if product is not None and entered and not mixed:
            product.decided = verdict, why
        return ClaimVerdict(file, claim, entered, verdict, why, findings)

    def _other(self, claim: ClaimRun) -> Mode | None:
        """The mode that a claim asked for, where that is another one."""
        asked = claim.declared_mode
        return Mode(asked) if asked in MODES and asked != self.mode else None

    def _mixed(self, claim: ClaimRun) -> bool:
        """Whether it is unknown by which of two modes the claim goes, and this is one of them."""
        asked, accepted = claim.declared_mode, claim.unusual.other_mode
        if accepted is None or asked is None:
            return False
        both = asked in MODES and accepted in MODES and asked != accepted
        return both and self.mode in (asked, accepted)

    @property
    def _entry(self) -> str:
        return "accepted" if self._accepts else "registered"

    @property
    def _accepts(self) -> bool:
        return "explicit_acceptance" in MODES[self.mode].names(self.bundle)

    def missing(self, claim: ClaimRun) -> str:
        """Why a claim did not enter; empty where it did."""
        if claim.unusual.other_mode in MODES:
            return f"it was accepted in another mode, {claim.unusual.other_mode}"
        return "" if self.entered(claim) else f"not {self._entry}"

    def entered(self, claim: ClaimRun) -> bool:
        """Whether the runtime owes the claim anything: it was accepted, or it is watched.

        One that was accepted in another mode than it asked for was not accepted.
        """
        watched = claim.registered and claim.state is not ClaimState.REFUSED
        owes = claim.accepted or (watched and not self._accepts)
        return owes and claim.unusual.other_mode not in MODES


def _apart(claims: Iterable[ClaimVerdict]) -> Iterator[Mapping[str, Finding]]:
    """The findings of claims, once of those that have them in common but for places."""
    met: set[SharedFindings] = set()
    for each in claims:
        findings = each.findings
        if type(findings) is not PlacedFindings:
            yield findings
        elif findings.shared not in met:
            met.add(findings.shared)
            yield findings.shared.found


def _of_two(claim: ClaimRun) -> str:
    both = f"asked for {claim.declared_mode} and was accepted in {claim.unusual.other_mode}"
    return f"claim {claim.claim_id} {both}"


def _unentered(found: Finding) -> Finding:
    """What a claim that never entered shows of an obligation: that it was kept it cannot."""
    if found.verdict is not Verdict.SATISFIED:
        return found
    return Finding(Verdict.UNEXERCISED, None, "the claim was never accepted or registered")
