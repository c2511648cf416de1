"""The verdict on a mode, the sentence that says it, the summary and the table: they agree."""

from collections.abc import Callable
from functools import cache

import pytest
from msgspec.structs import replace

from proofs.check import Check
from proofs.checks.coverage import Reached
from proofs.checks.redundancy import Redundancy
from proofs.checks.results import Leaned
from proofs.receptiveness.check import Receptive
from proofs.report.details import put_check
from proofs.report.summary import put_summary
from proofs.report.table import put_row, put_total
from proofs.report.verdict import exit_code, refuting, sentence, undecided, verdict
from proofs.traces.scenario_search import FoundScenario
from spec.claims.states import Mode
from spec.cli.layout import Page
from spec.contract.modes import Bundle
from tests.proofs.shared import checked

Change = Callable[[Check], Check]
CODES = {"holds": 0, "refuted": 1, "undecided": 3}


@cache
def good() -> Check:
    """A mode that holds."""
    return checked(Mode.BEST_EFFORT)


@cache
def bad() -> Check:
    """A mode that a run refutes."""
    return checked(Mode.EXPIRING, Bundle.PAPER)


def sound(**changes: object) -> Change:
    return lambda check: replace(check, sound=replace(check.sound, **changes))


def consistent(**changes: object) -> Change:
    return lambda check: replace(check, consistent=replace(check.consistent, **changes))


def lemma(result: str) -> Change:
    return lambda check: replace(check, lemmas=[Leaned("swap", "", result, [])])


def receptive(result: str) -> Change:
    found = Receptive(result, ["strategy: idle"], [], 1, 0.0)
    return lambda check: replace(check, receptive=found)


def redundant(**changes: list[str]) -> Change:
    found = Redundancy(**{"known": {}, "unasked": [], "needed": [], "undecided": [], **changes})  # type: ignore[arg-type]
    return lambda check: replace(check, redundancy=found)


def tale(result: str) -> Change:
    return consistent(scenarios=[FoundScenario("loss", True, {}, result, 20, [], [], 0.0)])


def reached(**changes: object) -> Change:
    found = Reached(12, {"a:b": 1}, {}, [], {"c: d": 1}, [], True, 0.0)
    return consistent(reached=replace(found, **changes))


CASES: list[tuple[Change, str, str]] = [
    (sound(), "holds", "imply the one clause of the theorem, for runs of every length"),
    (sound(result="refuted", failed=["usefulness"]), "refuted", "breaks a clause"),
    (sound(result="bounded", bound=5, blocks=7), "undecided", "No run of up to 5 events, with"),
    (
        sound(result="bounded", bound=None, blocks=2),
        "undecided",
        "No run of any length, with counts",
    ),
    (sound(result="unknown", reason="cut"), "undecided", "neither proved nor refuted (cut)"),
    (lemma("proved"), "holds", "every length"),
    (lemma("failed"), "refuted", "The lemma swap fails"),
    (lemma("unknown"), "undecided", "The lemma swap is neither proved nor refuted"),
    (consistent(result="not found"), "undecided", "exercises and satisfies every obligation"),
    (consistent(result="unknown"), "undecided", "no witness was found"),
    (receptive("proved"), "holds", "every length"),
    (
        receptive("refuted"),
        "refuted",
        "A runtime cannot always keep the obligations: strategy: idle",
    ),
    (
        receptive("unknown"),
        "undecided",
        "Whether a runtime can always keep the obligations is unknown",
    ),
    (
        redundant(unasked=["claim_identity"]),
        "refuted",
        "The obligation claim_identity is redundant",
    ),
    (redundant(needed=["claim_identity"]), "refuted", "The obligation claim_identity is necessary"),
    (
        redundant(undecided=["claim_identity"]),
        "undecided",
        "Whether the obligation claim_identity is",
    ),
    (tale("found"), "holds", "every length"),
    (tale("not found"), "undecided", "No run of up to 20 events has the scenario loss"),
    (tale("unknown"), "undecided", "Whether a run has the scenario loss is unknown"),
    (reached(), "holds", "every length"),
    (reached(dead={"a:c": "a reason"}), "holds", "every length"),
    (reached(dead={"a:c": ""}), "undecided", "No run reaches a:c, and no reason is known"),
    (reached(missing=["a:c"]), "undecided", "No run reaches a:c, and no reason is known"),
    (reached(complete=False), "undecided", "Coverage is known up to 12 events only"),
    (reached(uncompared=["c: e"]), "refuted", "No run of up to 12 events compares c: e"),
    (reached(uncompared=["c: e"], complete=False), "undecided", "compares c: e"),
]


class TestVerdict:
    @pytest.mark.parametrize(("change", "expected", "said"), CASES, ids=[c[2] for c in CASES])
    def test_each_reason(self, change: Change, expected: str, said: str) -> None:
        """Each thing that can be wrong gives a verdict, an exit code, and a sentence that says
        why."""
        check = change(good())

        assert expected == verdict(check)
        assert CODES[expected] == exit_code([check])
        assert sentence(check).startswith(f"{expected}: best_effort, contract bundle. ")
        assert said in sentence(check)
        assert (expected == "refuted") == bool(refuting(check))

    def test_worst_counts(self) -> None:
        """One refuted mode refutes all; one that is undecided leaves them so."""
        cut = sound(result="unknown")(good())

        assert 1 == exit_code([good(), cut, bad()])
        assert 3 == exit_code([good(), cut])
        assert 0 == exit_code([good(), good()])
        assert 3 == exit_code([])

    def test_several_reasons(self) -> None:
        """All that refutes a mode is reported."""
        check = lemma("failed")(bad())

        assert 2 == len(refuting(check))
        assert "breaks harm; the lemma swap fails" in sentence(check)

    def test_undecided_names_all(self) -> None:
        """All that is left open is reported."""
        check = lemma("unknown")(consistent(result="not found")(good()))

        assert 2 == len(undecided(check))


def printed(act: Callable[..., None], *given: object, **named: object) -> list[str]:
    out = Page()
    act(out, *given, **named)
    return [line.rstrip() for line in str(out).splitlines()]


class TestText:
    @pytest.mark.parametrize("change", [c[0] for c in CASES], ids=[c[2] for c in CASES])
    def test_all_forms_agree(self, change: Change) -> None:
        """Summary, full text and table of a check name one verdict, within 80 columns."""
        check = change(good())
        short, long = printed(put_summary, check), printed(put_check, check)
        row = printed(put_row, check)

        assert short[0] == long[0]
        assert short[0].startswith(f"{verdict(check)}: ")
        assert verdict(check) == row[0].split()[1]
        assert all(len(line) <= 80 for line in (*short, *long, *row))
        assert len(short) <= 15

    def test_refuted(self) -> None:
        """A refutation prints its run; the theorem's line agrees with the sentence."""
        lines = printed(put_summary, bad())
        said = " ".join(" ".join(lines).split())

        assert "A run of 3 events keeps all 4 obligations and breaks harm." in said
        assert "a run breaks harm; it keeps responsibility, promise" in said
        assert "5 of 5 of the contract necessary" in said

    def test_certificate(self) -> None:
        """A certificate that was asked for is named, or it is said that there is none."""
        written = replace(good(), certificate="build/c")

        assert "  certificate  build/c" in printed(put_summary, written, certified=True)
        said = " ".join(printed(put_summary, good(), certified=True))
        assert "certificate  not written" in said
        assert not any("certificate" in line for line in printed(put_summary, good()))


class TestTable:
    def test_all_hold(self) -> None:
        """A line for each mode below one of names, and one that sums up."""
        lines = printed(put_row, good(), first=True)
        lines += printed(put_row, good())
        total = printed(put_total, [good(), good()])

        head = ["mode", "verdict", "clauses", "witness", "necessary", "seconds"]
        assert head == lines[0].split()
        expected = ["best_effort", "holds", "1", "of", "1", "proved", "3", "events", "4", "of", "4"]
        assert [expected, expected] == [line.split()[:-1] for line in lines[1:]]
        assert " ".join(total) == (
            "All 2 modes hold (contract bundle), for runs of every length and any number of blocks."
        )

    def test_one_does_not(self) -> None:
        """Each mode that does not hold is named below the table, with the reason."""
        row = printed(put_row, bad())[0]
        total = printed(put_total, [bad(), checked(Mode.BEST_EFFORT, Bundle.PAPER)])

        assert ["expiring", "refuted", "1", "of", "3", "broken"] == row.split()[:6]
        assert "1 of 2 modes hold (paper bundle)." == total[0]
        assert sentence(bad()) == " ".join(total[1:])

    def test_certificates(self) -> None:
        """Below the table stands where the certificate is, and of which modes there is none."""
        written = replace(good(), certificate="build/c")
        total = printed(put_total, [written, good()], certified=True)

        assert "certificate: build/c" in total
        assert "certificate of best_effort: not written" in " ".join(total)
