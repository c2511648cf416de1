"""The table of what must come out of the real engine, row by row, with every twin.

With `--keep FOLDER` the traces stay there, for `python -m tests_vllm.witness FOLDER`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monitor.check.files import EXIT_CODES
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.settings.config import ENFORCED, Drill
from spec.events.alphabet import CONFLICT_ACTIONS, FACTS, Kind
from spec.language.verdicts import Verdict
from tests_vllm.conftest import Make
from tests_vllm.later import TRIED_LATER
from tests_vllm.others import OTHERS, UNARMED
from tests_vllm.rows import AHEAD, Setting, ordered, story
from tests_vllm.stage import Played, end_of, play
from tests_vllm.table import LEFT_OUT, ROWS, SWEEP

ADAPTER: Any = adapter_of(installed())[0]
MORE = {**OTHERS, **(TRIED_LATER if ADAPTER.tried.several else {})}
ALL = {**ROWS, **MORE, **SWEEP}
_SUFFIX = re.compile("-[0-9a-f]{8}$")  # of a request id, in the id of its pin
TWINS = [(name, twin) for name, row in ALL.items() for twin in row.twins]
Stage = Callable[[str, str, Setting], Played]


@pytest.fixture(scope="session")
def staged(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Stage:
    """Plays a row with some settings, under a name; once in a session.

    Rows with one model are played at one place, which is part of the cache identity: so they can be
    runs of one experiment.
    """
    keep = pytestconfig.getoption("keep")
    at = Path(keep) if keep else tmp_path_factory.mktemp("table")
    played: dict[tuple[str, str], Played] = {}

    def stage(name: str, twin: str, settings: Setting) -> Played:
        if (name, twin) not in played:
            row = ALL[name]
            folder = at / f"{name} {twin}".strip().replace(",", "").replace(" ", "-")
            stand = at / f"of-{row.model or 'usual'}"
            made = play(row, stand, settings)
            stand.rename(folder)
            played[name, twin] = replace(made, trace=folder / made.trace.name)
            due = 1 if twin in row.twins else row.code
            expected = {"trace": played[name, twin].trace.name, "mode": row.mode, "code": due}
            setting = {**row.settings, **settings}
            drilled = setting.get("drill", Drill())
            expected["model"] = "vllm_offload" if row.tier else "vllm_pool"
            if name in MORE:
                del expected["model"]  # the models have one cache
            expected["enforced"] = bool(setting.get("enforce", ENFORCED))
            expected["honest"] = not (drilled.suppress or drilled.misattribute)
            (folder / "expected.json").write_text(json.dumps(expected))
        return played[name, twin]

    return stage


def code(played: Played) -> int:
    return EXIT_CODES[played.report.verdict]


def facts(played: Played) -> list[str]:
    return ordered(event.kind for event in played.events if event.kind in FACTS)


@pytest.mark.parametrize("name", ALL)
class TestRow:
    def test_outcome(self, staged: Stage, name: str) -> None:
        """Requests end so, so many blocks are victims, this is told in this order, and the check
        exits as it should."""
        row, played = ALL[name], staged(name, "", {})
        assert row.ends == " ".join(map(end_of, played.answers))
        assert row.looks == tuple(played.looks)
        assert ordered(row.told.split()) == ordered(story(played.events).split())
        evicted = [event for event in played.events if event.kind is Kind.BLOCK_EVICTED]
        victims = sum(len(event.block_ids) for event in evicted)
        assert row.victims <= victims <= row.victims + AHEAD
        assert row.code == code(played), played.report.why
        if row.code == 3:
            assert "no accepted claim" == played.report.why

    def test_blame(self, staged: Stage, name: str) -> None:
        """A client that is refused is told of these claims and of this sum; so is the trace."""
        row, played = ALL[name], staged(name, "", {})
        told = [a.metadata["refusal"] for a in played.answers if "refusal" in a.metadata]
        named = [tuple(refusal["blocking_claim_ids"]) for refusal in told]
        assert row.named == tuple(_SUFFIX.sub("", each) for ids in named for each in ids)
        assert row.proofs == tuple(tuple(r["proof"].values()) for r in told if "proof" in r)
        if row.code == 0:
            said = [event for event in played.events if event.kind is Kind.REQUEST_REFUSED]
            assert named == [event.blocking_claim_ids for event in said]


class TestTwin:
    """Each scenario with its enforcement off, with its report kept back, or under another name."""

    @pytest.mark.parametrize(("name", "twin"), TWINS)
    def test_found(self, staged: Stage, name: str, twin: str) -> None:
        """It is violated, and found by the obligation that is due: at a fact or where something is
        done about a request, unless a report lies; what kept back or changed a report has left the
        facts as they are."""
        row = ALL[name]
        played = staged(name, twin, row.twins[twin].settings)
        assert 1 == code(played)
        kinds = {event.sequence: event.kind for event in played.events}
        broken = [
            kinds[found.at.sequence]
            for claim in played.report.claims
            for obligation, found in claim.obligations.items()
            if obligation == row.twins[twin].broken and found.verdict is Verdict.VIOLATED
            if found.at is not None
        ]
        assert broken
        assert "misattributed" in twin or set(broken) <= FACTS | CONFLICT_ACTIONS
        assert twin == "not enforced" or facts(staged(name, "", {})) == facts(played)

    @pytest.mark.parametrize("what", LEFT_OUT)
    def test_left_out(self, staged: Stage, what: str) -> None:
        """What misleads nobody is not found: docs/findings.md says why."""
        name, settings = LEFT_OUT[what]
        honest, played = staged(name, "", {}), staged(name, what, settings)
        assert 0 == code(played), played.report.why
        assert facts(honest) == facts(played)


@pytest.mark.parametrize("what", UNARMED)
def test_unarmed(make: Make, caplog: pytest.LogCaptureFixture, what: str) -> None:
    """An engine that is not armed says why, and serves as without the plugin."""
    configured, why = UNARMED[what]
    engine = make(engine=configured)
    assert f"resident-claims is not armed: {why}" in caplog.text
    assert [] == engine.armed.attachments
    assert ["length"] == [answer.finish_reason for answer in engine.serve(("prompt", 10))]


class TestReconstruction:
    """L7: a process that has only the trace."""

    @pytest.mark.parametrize(
        ("twin", "end", "there"),
        [
            ("", {"end": "refused", "because": ["claim:resident"]}, 60),
            ("not enforced", {"end": "served"}, 10),
        ],
        ids=["kept", "not enforced"],
    )
    def test_from_trace(self, staged: Stage, twin: str, end: dict[str, Any], there: int) -> None:
        """It knows acceptance, conflict, blockers and outcome; its blocks are those of the pool."""
        settings = ALL["L3 hard claim"].twins[twin].settings if twin else {}
        played = staged("L3 hard claim", twin, settings)
        command = [sys.executable, "-m", "tests_vllm.reconstruct", str(played.trace)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        known = json.loads(done.stdout)
        (resident,) = known["claims"].values()
        assert (60, "accepted") == (resident["footprint"], resident["said"][0])
        assert {str(position): block for position, block in played.held.items()} == resident["held"]
        assert there == len(played.held)
        assert [
            {"needed": 1, "over": 0, "end": "served"},
            {"needed": 70, "over": 50, **end},
        ] == known["requests"]
