"""Extracts evidence from traces: which obligations of a mode each file shows, and which it does
not.

An obligation is shown by the claims for which the monitor finds it satisfied. Its observer judges
the order that matters for it; that the claim was known before is seen here. A file of which
something was not understood shows nothing. One trace does not show an obligation that needs atoms:
the traces together are runs of an experiment, which has to show influence.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import yaml

from monitor.check.conclude import Asked, absent_of, concluded, found_in, obligation_report
from monitor.core import Streams
from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.input.lines import STDIN
from monitor.input.sources import Source
from monitor.pressure.judge import Influence, decide
from monitor.pressure.run import run_in
from spec.claims.claim import MAX_ID
from spec.contract.modes import MODES, Bundle
from spec.contract.supply import Order
from spec.digest import spec_digest
from spec.events.alphabet import Kind
from spec.files.yaml_text import MOST_BYTES
from spec.language.errors import SpecError
from spec.language.prose import counted, printable
from spec.language.verdicts import Verdict
from spec.lowering.evidence import MOST_FILES, SCHEMA, EvidenceFile, Shown, TraceFile, Unshown
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.vocabulary import ATOMS_FOR
from spec.stream.breaks import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from monitor.check.conclude import Found
    from monitor.input.records import At, Record
    from monitor.pressure.run import Run
    from monitor.report.verdict import Report
    from monitor.results import StreamFound
    from spec.claims.states import Mode
    from spec.stream.outcome import ClaimOutcome

__all__ = [
    "MOST_CLAIMS",
    "NoModeStated",
    "as_yaml",
    "exit_code",
    "found_at",
    "take_evidence",
]

MOST_CLAIMS: Final = 16
"""Claims of one file that are named for one obligation; further ones are counted."""

_ALL: Final = 1_000_000_000
_ENTERS: Final = (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED)
_LONGEST: Final = 200  # characters of a claim id, or of a reason, that are written
_UNTOLD: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.PENDING)
_PASSING: Final = ("/proc/", "/dev/fd/", "/dev/std")  # another file in each process
_EVERY: Final = 4096  # records between two calls of `progress`


def take_evidence(
    paths: Sequence[str],
    mode: Mode | None,
    beside: Path,
    *,
    reader_of: Callable[[str], Reader] = Reader,
    run_of: Callable[[str], Run] = run_in,
    progress: Callable[[int], None] | None = None,
) -> EvidenceFile:
    """What trace files show of the obligations of one mode, by the contract's bundle.

    Args:
        mode: None is the one that every claim states.
        beside: the folder of the evidence file, from which the traces will be found again.
        reader_of: makes the reader of a file.
        run_of: reads a file as a run of the experiment.
        progress: called from time to time with the number of bytes read, as they lie on disk.

    Raises:
        InputError: a file or a line of it cannot be read, the file cannot be found again, or there
            are over `MOST_FILES`.
        NoModeStated: no mode was asked for, and a claim states none.
        SpecError: no mode was asked for, and the claims state several.
    """
    if len(paths) > MOST_FILES:
        hint = f"give at most {MOST_FILES} traces"
        raise InputError(paths[MOST_FILES], "there are too many traces", hint=hint)
    places: dict[str, str] = {}
    for path in paths:
        if (place := found_at(path, beside)) not in places.values():
            places[path] = place
    asked = Asked(mode, limits=Limits(ended=_ALL))
    streams, seen = Streams(mode, limits=asked.limits), _Seen()
    source = Source([*places], reader_of=reader_of)
    for number, record in enumerate(source):
        if progress is not None and number % _EVERY == 0:
            progress(source.size)
        streams.take(record)
        seen.note(record)
    streams.finish()
    whole = found_in(streams, source.accounts)
    if mode is None:
        mode = _stated(concluded(asked, whole))
    barred, absent = _barred(whole, seen), absent_of(asked, whole, mode)
    found = [
        each
        for index, account in enumerate(source.accounts)
        for name in MODES[mode].names()
        for each in _found(
            _Asking(mode, name, index, barred.get(account.file) or absent),
            [(s, claim) for s in whole.streams if s.file == account.file for claim in s.claims],
            seen,
        )
    ]
    if any(isinstance(each, Shown) and each.obligation in ATOMS_FOR for each in found):
        found = _under_pressure(found, [run_of(account.file) for account in source.accounts])
    files = [
        TraceFile(path=places[account.file], sha256=account.sha256) for account in source.accounts
    ]
    document = {
        "schema": SCHEMA,
        "mode": mode,
        "bundle": Bundle.CONTRACT,
        "spec": spec_digest(),
        "files": files,
        "shown": [each for each in found if isinstance(each, Shown)],
        "unshown": [each for each in found if isinstance(each, Unshown)],
    }
    return EvidenceFile.model_validate(document)


def _under_pressure(found: list[Shown | Unshown], runs: Sequence[Run]) -> list[Shown | Unshown]:
    """What is found, less what the experiment leaves open; a trace of one claim is no run of it."""
    experiment = decide([run for run in runs if run.arm is not None])
    if experiment.influence is Influence.SHOWN and not experiment.of_model:
        return found
    where = " of a model" if experiment.of_model else ""
    why = f"pressure finds influence {experiment.influence}{where}: {experiment.why}"
    return [
        _unshown(each.obligation, each.file, Verdict.INCONCLUSIVE, why)
        if isinstance(each, Shown) and each.obligation in ATOMS_FOR
        else each
        for each in found
    ]


class NoModeStated(SpecError):
    """There is no mode that every claim states."""


def _stated(report: Report) -> Mode:
    """The one mode that the claims of some traces state."""
    modes, unjudged = [each.mode for each in report.modes], report.unjudged
    usual = modes[0] if len(modes) == 1 else "MODE"
    if unjudged.claims:
        first, rest = unjudged.claims[0], len(unjudged.claims) - 1
        more = f" ({counted(rest, 'more claim')} not judged)" if rest else ""
        cause = f"claim {first.claim_id} cannot be judged: {first.why}{more}"
        raise NoModeStated(cause, f"name the mode with --mode {first.hint or usual}")
    if len(modes) > 1:
        cause = f"evidence is of one mode, and the claims state {', '.join(modes)}"
        raise SpecError(cause, f"name one of them, such as --mode {modes[0]}")
    if not modes:
        raise NoModeStated(report.why, "name the mode with --mode MODE")
    return modes[0]


class _Seen:
    """Where claims are introduced, which files have lines of unknown kinds, and which streams are
    in which files.
    """

    def __init__(self) -> None:
        self.unknown: dict[str, str] = {}
        self.files: dict[str, dict[str, None]] = {}
        self._entries: dict[tuple[str, str, str], At] = {}

    def note(self, record: Record) -> None:
        """One line."""
        file, stream = record.at.file, record.stamp.stream
        self.files.setdefault(stream, {})[file] = None
        if record.unknown is not None:
            why = f"line {record.at.line} is of an unknown kind, {record.unknown}"
            self.unknown.setdefault(file, why)
        for event, at in record.events:
            if event.kind in _ENTERS and event.claim_id is not None:
                self._entries.setdefault((file, stream, event.claim_id), at)

    def entry(self, stream: StreamFound, claim: ClaimOutcome) -> At | None:
        """Where a claim is introduced."""
        return self._entries.get((stream.file, stream.name, claim.claim_id))


def _barred(found: Found, seen: _Seen) -> dict[str, str]:
    """The files that show nothing, whatever was satisfied in them, and why; and those that have a
    stream in common with one of them.

    Every cause stands here, and here alone: add a further one beside these.
    """
    barred: dict[str, str] = {}
    for stream in found.streams:
        for reason in stream.gaps:
            barred.setdefault(stream.file, f"{reason.text} ({reason.code.number})")
    barred |= seen.unknown
    for account in found.accounts:
        if account.rejected:
            barred[account.file] = f"{counted(account.rejected, 'line')} could not be read"
    spread = dict(barred)
    for name, files in seen.files.items():
        for worst in [file for file in files if file in barred][:1]:
            why = f"{name} is also in another file, of which {barred[worst]}"
            for file in files:
                spread.setdefault(file, why)
    return spread


def exit_code(evidence: EvidenceFile) -> int:
    """1 where anything is violated, 0 where something is shown, 3 where there is nothing."""
    if any(each.verdict == "violated" for each in evidence.unshown):
        return 1
    return 0 if evidence.shown else 3


def as_yaml(evidence: EvidenceFile) -> bytes:
    """The evidence as it is written to a file; raises SpecError where that could not be read."""
    document = evidence.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    content = text.encode()
    if len(content) > MOST_BYTES:
        raise SpecError(f"the evidence has over {MOST_BYTES} bytes", "give fewer traces")
    return content


def found_at(path: str, beside: Path) -> str:
    """The path of a trace as seen from the folder of the evidence; raises InputError."""
    piped = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    seen = path
    if "\0" not in path:
        folder, name = os.path.split(path)  # a link there may make `..` lead elsewhere
        try:
            there = os.path.join(os.path.realpath(folder), name)
            seen = os.path.relpath(there, os.path.realpath(beside))
        except OSError as error:  # the working folder was removed
            reason = f"cannot be found from the working folder: {error.strerror or error}"
            raise InputError(path, reason, hint="change to a folder that exists") from None
        piped = piped or there.startswith(_PASSING)
    if path == STDIN or piped:
        hint = "write it to a file first"
        raise InputError(path, "evidence refers to a file, and this is none", hint=hint)
    if printable(seen) != seen or len(seen) > MAX_ID:
        raise InputError(path, "its path cannot be written into the evidence", hint="move it")
    return seen


class _Asking(NamedTuple):
    """One obligation of a mode, and one file; `absent` says why nothing is shown there."""

    mode: Mode
    name: str
    file: int
    absent: str


_Claims: TypeAlias = "list[tuple[StreamFound, ClaimOutcome]]"


def _found(asking: _Asking, claims: _Claims, seen: _Seen) -> Iterator[Shown | Unshown]:
    """What one file says of one obligation: what shows it, and one claim of each that does not."""
    name, file = asking.name, asking.file
    by: dict[Verdict, list[tuple[StreamFound, ClaimOutcome, str]]] = {}
    for stream, claim in claims:
        verdict, why = _judged(asking, stream, claim, seen)
        by.setdefault(verdict, []).append((stream, claim, why))
    if Verdict.SATISFIED in by and Verdict.VIOLATED not in by:
        showing = [(stream, claim) for stream, claim, _ in by[Verdict.SATISFIED]]
        yield _shown(name, file, showing, seen)
    for verdict in _UNTOLD:
        if verdict in by:
            _, claim, why = by[verdict][0]
            yield _unshown(name, file, verdict, f"claim {claim.claim_id}: {why}")
    if not by.keys() - {Verdict.UNEXERCISED}:
        why = by[Verdict.UNEXERCISED][0][2] if by else "there is no claim in this file"
        yield _unshown(name, file, Verdict.UNEXERCISED, why)


def _judged(
    asking: _Asking, stream: StreamFound, claim: ClaimOutcome, seen: _Seen
) -> tuple[Verdict, str]:
    """What one claim shows of an obligation, and why not."""
    if claim.mode is not asking.mode:
        return Verdict.UNEXERCISED, f"the claim is of another mode, {claim.mode}"
    found = claim.findings[asking.name]
    why = obligation_report(asking.name, found).why
    if found.verdict is Verdict.VIOLATED:
        return found.verdict, why
    if claim.other_mode in MODES:  # the recorded dialects have other words
        return Verdict.UNEXERCISED, f"the claim is of another mode, {claim.other_mode}"
    if asking.absent:
        return Verdict.INCONCLUSIVE, asking.absent
    entry, at = seen.entry(stream, claim), cast("At | None", found.at)
    placed = entry is not None and at is not None and at.line < entry.line
    if placed and found.verdict is Verdict.SATISFIED:
        return Verdict.INCONCLUSIVE, "it was named before the claim was registered"
    return found.verdict, why


def _shown(name: str, file: int, claims: _Claims, seen: _Seen) -> Shown:
    named = claims[:MOST_CLAIMS]
    places = [seen.entry(stream, claim) for stream, claim in named]
    places += [cast("At | None", claim.findings[name].at) for _, claim in named]
    numbers = {at.line if at.sequence is None else at.sequence for at in places if at is not None}
    return Shown(
        obligation=name,
        file=file,
        sequences=tuple(sorted(numbers)),
        claims=tuple(_short(claim.claim_id) for _, claim in named),
        verdict="satisfied",
        order=tuple(dict.fromkeys((Order.CLAIM_BEFORE_EVENTS, RELEVANT_ORDER[name]))),
        more=len(claims) - len(named),
    )


def _unshown(name: str, file: int, verdict: Verdict, why: str) -> Unshown:
    said: Any = verdict.value
    return Unshown(obligation=name, file=file, verdict=said, why=_short(why))


def _short(text: str) -> str:
    """`text` as it can be written on one line of a file, cut short."""
    shown = printable(text).strip() or repr(text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
