"""Prints a check of the lowering relation as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proofs.lowering.results import exit_code
from spec.language.prose import counted

if TYPE_CHECKING:
    from rich.console import Console

    from proofs.lowering.results import Case, Counterexample, LoweringCheck, Proof

__all__ = ["print_lowering"]

_STYLES: Final = {"proved": "green", "refuted": "red", "vacuous": "magenta", "unknown": "magenta"}
_INDENT: Final = 10
_NEVER: Final = " never turns "
_SCOPE: Final = "every descriptor that the schema admits, every mode, bundle and depth"


def print_lowering(out: Console, check: LoweringCheck, *, verbose: bool = False) -> None:
    """Print the verdict, one line for each part, and everything that is not proved or differs.

    Args:
        verbose: print each theorem, the sizes of the universe and the audited rows, too.
    """
    out.print(Text(_headline(check), "bold"))
    if not verbose:
        _print_summary(out, check)
        return
    out.print(f"{_SCOPE}; each has a case in which its premise holds, so none is vacuous\n")
    for clause, group in groupby(check.theorems, key=lambda proof: _parts(proof)[1]):
        _print_alike(out, clause, list(group))
    _print_universe(out, check)
    _print_audit(out, check)


def _print_summary(out: Console, check: LoweringCheck) -> None:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    *tables, source = check.universe
    points = sum(each.points for each in tables)
    audit = check.audit
    for name, text in (
        ("scope", _SCOPE),
        ("theorems", f"{', '.join(proof.name for proof in check.theorems)} (-v)"),
        ("rules", f"those of docs/lowering.md, compared with the relation in {points:,} cases"),
        ("inputs", f"each of {source.points:,} operations in its source is one that is listed"),
        ("audit", f"{audit.agree} of {len(audit.rows)} rows of {audit.descriptor} agree"),
    ):
        rows.add_row(Text(name, "bold"), Text(text))
    out.print(Padding(rows, (0, 0, 0, 2), expand=False))
    for proof in check.theorems:
        if proof.result != "proved":
            _print_alike(out, "", [proof])
    if any(each.differ for each in check.universe):
        _print_universe(out, check)
    if audit.agree < len(audit.rows):
        _print_audit(out, check)


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


def _print_alike(out: Console, clause: str, proofs: list[Proof]) -> None:
    """Print theorems that differ in their subject only: the clause and the cases once."""
    cases = {tuple(proof.witnesses.items()) for proof in proofs}
    alike = clause != "" and len(proofs) > 1 and len(cases) == 1
    if alike:
        out.print(Text(f"What {clause}:"))
    for proof in proofs:
        head = Text(f"{proof.result:<8}  ", _STYLES[proof.result]).append(proof.name, "bold")
        out.print(head)
        out.print(_indented(Text(_parts(proof)[0] if alike else proof.says)))
        if not alike:
            _print_cases(out, proof)
        if proof.points:
            out.print(_indented(Text(f"refuted at {'; '.join(proof.points[:3])}", "red")))
        if proof.counterexample is not None:
            _print_counterexample(out, proof.counterexample)
    if alike:
        _print_cases(out, proofs[0], each="for each ")


def _print_cases(out: Console, proof: Proof, each: str = "") -> None:
    shown = [name for name, found in proof.witnesses.items() if found == "shown"]
    lacking = [f"{name}: {found}" for name, found in proof.witnesses.items() if found != "shown"]
    if shown:
        out.print(_indented(Text(f"{each}witness: {'; '.join(shown)}", "bright_black")))
    if lacking:
        out.print(_indented(Text(f"{each}no witness: {'; '.join(lacking)}", "magenta")))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, _INDENT))


def _print_counterexample(out: Console, found: Counterexample) -> None:
    out.print(
        Padding(f"refuted by a row of {found.mode}, {found.bundle} bundle", (1, 0, 0, _INDENT))
    )
    _print_case(out, "", found.row)
    if found.after is not None:
        _print_case(out, "and, weakened, ", found.after)


def _print_case(out: Console, lead: str, case: Case) -> None:
    labels = " and ".join(case.labels) or "no label"
    shows = f", traces show {', '.join(case.shows)}" if case.shows else ""
    out.print(Padding(f"{lead}at {case.depth}{shows}: {labels}", (0, 0, 0, _INDENT)))
    text = "\n".join(f"{'':{_INDENT + 2}}{line}" for line in case.descriptor.splitlines())
    out.print(Text(f"{text}\n"), soft_wrap=True)


def _print_universe(out: Console, check: LoweringCheck) -> None:
    out.print(Text("\nThe relation, and the rules of docs/lowering.md", "bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for each in check.universe:
        result = "as the rules say" if each is not check.universe[-1] else "listed"
        if each.differ:
            result = f"{each.differ:,} not so, the first: {each.first}"
        table.add_row(
            each.what, f"{each.points:,}", Text(result, "red" if each.differ else "green")
        )
    out.print(table)


def _print_audit(out: Console, check: LoweringCheck) -> None:
    audit = check.audit
    agree = f"{audit.agree}/{len(audit.rows)}"
    head = f"\nThe rows of {audit.descriptor}, by lower and by the tables: {agree} agree"
    out.print(Text(head, "bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("mode", "depth", "lower", "tables"):
        table.add_column(name, no_wrap=True)
    for row in audit.rows:
        table.add_row(row.mode, row.depth, row.label, row.derived)
    out.print(table)
