"""Holds one claim: what it states, its registers, and its observers in each scope."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from spec.claims.durations import Duration, TimeUnit
from spec.claims.predicates import MAX_BLOCKS, parse_predicate
from spec.claims.states import TERMINAL, ClaimState, Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import IDENTITY
from spec.language.verdicts import Verdict, pool
from spec.stream.codes import Code, Reason
from spec.stream.generate import AT, CLAIM, REQUEST, Values
from spec.stream.outcome import ClaimOutcome, Finding, absence, decide, names_of
from spec.stream.pool import Block, Object, Pool

__all__ = [
    "BEGINS",
    "TERMS",
    "UNSTATED",
    "Claim",
    "Scope",
    "duration_of",
    "identity_of",
    "outcome_of",
    "verdicts_of",
]

UNSTATED: Final = 2**63
"""The threshold of a predicate that is not stated: it never holds."""

_WATCHED: Final = frozenset(mode for mode in Mode if MODES[mode].constants["watched"])
_EXPIRING: Final = Mode.EXPIRING
_SATISFIED: Final = Verdict.SATISFIED
_VIOLATED: Final = Verdict.VIOLATED
_PENDING: Final = Verdict.PENDING
_IDLE: Final = Finding(Verdict.UNEXERCISED)
_KEPT: Final = 32
"""Scopes of requests that ended, kept for each claim for the sake of late reports."""

_RESPONSIBLE: Final = AT["responsible"]
_COMMITTED: Final = AT["committed"]

BEGINS: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED})
"""The kinds by which a registry states a claim."""

TERMS: Final = BEGINS | {Kind.CLAIM_ACCEPTED}
"""The kinds that state the terms of a claim."""

_TEXTS: Final = 4096
"""Texts of predicates and durations whose meaning is remembered."""

predicate_of = lru_cache(_TEXTS)(parse_predicate)
duration_of = lru_cache(_TEXTS)(Duration.parse)


_identity: Final = attrgetter(*IDENTITY)


def identity_of(event: Event) -> dict[str, str]:
    """What an event states of the object that it means, the predicate in one form."""
    values = _identity(event)
    if not any(values):
        return {}
    stated = {name: value for name, value in zip(IDENTITY, values, strict=True) if value}
    if "predicate" in stated:
        stated["predicate"] = predicate_of(stated["predicate"]).plain
    return stated


@cache
def verdicts_of(name: str) -> tuple[Verdict, ...]:
    """The verdict of each state of an observer."""
    return tuple(state.verdict for state in OBLIGATIONS[name].states)


@cache
def _pending_of(name: str) -> frozenset[int]:
    """The states of an observer in which something is owed."""
    return frozenset(at for at, verdict in enumerate(verdicts_of(name)) if verdict is _PENDING)


class Stand(NamedTuple):
    """Where an observer stands in one scope: its state and registers, the place of the last line
    that moved it, and by which rule. `exercised` is false where restated events alone did.
    """

    state: int
    own: tuple[Any, ...]
    at: object = None
    rule: int | None = None
    exercised: bool = True

    def moved_as(self, other: Stand | None) -> bool:
        """Whether one line moved both into one state, by one rule: what is due is due once."""
        mine = self.state, self.at, self.rule
        return other is not None and mine == (other.state, other.at, other.rule)


@dataclass(slots=True)
class Scope:
    """The claim itself, or a request of it: registers, and where the observers stand.

    `ended` says that the request has ended. An observer that is None does not belong to it.
    """

    facts: Values
    stands: list[Stand | None]
    ended: bool = False


@cache
def _first(mode: Mode, bundle: Bundle) -> tuple[Stand, ...]:
    return tuple(
        Stand(0, tuple(register.initial for register in OBLIGATIONS[name].registers))
        for name in names_of(mode, bundle)
    )


@dataclass(eq=False)
class Claim:
    """One claim of a stream: what it states first holds, and its registers in the order of `CLAIM`.

    Attributes:
        mode: the one that judges it; None judges nothing.
        stated_mode: the word by which its first event states one.
        other_mode: the word of a later event that states another; then nothing is concluded.
        obj: what it is on; one of its own until an object is stated.
        placed: whether it was put on its object.
        start: the first position that its predicate needs; `threshold` how many it needs.
        owner: as its registration or its commitment states.
        priority: as it is stated first; `disputed` whether another one is stated as well.
        asked: the duration that its registration asks for. `duration` and `footprint` (in blocks)
            are those of the commitment, and before it those that were asked for.
        known: whether a registry holds it, an auditor's or the runtime's.
        named: whether a report named it that presupposes a claim.
        accepted: whether it was accepted; `retired` whether its owner, or its duration, ended it.
        took: the number of the event by which responsibility for it last began.
        pressed: whether its entry ended while a request in hand was in a standing conflict.
        least: the earliest time at which its duration can be over; `end` when it is; `untimed` the
            place since which that is unknown; `elapsed` whether it is.
        early: whether its entry ended before its duration was over.
        copies: in how many copies each tier has the claim, as stated without keys.
        lost: blocks that it lost and no report named; None for a block without a known id.
        waiting: the requests for which a restore of it is required.
        computed: the positions that were computed, since it was last away, while a request waited
            for its restore.
        routes: by request and kind of report, the facts not yet reported, the oldest first.
        own: the scope of the claim itself; `requests` those of the requests that it follows.
        kept: by obligation, the first breach of it, or else how it was satisfied.
        unclear: why nothing more is concluded of it; `open` the same of single obligations.
        final: whether only a late report can change its verdict.
        period: the runs of the stream that began before it.
    """

    claim_id: str
    bundle: Bundle = Bundle.CONTRACT
    mode: Mode | None = None
    stated_mode: str | None = None
    other_mode: str | None = None
    # What it states.
    stated: dict[str, str] = field(default_factory=dict)
    obj: Object = field(default_factory=Object)
    placed: bool = False
    start: int = 0
    threshold: int = UNSTATED
    owner: str | None = None
    priority: int | None = None
    disputed: bool = False
    asked: str | None = None
    duration: str | None = None
    footprint: int | None = None
    # What became of it.
    state: ClaimState = ClaimState.SUBMITTED
    facts: Values = field(default_factory=lambda: [register.initial for register in CLAIM])
    known: bool = False
    named: bool = False
    accepted: bool = False
    retired: bool = False
    took: int = 0
    pressed: bool | None = False
    least: int | None = None
    end: int | None = None
    untimed: object = None
    elapsed: bool = False
    early: bool = False
    copies: dict[str, int] = field(default_factory=dict)
    # What is still to be reported of it.
    lost: set[Block | None] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    computed: set[int] = field(default_factory=set)
    routes: dict[tuple[str, Kind], list[Any]] = field(default_factory=dict)
    # What its obligations came to.
    own: Scope = field(default_factory=lambda: Scope([r.initial for r in REQUEST], []))
    requests: OrderedDict[str, Scope] = field(default_factory=OrderedDict)
    kept: dict[str, Finding] = field(default_factory=dict)
    unclear: Reason | None = None
    open: dict[str, Reason] = field(default_factory=dict)
    final: bool = False
    period: int = 0

    def begin(self, mode: Mode | None) -> None:
        """Judge the claim by a mode from now on."""
        self.mode = mode
        self.own.stands = [] if mode is None else [*_first(mode, self.bundle)]
        for scope in self.requests.values():
            scope.stands = self._scoped()

    @property
    def names(self) -> tuple[str, ...]:
        """The obligations that it is judged by."""
        return () if self.mode is None else names_of(self.mode, self.bundle)

    # What it states.

    def needs(self, predicate: str) -> None:
        """Take the positions that a predicate needs."""
        found = predicate_of(predicate)
        self.start, self.threshold = found.start, found.threshold

    @property
    def stop(self) -> int:
        """The first position after those that its predicate needs; its extent if none is stated."""
        return self.start + self.threshold if "predicate" in self.stated else self.extent

    @property
    def extent(self) -> int:
        """The end of its own positions: of its footprint, or of all if none is stated."""
        if self.footprint is None:
            return MAX_BLOCKS
        if "predicate" not in self.stated:
            return self.footprint
        return max(self.start + self.threshold, self.footprint)

    @property
    def responsible(self) -> bool:
        """Whether the runtime is responsible for the claim."""
        return bool(self.facts[_RESPONSIBLE])

    @property
    def committed(self) -> bool:
        """Whether the claim has, or had, an entry."""
        return bool(self.facts[_COMMITTED])

    @property
    def size(self) -> int | None:
        """Blocks that it takes: what it declared, while the runtime is responsible.

        None if that is unknown: no event stated it, the end of the duration is not timed, or the
        claim ended before and is responsible again, so that its keys are not followed.
        """
        if not self.responsible:
            return 0
        if self.final or (self.lapses and self.unseen_end and not self.in_steps):
            return None
        declared: int | None = self.facts[AT["declared"]]
        return declared

    @property
    def watched(self) -> bool:
        """Whether its mode promises only telemetry, which is owed from registration on."""
        return self.mode in _WATCHED

    @property
    def live(self) -> bool:
        """Whether reports about it are owed (`spec.contract.ledgers.live`), and it goes on."""
        if self.responsible or not self.watched:
            return self.responsible
        return bool(self.facts[AT["registered"]]) and not (self.committed or self.retired)

    @property
    def over(self) -> bool:
        """Whether it has ended: its entry, or the claim before there was an entry."""
        if self.responsible:
            return False
        if self.watched and not self.committed:
            return self.retired or self.state is ClaimState.REFUSED
        return self.state in TERMINAL or self.committed

    @property
    def introduced(self) -> bool:
        """Whether its terms were stated: by a registry, or by an acceptance."""
        return self.known or self.accepted

    @property
    def entered(self) -> bool:
        """Whether anything was owed to it: it was accepted, or it is watched."""
        return self.accepted or (
            self.watched and self.introduced and self.state is not ClaimState.REFUSED
        )

    @property
    def in_steps(self) -> bool:
        """Whether its duration counts scheduler steps, which a stream does not number."""
        return self.duration is not None and duration_of(self.duration).unit is TimeUnit.STEPS

    @property
    def unseen_end(self) -> bool:
        """Whether it is unknown if its duration is over."""
        return self.untimed is not None and not self.elapsed

    @property
    def lapses(self) -> bool:
        """Whether responsibility ends at its duration."""
        return self.mode is _EXPIRING

    # What is held of it.

    def lead_in(self, pool: Pool) -> int:
        """Contiguous blocks that the GPU holds from the start of its predicate."""
        return pool.lead(self.obj, self.start, self.extent)

    def is_stored_in(self, pool: Pool) -> bool:
        """Whether the tiers have a copy of all that its predicate needs."""
        return any(self.copies.values()) or all(
            map(pool.in_tiers, pool.needs(self.obj, self.start, self.start + self.threshold))
        )

    def is_restorable_from(self, pool: Pool) -> bool:
        """Whether all that its predicate needs is on the GPU or in a tier."""
        return any(self.copies.values()) or (
            pool.lead(self.obj, self.start, self.extent, tiers=True) >= self.threshold
        )

    # What events state of it.

    @property
    def is_whole(self) -> bool:
        """Whether its object and its predicate are stated."""
        return "predicate" in self.stated and not self.stated.keys().isdisjoint(
            ("cache_identity", "object_id")
        )

    def binds(self, stated: Mapping[str, str]) -> bool:
        """Whether this is the object that the claim was first bound to."""
        return all(self.stated.get(name, value) == value for name, value in stated.items())

    def state_terms(self, event: Event, stated: Mapping[str, str]) -> str:
        """Take what an event that binds states of the claim; return what contradicts, if anything.

        The first statement holds.

        Args:
            stated: its `identity_of`.
        """
        self.stated |= stated
        if "predicate" in stated:
            self.needs(stated["predicate"])
        if event.kind not in TERMS:
            return ""
        why = self._differs(event)
        if event.kind is not Kind.CLAIM_ACCEPTED:
            self.owner = self.owner or event.owner_scope
            self.known = True
        else:
            self.accepted = True
        self._grant(event)
        self.priority = event.priority if self.priority is None else self.priority
        return why

    def _grant(self, event: Event) -> None:
        """Take footprint and duration: those of the commitment replace what was asked for."""
        commits = event.kind is Kind.CLAIM_COMMITTED
        if event.kind is Kind.CLAIM_REGISTERED:
            self.asked = self.asked or event.duration
        if commits or self.duration is None:
            self.duration = event.duration or self.duration
        if event.footprint is None:
            return
        if commits:
            self.footprint = event.footprint
        elif not self.committed:
            self.footprint = max(self.footprint or 0, event.footprint)

    def _differs(self, event: Event) -> str:
        self.disputed |= self.priority is not None and event.priority not in (None, self.priority)
        kind, duration, owner = event.kind, event.duration, event.owner_scope
        again = kind is Kind.CLAIM_REGISTERED and self.asked and duration
        if again and duration_of(self.asked or "") != duration_of(duration or ""):
            return "two durations of the claim are asked for"
        if kind is not Kind.CLAIM_ACCEPTED and len({self.owner, owner} - {None}) > 1:
            return "two owners of the claim are stated"
        return ""

    # Scopes.

    @property
    def scopes(self) -> list[Scope]:
        """The claim itself, and each request that is followed."""
        return [self.own, *self.requests.values()]

    def follow(self, request: str, facts: Values) -> Scope:
        """Follow a request from now on: its observers stand where the claim's do."""
        scope = self.requests[request] = Scope(facts, self._scoped())
        return scope

    def _scoped(self) -> list[Stand | None]:
        """The observers that are followed for each request, where they stand for the claim."""
        return [
            stand if OBLIGATIONS[name].per_request else None
            for name, stand in zip(self.names, self.own.stands, strict=True)
        ]

    def end_request(self, request: str) -> None:
        """A request ended: its scope is kept for late reports, as long as there are not many."""
        scope = self.requests.get(request)
        if scope is None:
            return
        scope.ended = True
        self.requests.move_to_end(request)
        ended = [name for name, each in self.requests.items() if each.ended]
        for name in ended[:-_KEPT]:
            self.drop_request(name)

    @property
    def may_forget(self) -> bool:
        """Whether scopes of requests that ended may have been dropped: as many are kept as may."""
        return sum(scope.ended for scope in self.requests.values()) >= _KEPT

    def leave_open_of_requests(self, request: str, at: object) -> None:
        """Conclude nothing from a late report: what the request came to may be forgotten."""
        text = f"request {request} ended, and what it came to is not remembered"
        for name in self.names:
            if OBLIGATIONS[name].per_request:
                self.leave_open(name, Reason(Code.REQUEST_FORGOTTEN, text, at))

    def drop_request(self, request: str) -> None:
        """Keep of a request what its observers came to."""
        scope = self.requests.pop(request, None)
        if scope is None:
            return
        for name, stand, own in zip(self.names, scope.stands, self.own.stands, strict=True):
            if stand is None:
                continue
            verdict = verdicts_of(name)[stand.state]
            self.keep(name, verdict, stand)
            if verdict is _PENDING and not stand.moved_as(own):
                text = f"request {request} ended, and what it owed was never settled"
                self.leave_open(name, Reason(Code.REQUEST_FORGOTTEN, text, stand.at))

    def keep(self, name: str, verdict: Verdict, stand: Stand) -> None:
        """What an observer came to stays, though its state is left; the first of the heaviest."""
        if name in self.kept and (verdict is _SATISFIED or self.kept[name].verdict is _VIOLATED):
            return
        if verdict is _VIOLATED or (verdict is _SATISFIED and stand.exercised):
            self.kept[name] = Finding(verdict, stand.at, stand.rule)

    # What it came to.

    def distrust(self, reason: Reason) -> None:
        """Nothing more is concluded of the claim."""
        self.unclear = self.unclear or reason

    def leave_open(self, name: str, reason: Reason) -> None:
        """Nothing more is concluded of one obligation."""
        self.open.setdefault(name, reason)

    @property
    def owes(self) -> bool:
        """Whether anything is pending in the scope of the claim itself."""
        return self._pending(self.own)

    @property
    def settled(self) -> bool:
        """Whether it is over, and no scope of it has anything pending or a request in hand."""
        if not self.over or self.owes:
            return False
        return not any(not scope.ended or self._pending(scope) for scope in self.requests.values())

    def _pending(self, scope: Scope) -> bool:
        for name, stand in zip(self.names, scope.stands, strict=True):
            if stand is not None and stand.state in _pending_of(name):
                return True
        return False

    def findings(self) -> dict[str, Finding]:
        """Each obligation with what it came to so far: the heaviest of all scopes.

        What was satisfied stays so when its state is left. Of several breaches the first counts.
        """
        scopes = self.scopes
        return {
            name: self._found(name, [scope.stands[place] for scope in scopes])
            for place, name in enumerate(self.names)
        }

    def _found(self, name: str, stands: Sequence[Stand | None]) -> Finding:
        found = [_finding(name, stand) for stand in stands if stand is not None]
        if (kept := self.kept.get(name)) is not None:
            found.insert(0 if kept.verdict is _VIOLATED else 1, kept)
        verdict = found[0].verdict if len(found) == 1 else pool(each.verdict for each in found)
        reason = self.unclear or self.open.get(name)
        if reason is not None and verdict is not _VIOLATED:
            return Finding(Verdict.INCONCLUSIVE, reason.at, None, reason)
        return next(each for each in found if each.verdict is verdict)


def _finding(name: str, stand: Stand) -> Finding:
    verdict = verdicts_of(name)[stand.state]
    if verdict is Verdict.UNEXERCISED or (verdict is Verdict.SATISFIED and not stand.exercised):
        return _IDLE
    return Finding(verdict, stand.at, stand.rule)


def outcome_of(claim: Claim) -> ClaimOutcome:
    """What a claim came to so far."""
    findings = claim.findings()
    if not claim.entered:
        findings = {name: _unentered(found) for name, found in findings.items()}
    verdicts = {name: found.verdict for name, found in findings.items()}
    verdict, why = decide(verdicts, absence(claim.mode, entered=claim.entered))
    return ClaimOutcome(
        claim.claim_id,
        claim.mode,
        claim.stated_mode,
        claim.other_mode,
        claim.state,
        claim.entered,
        claim.final,
        verdict,
        why,
        findings,
        claim.period,
        _is_turned_away(claim),
    )


def _is_turned_away(claim: Claim) -> bool:
    more = claim.accepted or claim.known or claim.named or claim.requests
    return claim.state is ClaimState.REFUSED and not more


def _unentered(found: Finding) -> Finding:
    """A claim that nothing was owed to cannot show that an obligation was kept."""
    return _IDLE if found.verdict is Verdict.SATISFIED else found
