"""Compares a judge with the recorded verdicts: `python -m tests.golden.compare MODULE:FUNCTION`."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from spec.claims.states import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict
from tests.golden.traces import cases

VERDICTS: Final = Path(__file__).with_name("verdicts.json")
_FINDING: Final = re.compile(r"([A-Z]+r?)([a-z])(\d*)(?:\.(\d+))?")
_NAMES: Final = {observer.code: name for name, observer in OBLIGATIONS.items()}
_LETTERS: Final = {verdict.value[0]: verdict.value for verdict in Verdict}


class Finding(NamedTuple):
    """What an obligation of a claim came to, and at which line.

    `rule` is the violated rule, else the state of the observer or the reason of a doubt.
    """

    verdict: str
    line: int | None = None
    rule: str = ""


class Record(NamedTuple):
    """What a judge says of a trace.

    `modes` has the verdict of each mode that judges claims. `claims` has the findings by the names
    of obligations, none where no mode judges the claim, by its id; where the trace has claims of
    several streams by `ID @STREAM`. Of bad input there is the exit 2 alone.
    """

    exit: int
    modes: dict[str, str]
    claims: dict[str, dict[str, Finding]]


def packed(record: Record, rules: dict[str, int]) -> list[object]:
    """The record as it is stored; `rules` gets the numbers of rules."""

    def text(name: str, found: Finding) -> str:
        at = f"{OBLIGATIONS[name].code}{found.verdict[0]}{found.line or ''}"
        return f"{at}.{rules.setdefault(found.rule, len(rules))}" if found.rule else at

    claims = {c: " ".join(text(n, f[n]) for n in sorted(f)) for c, f in record.claims.items()}
    return [record.exit, record.modes, claims]


def recorded() -> dict[str, tuple[str, Record]]:
    """The digest and the record of each case, by its key."""
    stored = json.loads(VERDICTS.read_text(encoding="utf-8"))
    rules = ["", *stored["rules"]]

    def findings(text: str) -> Iterator[tuple[str, Finding]]:
        for code, letter, line, rule in _FINDING.findall(text):
            at = int(line) if line else None
            yield _NAMES[code], Finding(_LETTERS[letter], at, rules[int(rule or 0)])

    return {
        key: (sha, Record(code, modes, {name: dict(findings(t)) for name, t in claims.items()}))
        for key, (sha, code, modes, claims) in stored["cases"].items()
    }


def compare(judge: Callable[[bytes, Mode | None], Record], *, most: int = 20) -> dict[str, int]:
    """Print how a judge differs, `most` times of each kind; return how often of each kind."""
    found: dict[str, list[str]] = defaultdict(list)
    old = recorded()
    for case in cases():
        sha, was = old.pop(case.key, ("", None))
        if was is None or sha != sha256(case.lines).hexdigest()[:16]:
            found["trace is new" if was is None else "trace has changed"].append(case.key)
            continue
        try:
            got = judge(case.lines, case.mode)
        except Exception as error:
            found[f"judge raises {type(error).__name__}"].append(f"{case.key}: {error}")
            continue
        if case.exits and got.exit not in case.exits:
            found[f"exit {got.exit}, and {case.exits} is stated"].append(case.key)
        for kind, where in _differences(was, got):
            found[kind].append(f"{case.key}: {where}")
    found |= {"trace is absent": [*old]} if old else {}
    counts = {kind: len(found[kind]) for kind in sorted(found, key=lambda k: -len(found[k]))}
    for kind, count in counts.items():
        sys.stdout.write(f"{count:6} {kind}\n")
        sys.stdout.writelines(f"         {place}\n" for place in found[kind][:most])
    return counts


def _differences(was: Record, got: Record) -> Iterator[tuple[str, str]]:
    """Kind and place of each difference between two records."""
    if was.exit != got.exit:
        yield f"exit {was.exit} -> {got.exit}", ""
    for mode in sorted({*was.modes, *got.modes}):
        if (before := was.modes.get(mode)) != (after := got.modes.get(mode)):
            yield f"mode {before or 'absent'} -> {after or 'absent'}", mode
    for claim in sorted(was.claims.keys() ^ got.claims.keys()):
        yield f"claim is {'absent' if claim in was.claims else 'new'}", claim
    for claim in sorted(was.claims.keys() & got.claims.keys()):
        for name in sorted({*was.claims[claim], *got.claims[claim]}):
            old = was.claims[claim].get(name, Finding("absent"))
            new = got.claims[claim].get(name, Finding("absent"))
            kind = f"{'line' if old.line != new.line else 'rule'} of {old.verdict}"
            if old.verdict != new.verdict:
                kind = f"obligation {old.verdict} -> {new.verdict}"
            if old != new:
                told = [f"{f.verdict} {f.line or ''} {f.rule}".strip() for f in (old, new)]
                yield kind, f"{claim} {name}: {' -> '.join(told)}"


if __name__ == "__main__":
    module, _, function = sys.argv[1].partition(":")
    sys.exit(bool(compare(getattr(import_module(module), function), most=10**9)))
