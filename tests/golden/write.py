"""Writes `verdicts.json` by the judge of this tree: `python -m tests.golden.write`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from hashlib import sha256
from io import BytesIO

from monitor.check.files import EXIT_CODES, check
from monitor.input.errors import InputError
from monitor.report.verdict import ObligationReport
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from tests.golden.compare import VERDICTS, Finding, Record, packed, recorded
from tests.golden.traces import cases

_RULES = {
    name: {state.says: state.name for state in observer.states}
    | {observer.states[0].says: ""}
    | {rule.why: rule.name for rule in observer.rules}
    for name, observer in OBLIGATIONS.items()
}


def judge(lines: bytes, mode: Mode | None) -> Record:
    """The record of what `check` says of a trace."""
    try:
        report = check(["-"], mode, Bundle.CONTRACT, stdin=BytesIO(lines))
    except InputError:
        return Record(2, {}, {})
    away = [*report.unjudged.claims, *report.unjudged.turned_away]
    several = len({*(c.stream for c in report.claims), *(c.stream for c in away)}) > 1
    found = [(c.claim_id, c.stream, c.obligations) for c in report.claims]
    claims = {
        f"{claim} @{stream}" if several else claim: {n: _finding(n, o) for n, o in each.items()}
        for claim, stream, each in [*found, *((c.claim_id, c.stream, {}) for c in away)]
    }
    modes = {part.mode.value: part.verdict.value for part in report.modes}
    return Record(EXIT_CODES[report.verdict], modes, claims)


def _finding(name: str, found: ObligationReport) -> Finding:
    """The finding, with the name of the rule or the state that its reason belongs to."""
    line = None if found.at is None else found.at.line
    return Finding(found.verdict.value, line, _RULES[name].get(found.why, found.why.split(":")[0]))


def main() -> None:
    """Write the verdicts, and print how many there are of each family."""
    rows: dict[str, str] = {}
    numbers: dict[str, int] = {"": 0}
    families: dict[str, Counter[int]] = {}
    for case in cases():
        assert case.key not in rows, case.key
        record = judge(case.lines, case.mode)
        row = [sha256(case.lines).hexdigest()[:16], *packed(record, numbers)]
        rows[case.key] = json.dumps(row, separators=(",", ":"))
        families.setdefault(case.name.split("/")[0], Counter())[record.exit] += 1
        if case.exits and record.exit not in case.exits:
            sys.stderr.write(f"{case.key}: exit {record.exit}, and {case.exits} is stated\n")
    cases_of = ",\n".join(f"{json.dumps(key)}:{row}" for key, row in sorted(rows.items()))
    rules = json.dumps([*numbers][1:], indent=0)
    VERDICTS.write_text(f'{{"rules":{rules},\n"cases":{{\n{cases_of}\n}}}}\n', encoding="utf-8")
    assert len(recorded()) == len(rows)
    for family, exits in families.items():
        sys.stdout.write(f"{family:40} {exits.total():5} {dict(sorted(exits.items()))}\n")


if __name__ == "__main__":
    main()
