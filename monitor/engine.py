"""Judges the records of streams by one mode. It reads no file and raises no error on any stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from monitor.evaluate.compile import compile_mode
from monitor.evaluate.conclusion import ClaimVerdict, Conclusion, ModeVerdict, decide
from monitor.evaluate.observer_state import Finding
from monitor.evaluate.own_mode import owes_nothing, unclear_mode
from monitor.input.records import Stamp
from monitor.stream.keep import Keep
from monitor.stream.parting import Parting, fits
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.modes import MODES, Bundle
from spec.language.prose import counted
from spec.language.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
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
        stream = self._stream(at.file, name)
        if not fits(stream, event):
            return None
        self._read += 1
        clock = stream.begin_one(event)
        if clock is None:
            stream.stamp(Stamp(name, event.sequence, event.time_ns), at)
        elif clock.passes(event.time_ns or 0):
            stream.elapse(event.time_ns, at)
        stream.take(event, at)
        return stream

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

    def join(self, other: Monitor) -> None:
        """The streams of a monitor of the same mode that read other files."""
        self._streams |= other._streams
        self._unknown += other._unknown
        self._spoiled |= other._spoiled
        self._read += other._read
        self._rejected += other._rejected

    def claims_of(self, record: Record) -> Iterable[ClaimRun]:
        """The claims, as they stand, of the stream that a record belongs to."""
        claims = self._of(record).claims.values()
        return [claim for claim in claims if self.only in (None, claim.claim_id)]

    def standing(self) -> Iterable[ClaimVerdict]:
        """The verdict on every claim in hand, as if the streams ended here; they go on."""
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
        claims, forgotten = tuple(self._claims()), tuple(self._forgotten())
        every = (*claims, *(alike for alike, _ in forgotten))
        every = tuple(each for each in every if not each.unclear)
        judged = tuple(c for c in every if c.judged and not self._mixed(c.claim))
        names = MODES[self.mode].names(self.bundle)
        obligations = {n: pool({claim.findings[n].verdict for claim in judged}) for n in names}
        absent, unknown = self._absent(every), dict(self._unknown)
        verdict, why = decide(obligations, absent, strict=self.strict)
        full = next(
            (each.requests.full for each in self._streams.values() if each.requests.full), ""
        )
        why += f"; {full}" if full and verdict is ModeVerdict.INCONCLUSIVE else ""
        rest = (self._read, unknown, self._rejected)
        return Conclusion(verdict, why, absent, obligations, claims, forgotten, *rest)

    def _claims(self) -> Iterable[ClaimVerdict]:
        for (file, _), stream in self._streams.items():
            for claim in stream.claims.values():
                if self.only in (None, claim.claim_id):
                    yield self.judge(file, claim)

    def _forgotten(self) -> Iterable[tuple[ClaimVerdict, int]]:
        for (file, _), stream in self._streams.items():
            for alike in stream.past if self.only is None else ():
                if alike.count:
                    yield self.judge(file, alike.run), alike.count

    def judge(self, file: str, claim: ClaimRun) -> ClaimVerdict:
        """The verdict on one claim of a file, as it stands."""
        if (by := claim.compiled.mode) is not self.mode and self._other(claim) is by:
            unclear, why = ModeVerdict.INCONCLUSIVE, f"it is of another mode, {by}"
            return ClaimVerdict(file, claim, False, unclear, why, {}, by)
        entered = self.entered(claim)
        findings = {n: found if entered else _unentered(found) for n, found in claim.findings()}
        if self.own and (why := unclear_mode(claim.declared_mode, claim.other_mode)):
            unclear = ModeVerdict.INCONCLUSIVE
            return ClaimVerdict(file, claim, False, unclear, why, findings, unclear=True)
        if (other := self._other(claim)) is not None and not self._mixed(claim):
            why = f"it is of another mode, {other}"
            return ClaimVerdict(file, claim, False, ModeVerdict.INCONCLUSIVE, why, findings, other)
        product, mixed = claim.product, self._mixed(claim)
        if product is not None and product.decided is not None and entered and not mixed:
            return ClaimVerdict(file, claim, entered, *product.decided, findings)
        obligations = {} if mixed else {n: f.verdict for n, f in findings.items()}
        verdict, why = decide(obligations, self.missing(claim))
        if product is not None and entered and not mixed:
            product.decided = verdict, why
        return ClaimVerdict(file, claim, entered, verdict, why, findings)

    def _absent(self, claims: tuple[ClaimVerdict, ...]) -> str:
        """What keeps the whole from being judged, if anything."""
        if self._rejected:
            lines = "1 line" if self._rejected == 1 else f"{self._rejected} lines"
            return f"{lines} could not be read"
        if beyond := self.left_out:
            return f"{counted(beyond, 'event')} left out: more claims or requests than are followed"
        if self.late:
            return f"{counted(self.late, 'line')} came too late and left out"
        if self.only is not None and not claims:
            return f"claim {self.only} does not occur"
        if mixed := next((c.claim for c in claims if self._mixed(c.claim)), None):
            both = f"asked for {mixed.declared_mode} and was accepted in {mixed.other_mode}"
            return f"claim {mixed.claim_id} {both}"
        if not any(judged.entered for judged in claims):
            modes = (mode for j in claims for mode in (j.claim.declared_mode, j.claim.other_mode))
            others = sorted({mode for mode in modes if mode in MODES and mode != self.mode})
            rest = f" of this mode, only of {', '.join(others)}" if others else ""
            return f"no {self._entry} claim{rest}"
        return self._cut() or self._torn()

    def _cut(self) -> str:
        """A stream that has two forms, or not the end that it promised, if there is one: it is
        unknown what is missing there, though no claim was alive.
        """
        cuts = ((stream.name, stream.order.cut) for stream in self._streams.values())
        return next((f"{name}: {cut[1]}" for name, cut in cuts if cut is not None), "")

    def _torn(self) -> str:
        """A run of which one file accepts the claims and another does not, if there is one."""
        runs: dict[str, list[Stream]] = {}
        for (_, name), stream in self._streams.items():
            runs.setdefault(name, []).append(stream)
        for name, parts in runs.items():
            sides = [self._sides(part) for part in parts]
            known = {claim_id for inside, _ in sides for claim_id in inside}
            both = zip(parts, sides, strict=True)
            some = [bool(inside) or self._entered_once(part) for part, (inside, _) in both]
            for part, (_, left), entered in zip(parts, sides, some, strict=True):
                others = [p for p in parts if p is not part]
                torn = known & left or any(
                    p.past.may_be_lost(claim_id) for p in others for claim_id in left
                )
                if any(some) and (torn or not entered):
                    return (
                        f"run {name} continues in a file in which its claims are not {self._entry}"
                    )
            if any(self._goes_on(part, [p for p in parts if p is not part]) for part in parts):
                return (
                    f"stream {name} continues in another file, and claims are alive where one "
                    "file ends"
                )
        return ""

    def _goes_on(self, part: Stream, others: list[Stream]) -> bool:
        """Whether a claim of this mode is alive where the lines of a file end, the stream has not
        the end that it promised, and another file may go on with it.
        """
        follows = any(part.order.may_go_on_in(other.order) for other in others)
        claims = part.claims.values() if follows and not part.order.whole else ()
        return any(
            claim.alive and self.entered(claim) and self._other(claim) is None for claim in claims
        )

    def _sides(self, part: Stream) -> tuple[set[str], set[str]]:
        """The ids of the claims of a part of a run that entered, and of those that did not, as far
        as they are known. What is of another mode is neither.
        """
        runs = [*part.claims.items(), *part.past.records()]
        runs = [(claim_id, run) for claim_id, run in runs if self._other(run) is None]
        inside = {claim_id for claim_id, run in runs if self.entered(run)}
        return inside, {claim_id for claim_id, _ in runs} - inside

    def _entered_once(self, part: Stream) -> bool:
        """Whether a claim that was forgotten entered."""
        past = (each.run for each in part.past if each.count)
        return any(self.entered(run) and self._other(run) is None for run in past)

    def _other(self, claim: ClaimRun) -> Mode | None:
        """The mode that a claim asked for, where that is another one."""
        asked = claim.declared_mode
        return Mode(asked) if asked in MODES and asked != self.mode else None

    def _mixed(self, claim: ClaimRun) -> bool:
        """Whether it is unknown by which of two modes the claim goes, and this is one of them."""
        asked, accepted = claim.declared_mode, claim.other_mode
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
        if claim.other_mode in MODES:
            return f"it was accepted in another mode, {claim.other_mode}"
        return "" if self.entered(claim) else f"not {self._entry}"

    def entered(self, claim: ClaimRun) -> bool:
        """Whether the runtime owes the claim anything: it was accepted, or it is watched.

        One that was accepted in another mode than it asked for was not accepted.
        """
        watched = claim.registered and claim.state is not ClaimState.REFUSED
        owes = claim.accepted or (watched and not self._accepts)
        return owes and claim.other_mode not in MODES


def _unentered(found: Finding) -> Finding:
    """What a claim that never entered shows of an obligation: that it was kept it cannot."""
    if found.verdict is not Verdict.SATISFIED:
        return found
    return Finding(Verdict.UNEXERCISED, None, "the claim was never accepted or registered")
