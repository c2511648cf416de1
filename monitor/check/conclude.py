"""Makes the report from what was found in all files.

Files may be judged in several processes: what they found is joined, in the order of the files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from monitor.input.errors import utf8
from monitor.input.records import Disorder
from monitor.report.verdict import (
    SCHEMA,
    Applies,
    BreakReport,
    ClaimReport,
    Events,
    Forgotten,
    Input,
    ModeChoice,
    ModeReport,
    ObligationReport,
    Place,
    Report,
    Trust,
    Unjudged,
    UnjudgedClaim,
)
from monitor.results import USUAL, Ended, Occurred, obligation_said, owes_nothing
from spec import __version__
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.digest import spec_digest
from spec.events.alphabet import FACTS, Kind
from spec.language.prose import counted
from spec.language.verdicts import Verdict, pool
from spec.stream.breaks import Limits
from spec.stream.codes import CODES, Code, Reason
from spec.stream.outcome import ModeVerdict, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.input.records import Account, At
    from monitor.results import StreamFound
    from monitor.streams import AnyStreams
    from spec.stream.outcome import ClaimOutcome, Finding

__all__ = [
    "Asked",
    "Found",
    "absent_of",
    "concluded",
    "found_in",
    "obligation_report",
    "place_of",
]


class Asked(NamedTuple):
    """What was asked for. `mode` is None where each claim is judged by the mode that it states."""

    mode: Mode | None
    bundle: Bundle = Bundle.CONTRACT
    strict: bool = False
    claim: str | None = None
    limits: Limits = USUAL


@dataclass
class Found:
    """What was found in some files."""

    accounts: list[Account] = field(default_factory=list)
    occurred: Occurred = field(default_factory=Occurred)
    streams: list[StreamFound] = field(default_factory=list)

    def join(self, later: Found) -> None:
        """Add what was found in files that come after these."""
        self.accounts += later.accounts
        self.occurred.join(later.occurred)
        self.streams += later.streams


def found_in(streams: AnyStreams, accounts: Sequence[Account]) -> Found:
    """What was found in streams that are finished."""
    return Found([*accounts], streams.occurred, streams.found())


class _Part(NamedTuple):
    """What the claims of one mode came to: each that is listed with its stream, and the others."""

    claims: list[tuple[StreamFound, ClaimOutcome]]
    ended: Ended


def concluded(asked: Asked, found: Found) -> Report:
    """The report on what was found."""
    parts = _parts(asked, found)
    absent = _absent(asked, found)
    theorem = _theorem(found)
    modes = [
        _mode_report(asked, found, mode, parts, absent, theorem) for mode in _modes(asked, parts)
    ]
    unjudged = Unjudged([])
    others: dict[Mode, int] = {}
    if asked.mode is None:
        unjudged = _unjudged(parts.get(None))
        verdict, why, code = _pooled(asked, found, modes, unjudged)
    else:
        sizes = _sizes(parts)
        others = {m: sizes[m] for m in Mode if m != asked.mode and sizes.get(m)}
        verdict, why, code = modes[0].verdict, modes[0].why, modes[0].code
    events, order = found.occurred, _order(found.accounts)
    facts = [kind for kind in Kind if kind in FACTS]
    return Report(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        inputs=[_input(each) for each in found.accounts],
        mode=ModeChoice.AUTO if asked.mode is None else ModeChoice(asked.mode),
        bundle=asked.bundle,
        strict=asked.strict,
        verdict=verdict,
        why=why,
        obligations=_obligations(modes),
        events=Events(
            events.read,
            dict(events.unknown),
            events.rejected,
            duplicates=order.duplicates,
            reordered=order.held,
            late=order.late,
            contradicting=order.contradicting,
        ),
        claims=[
            _claim_report(stream, claim)
            for part in modes
            for stream, claim in parts[part.mode].claims
        ],
        trust=Trust(
            {str(kind): events.kinds[kind] for kind in facts if events.kinds[kind]},
            [str(kind) for kind in facts if kind in events.derived],
        ),
        forgotten=_forgotten_of(modes),
        others=others,
        theorem=theorem if modes else Applies(False, None, "no claim was judged"),
        claim=asked.claim,
        breaks=[_break(stream, reason) for stream in found.streams for reason in stream.breaks],
        modes=modes,
        unjudged=unjudged,
        code=code,
        reason=CODES[code].title if code else "",
    )


# The claims, by mode.


def _parts(asked: Asked, found: Found) -> dict[Mode | None, _Part]:
    parts: dict[Mode | None, _Part] = {}
    if asked.mode is not None:
        parts[asked.mode] = _Part([], Ended())
    for stream in found.streams:
        for claim in stream.claims:
            if asked.claim in (None, claim.claim_id):
                part = parts.setdefault(claim.mode, _Part([], Ended()))
                part.claims.append((stream, claim))
        if asked.claim is None:
            for mode in {mode for mode, _ in stream.ended.verdicts}:
                parts.setdefault(mode, _Part([], Ended())).ended.join(stream.ended.of(mode))
    return parts


def _modes(asked: Asked, parts: dict[Mode | None, _Part]) -> list[Mode]:
    return [m for m in Mode if m in parts] if asked.mode is None else [asked.mode]


def _sizes(parts: dict[Mode | None, _Part]) -> dict[Mode | None, int]:
    return {m: len(p.claims) + p.ended.verdicts.total() for m, p in parts.items()}


# Verdicts.


def _absent(asked: Asked, found: Found) -> Reason | None:
    """What keeps everything from being judged, if anything."""
    if rejected := found.occurred.rejected:
        return Reason(Code.NOT_UNDERSTOOD, f"{counted(rejected, 'line')} could not be read")
    if late := _order(found.accounts).late:
        return Reason(Code.LINES_LATE, f"{counted(late, 'line')} came too late and left out")
    if asked.claim is not None and not any(
        claim.claim_id == asked.claim for stream in found.streams for claim in stream.claims
    ):
        return Reason(Code.CLAIM_ABSENT, f"claim {asked.claim} does not occur")
    return None


def _mode_report(
    asked: Asked,
    found: Found,
    mode: Mode,
    parts: dict[Mode | None, _Part],
    absent: Reason | None,
    theorem: Applies,
) -> ModeReport:
    claims, ended = parts[mode]
    obligations = {
        name: pool(
            {
                *(claim.findings[name].verdict for _, claim in claims),
                *(v for _, each, v in ended.obligations if each == name),
            }
        )
        for name in MODES[mode].names(asked.bundle)
    }
    absent = absent or _mixed(found, mode) or _gap(found.streams)
    absent = absent or _no_claim(asked, mode, parts) or _torn(found.streams, mode)
    verdict, why = decide(obligations, absent.text if absent else "", strict=asked.strict)
    code = absent.code if absent and verdict is ModeVerdict.INCONCLUSIVE else None
    forms = {s.form.name for s, claim in claims if claim.stated_mode and s.form.name != "canonical"}
    return ModeReport(
        mode=mode,
        verdict=verdict,
        why=why,
        obligations=obligations,
        forgotten=_forgotten(ended),
        theorem=theorem,
        read_from=sorted(forms) if asked.mode is None else [],
        code=code.number if code else "",
        reason=code.title if code else "",
    )


def absent_of(asked: Asked, found: Found, mode: Mode) -> str:
    """Why no claim of a mode can be kept; empty where each can."""
    parts = _parts(asked, found)
    absent = _absent(asked, found) or _no_claim(asked, mode, parts) or _torn(found.streams, mode)
    return absent.text if absent else ""


def _mixed(found: Found, mode: Mode) -> Reason | None:
    """Which claim asked for a mode and was accepted in another, if this is one of the two."""
    for stream in found.streams:
        for claim in stream.claims:
            both = claim.stated_mode, claim.other_mode
            if mode in both and {*both} <= MODES.keys():
                asked, accepted = both
                text = f"claim {claim.claim_id} asked for {asked} and was accepted in {accepted}"
                return Reason(Code.MODE_CONTRADICTS, text)
    return None


def _no_claim(asked: Asked, mode: Mode, parts: dict[Mode | None, _Part]) -> Reason | None:
    """Why there is no claim of a mode to which anything is owed; None where there is one."""
    part = parts.get(mode, _Part([], Ended()))
    if part.ended.entered.total() or any(claim.entered for _, claim in part.claims):
        return None
    watched = MODES[mode].constants["watched"]
    text, code = "no accepted claim", Code.NONE_ACCEPTED
    if watched:
        text, code = "no registered claim", Code.NONE_REGISTERED
    if others := sorted(str(m) for m in parts if m not in (None, mode)):
        text += f" of this mode, only of {', '.join(others)}"
        code = code if asked.mode is None or part.claims else Code.OTHER_MODES
    return Reason(code, text)


def _gap(streams: Iterable[StreamFound]) -> Reason | None:
    """The first place at which a stream lacks events or contradicts itself."""
    for stream in streams:
        for reason in stream.gaps:
            named = f"{reason.code.number} {reason.code.title}"
            return Reason(reason.code, f"stream {stream.name}: {reason.text} ({named})")
    return None


def _torn(streams: Sequence[StreamFound], mode: Mode) -> Reason | None:
    """Why the claims of a mode cannot be judged in a stream of which several files have a part;
    None if they can.

    Each file is judged by itself, so a claim that lives on in the next file cannot be.
    """
    parts: dict[str, list[StreamFound]] = {}
    for stream in streams:
        parts.setdefault(stream.name, []).append(stream)
    for name, several in parts.items():
        if len(several) == 1 or not any(part.entered(mode) for part in several):
            continue
        if _is_divided(several, mode):
            entry = "registered" if MODES[mode].constants["watched"] else "accepted"
            text = f"run {name} continues in a file in which its claims are not {entry}"
            return Reason(Code.RUN_CONTINUES, text)
        for part in several:
            if mode in part.open and any(part.may_go_on_in(e) for e in several if e is not part):
                what = "continues in another file, and claims are alive where one file ends"
                return Reason(Code.RUN_CONTINUES, f"stream {name} {what}")
    return None


def _is_divided(parts: Sequence[StreamFound], mode: Mode) -> bool:
    """Whether one part has claims that entered in another."""
    if not all(part.entered(mode) for part in parts):
        return True
    claims = [claim for part in parts for claim in part.claims if claim.mode in (mode, None)]
    inside = {claim.claim_id for claim in claims if claim.entered}
    return any(claim.claim_id in inside for claim in claims if not claim.entered)


def _pooled(
    asked: Asked, found: Found, modes: Sequence[ModeReport], unjudged: Unjudged
) -> tuple[ModeVerdict, str, str]:
    """It is violated if a mode is, and kept if each is and no claim is left unjudged. With what
    decided it, and its code if it has one.
    """

    def having(verdict: ModeVerdict) -> str:
        by_why: dict[str, list[str]] = {}
        for each in modes:
            if each.verdict is verdict:
                by_why.setdefault(each.why, []).append(each.mode)
        if len(modes) == 1:
            return next(iter(by_why), "")
        return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_why.items())

    if broken := having(ModeVerdict.VIOLATED):
        return ModeVerdict.VIOLATED, broken, ""
    if why := _left_unjudged(unjudged):
        return ModeVerdict.INCONCLUSIVE, why, Code.NO_MODE.number
    if not modes:
        absent = _absent(asked, found) or _gap(found.streams)
        absent = absent or Reason(Code.NONE_ACCEPTED, "no claim")
        return ModeVerdict.INCONCLUSIVE, absent.text, absent.code.number
    if unclear := having(ModeVerdict.INCONCLUSIVE):
        code = next((each.code for each in modes if each.verdict is ModeVerdict.INCONCLUSIVE), "")
        return ModeVerdict.INCONCLUSIVE, unclear, code
    return ModeVerdict.KEPT, having(ModeVerdict.KEPT), ""


def _left_unjudged(unjudged: Unjudged) -> str:
    number = len(unjudged.claims) + unjudged.forgotten
    if number == 1 and unjudged.claims:
        return f"claim {unjudged.claims[0].claim_id} cannot be judged: {unjudged.claims[0].why}"
    return f"{counted(number, 'claim')} cannot be judged by a mode of their own" if number else ""


def _unjudged(part: _Part | None) -> Unjudged:
    """The claims that no mode judges."""
    if part is None:
        return Unjudged([])
    owed, away = list[UnjudgedClaim](), list[UnjudgedClaim]()
    for stream, claim in part.claims:
        stated = claim.stated_mode
        listed = UnjudgedClaim(
            claim_id=claim.claim_id,
            stream=utf8(stream.name),
            state=claim.state,
            why="it states no mode" if stated is None else f"{stated} is no mode of the contract",
            declared_mode=stated,
            hint=stream.form.usual,
        )
        (away if owes_nothing(claim) else owed).append(listed)
    gone = part.ended.verdicts.total()
    return Unjudged(owed, gone - part.ended.away, away, part.ended.away)


def _obligations(modes: Sequence[ModeReport]) -> dict[str, Verdict]:
    names = dict.fromkeys(name for each in modes for name in each.obligations)
    return {n: pool(e.obligations[n] for e in modes if n in e.obligations) for n in names}


def _forgotten(ended: Ended) -> Forgotten:
    by_name: dict[str, dict[Verdict, int]] = {}
    for (_, name, verdict), number in ended.obligations.items():
        by_name.setdefault(name, {})[verdict] = number
    verdicts = {verdict: number for (_, verdict), number in ended.verdicts.items()}
    return Forgotten(ended.verdicts.total() - ended.unlisted.total(), verdicts, by_name)


def _forgotten_of(modes: Sequence[ModeReport]) -> Forgotten:
    if len(modes) == 1:
        return modes[0].forgotten
    verdicts: Counter[ModeVerdict] = Counter()
    obligations: dict[str, Counter[Verdict]] = {}
    number = sum(each.forgotten.claims for each in modes)
    for each in modes:
        verdicts.update(each.forgotten.verdicts)
        for name, found in each.forgotten.obligations.items():
            obligations.setdefault(name, Counter()).update(found)
    return Forgotten(number, dict(verdicts), {n: dict(f) for n, f in obligations.items()})


def _theorem(found: Found) -> Applies:
    """Whether the theorem applies to what was read."""
    strange = found.occurred.strange
    places: list[tuple[At | None, str]] = [] if strange is None else [strange]
    places += [(s.left.at, s.left.text) for s in found.streams if s.left is not None]  # type: ignore[misc]
    if not places:
        if found.occurred.rejected:
            return Applies(False, None, "lines could not be read")
        return Applies(True)
    order = {account.file: number for number, account in enumerate(found.accounts)}
    at, why = min(
        places, key=lambda p: (0, 0) if p[0] is None else (order.get(p[0].file, 0), p[0].line)
    )
    return Applies(False, None if at is None else place_of(at), why)


# What is listed.


def _claim_report(stream: StreamFound, claim: ClaimOutcome) -> ClaimReport:
    return ClaimReport(
        claim.claim_id,
        utf8(stream.name),
        claim.state,
        claim.verdict,
        {name: obligation_report(name, each) for name, each in claim.findings.items()},
        claim.why,
        claim.stated_mode,
        claim.mode,
        claim.period + 1,
        claim.entered,
    )


def obligation_report(name: str, found: Finding) -> ObligationReport:
    """What one obligation of a claim came to, with why in words."""
    place = None if found.at is None else place_of(found.at)  # type: ignore[arg-type]
    return ObligationReport(found.verdict, place, *obligation_said(name, found))


def _break(stream: StreamFound, reason: Reason) -> BreakReport:
    at = None if reason.at is None else place_of(reason.at)  # type: ignore[arg-type]
    about = utf8(stream.file), utf8(stream.name)
    return BreakReport(*about, reason.code.number, reason.code.title, reason.text, at)


def _order(accounts: Iterable[Account]) -> Disorder:
    """What was out of order in some files, as far as that was looked at."""
    found = Disorder()
    for each in (account.disorder for account in accounts if account.disorder is not None):
        found.add(each)
    return found


def _input(account: Account) -> Input:
    rejection = "" if account.rejection is None else utf8(str(account.rejection))
    return Input(
        utf8(account.file),
        account.sha256,
        account.lines,
        account.rejected,
        rejection,
        utf8(account.form),
    )


def place_of(at: At) -> Place:
    """Where something was read."""
    return Place(utf8(at.file), at.line, at.sequence)
