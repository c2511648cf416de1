"""Renders evidence as text: what each file shows of each obligation, and why no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from spec.cli.layout import STYLES, Page, Styled
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.digest import SHORT
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spec.lowering.evidence import EvidenceFile

__all__ = ["put_evidence", "put_preconditions"]

_MOST_NUMBERS: Final = 8


class _Condition(Protocol):
    """A precondition of a join, as evidence has it or a run."""

    @property
    def precondition(self) -> str: ...
    @property
    def met(self) -> str: ...
    @property
    def evidence(self) -> str: ...


def put_evidence(out: Page, evidence: EvidenceFile) -> None:
    """The evidence as `monitor evidence` prints it."""
    out.put(_headline(evidence), "bold").put()
    for number, trace in enumerate(evidence.files):
        out.append(f"file {number}  {printable(trace.path)}\n")
        out.put(f"sha256 {trace.sha256[:SHORT]}", indent=8)
    out.put()
    if evidence.shown:
        out.grid(_shown(evidence), head=("", "obligation", "file", "claims", "events"), gap=2).put()
    for (file, verdict, why), names in _unshown(evidence).items():
        head = Styled(f"file {file}  {verdict} ", STYLES[verdict])
        out.put(head.append(", ".join(names))).put(printable(why), indent=8)
    if evidence.registry is not None:
        put_preconditions(out, evidence.preconditions)


def put_preconditions(out: Page, found: Sequence[_Condition]) -> None:
    """The preconditions of a join: those that are not met, and how many are."""
    unmet = [each for each in found if each.met != "met"]
    met = len(found) - len(unmet)
    out.put(f"preconditions of a telemetry join: {met} of {len(found)} met")
    if unmet:
        rows = [(each.precondition, each.met, printable(each.evidence)) for each in unmet]
        out.grid(rows, indent=2, gap=2)
    out.put("A join observes: it is no evidence of enforcement, whatever it shows.")


def _headline(evidence: EvidenceFile) -> str:
    names = MODES[evidence.mode].names(evidence.bundle)
    shown = {item.obligation for item in evidence.shown}
    broken = {item.obligation: None for item in evidence.unshown if item.verdict == "violated"}
    violated = f"violated: {', '.join(broken)}; " if broken else ""
    number = len(shown) or "none"
    return f"{violated}{number} of the {counted(len(names), 'obligation')} of {evidence.mode} shown"


def _shown(evidence: EvidenceFile) -> Iterator[tuple[str, ...]]:
    for item in evidence.shown:
        code, claims = OBLIGATIONS[item.obligation].code, len(item.claims) + item.more
        yield code, item.obligation, str(item.file), str(claims), _some(item.sequences)


def _unshown(evidence: EvidenceFile) -> dict[tuple[int | None, str, str], list[str]]:
    """Obligations that are not shown, those for one and the same reason together."""
    names: dict[tuple[int | None, str, str], list[str]] = {}
    for each in evidence.unshown:
        names.setdefault((each.file, each.verdict, each.why), []).append(each.obligation)
    return names


def _some(numbers: tuple[int, ...]) -> str:
    rest = len(numbers) - _MOST_NUMBERS
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(map(str, numbers[:_MOST_NUMBERS])) + more
