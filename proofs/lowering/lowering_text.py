"""Lays out a check of the lowering relation as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from proofs.lowering.results import exit_code
from spec.cli.layout import Styled
from spec.language.prose import counted

if TYPE_CHECKING:
    from proofs.lowering.results import Case, Counterexample, LoweringCheck, Proof
    from spec.cli.layout import Page

__all__ = ["put_lowering"]

_STYLES: Final = {"proved": "green", "refuted": "red", "vacuous": "magenta", "unknown": "magenta"}
_SIGNS: Final = {False: "green", True: "red"}
_INDENT: Final = 10
_NEVER: Final = " never turns "
_SCOPE: Final = "every descriptor that the schema admits, every mode, bundle and depth"


def put_lowering(out: Page, check: LoweringCheck, *, verbose: bool = False) -> None:
    """The verdict, one line for each part, and everything that is not proved or differs.

    Args:
        verbose: each theorem, the sizes of the universe and the audited rows, too.
    """
    out.put(_headline(check), "bold")
    if not verbose:
        _put_summary(out, check)
        return
    out.put(f"{_SCOPE}; each has a case in which its premise holds, so none is vacuous\n")
    for clause, group in groupby(check.theorems, key=lambda proof: _parts(proof)[1]):
        _put_alike(out, clause, list(group))
    _put_universe(out, check)
    _put_audit(out, check)


def _put_summary(out: Page, check: LoweringCheck) -> None:
    *tables, source = check.universe
    points = sum(each.points for each in tables)
    audit = check.audit
    rows = (
        ("scope", _SCOPE),
        ("theorems", f"{', '.join(proof.name for proof in check.theorems)} (-v)"),
        ("rules", f"those of docs/lowering.md, compared with the relation in {points:,} cases"),
        ("inputs", f"each of {source.points:,} operations in its source is one that is listed"),
        ("audit", f"{audit.agree} of {len(audit.rows)} rows of {audit.descriptor} agree"),
    )
    out.grid([(Styled(name, "bold"), text) for name, text in rows], indent=2, gap=2)
    for proof in check.theorems:
        if proof.result != "proved":
            _put_alike(out, "", [proof])
    if any(each.differ for each in check.universe):
        _put_universe(out, check)
    if audit.agree < len(audit.rows):
        _put_audit(out, check)


def _headline(check: LoweringCheck) -> str:
    results = [proof.result for proof in check.theorems]
    proved = f"{results.count('proved')} of {counted(len(results), 'theorem')} proved"
    others = [f"{results.count(r)} {r}" for r in _STYLES if r != "proved" and r in results]
    seconds = sum(proof.seconds for proof in check.theorems)
    verdict = {0: "lowering fails closed", 1: "lowering is refuted"}.get(exit_code(check))
    head = f"{verdict or 'lowering is undecided'}: {', '.join([proved, *others])}"
    follows = "differs from its rules" if _differ(check) else "is as its rules say"
    return f"{head}, in {seconds:.1f} s; the relation {follows}"


def _differ(check: LoweringCheck) -> bool:
    audit = check.audit
    return any(each.differ for each in check.universe) or audit.agree < len(audit.rows)


def _parts(proof: Proof) -> tuple[str, str]:
    """The subject of a theorem, and the clause that it shares with others, if there is one."""
    about, never, clause = proof.says.partition(_NEVER)
    return (about, f"{never}{clause}".strip()) if never else (proof.says, "")


def _put_alike(out: Page, clause: str, proofs: list[Proof]) -> None:
    """Theorems that differ in their subject only: the clause and the cases once."""
    cases = {tuple(proof.witnesses.items()) for proof in proofs}
    alike = clause != "" and len(proofs) > 1 and len(cases) == 1
    if alike:
        out.put(f"What {clause}:")
    for proof in proofs:
        out.put(Styled(f"{proof.result:<8}  ", _STYLES[proof.result]).append(proof.name, "bold"))
        out.put(_parts(proof)[0] if alike else proof.says, indent=_INDENT)
        if not alike:
            _put_cases(out, proof)
        if proof.points:
            out.put(f"refuted at {'; '.join(proof.points[:3])}", "red", indent=_INDENT)
        if proof.counterexample is not None:
            _put_counterexample(out, proof.counterexample)
    if alike:
        _put_cases(out, proofs[0], each="for each ")


def _put_cases(out: Page, proof: Proof, each: str = "") -> None:
    shown = [name for name, found in proof.witnesses.items() if found == "shown"]
    lacking = [f"{name}: {found}" for name, found in proof.witnesses.items() if found != "shown"]
    if shown:
        out.put(f"{each}witness: {'; '.join(shown)}", "bright_black", indent=_INDENT)
    if lacking:
        out.put(f"{each}no witness: {'; '.join(lacking)}", "magenta", indent=_INDENT)


def _put_counterexample(out: Page, found: Counterexample) -> None:
    out.put().put(f"refuted by a row of {found.mode}, {found.bundle} bundle", indent=_INDENT)
    _put_case(out, "", found.row)
    if found.after is not None:
        _put_case(out, "and, weakened, ", found.after)


def _put_case(out: Page, lead: str, case: Case) -> None:
    labels = " and ".join(case.labels) or "no label"
    shows = f", traces show {', '.join(case.shows)}" if case.shows else ""
    out.put(f"{lead}at {case.depth}{shows}: {labels}", indent=_INDENT)
    text = "\n".join(f"{'':{_INDENT + 2}}{line}" for line in case.descriptor.splitlines())
    out.append(f"{text}\n\n")


def _put_universe(out: Page, check: LoweringCheck) -> None:
    out.put("\nThe relation, and the rules of docs/lowering.md", "bold")
    rows = []
    for each in check.universe:
        result = "as the rules say" if each is not check.universe[-1] else "listed"
        if each.differ:
            result = f"{each.differ:,} not so, the first: {each.first}"
        rows.append((each.what, f"{each.points:,}", Styled(result, _SIGNS[bool(each.differ)])))
    out.grid(rows, gap=2)


def _put_audit(out: Page, check: LoweringCheck) -> None:
    audit = check.audit
    agree = f"{audit.agree}/{len(audit.rows)}"
    head = f"The rows of {audit.descriptor}, by lower and by the tables: {agree} agree"
    out.put().put(head, "bold")
    rows = [(row.mode, row.depth, row.label, row.derived) for row in audit.rows]
    out.grid(rows, head=("mode", "depth", "lower", "tables"), gap=2)
