"""Runs in the Informal Trace Format."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import z3

from proofs.engines.bounded.search import Found, find_refutation
from proofs.logic.encode import Bits, Integers
from proofs.model.of_mode import Model, model_of
from proofs.traces.itf import _places, events_of, to_itf, write_trace
from proofs.traces.replay import to_events
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.digest import spec_digest
from spec.language.errors import SpecError
from tests.proofs import shared

META = {"property": "witness", "bundle": "contract"}


def witness(mode: Mode) -> tuple[Model, Found]:
    """A plain witness of a mode, for a test of its own."""
    model, found = shared.witness(mode, plain=True)
    return model, deepcopy(found)


def read(model: Model, document: Any) -> Found:
    """The run that a document states."""
    observers = {each.name: [state.name for state in each.states] for each in model.observers}

    def value(stated: Any, name: str = "") -> bool | int:
        if isinstance(stated, dict):
            return int(stated["#bigint"])
        _, state, observer = name.rpartition("/")[2].partition("state.")
        return observers[observer].index(stated) if state else stated

    states, events = [], []
    for number, state in enumerate(document["states"]):
        states.append({name: value(state[var][at], name) for name, var, at in _places(model)})
        if number:
            stated = state["event"]
            event = {
                n: n == "authorised" if z3.is_bool(v) else 0 for n, v in model.event("").items()
            }
            event |= {name: value(each) for name, each in stated["value"].items()}
            event["kind"] = [str(kind) for kind in model.alphabet].index(stated["tag"])
            events.append(event)
    return Found(tuple(events), tuple(states), tuple(document["#meta"]["clauses"]))


class TestForm:
    @pytest.mark.parametrize("mode", Mode)
    def test_round_trip(self, mode: Mode) -> None:
        """A run written and read back, through JSON, is the same run."""
        model, found = witness(mode)

        document = json.loads(json.dumps(to_itf(model, found, META)))

        assert found == read(model, document)
        assert to_events(model, found) == events_of(document)

    def test_noisy_run(self) -> None:
        """Fields that say nothing are kept where they are not plain."""
        model, found = shared.witness(Mode.OFFLOADABLE)

        assert found == read(model, to_itf(model, found, META))

    def test_meta(self) -> None:
        """What the run shows, of which specification and by which tool, stands in its head."""
        model, found = witness(Mode.HARD_PROTECTED)

        meta = to_itf(model, found, META)["#meta"]

        assert "ITF" == meta["format"]
        assert ("witness", "hard_protected", []) == (
            meta["property"],
            meta["mode"],
            meta["clauses"],
        )
        assert spec_digest() == meta["spec"]
        assert meta["tool"].startswith("resident-claims ")

    def test_states(self) -> None:
        """There is a state before any event and one after each, all with the same variables."""
        model, found = witness(Mode.SOFT_PRIORITY)

        document = to_itf(model, found, META)

        assert list(range(len(found.events) + 1)) == [
            state["#meta"]["index"] for state in document["states"]
        ]
        for state in document["states"]:
            assert set(document["vars"]) == set(state) - {"#meta"}
        assert {"event", "claim_A", "claim_B", "obligations_A", "auditor_B"} < set(document["vars"])
        assert {"tag": "none", "value": {"#tup": []}} == document["states"][0]["event"]
        assert "claim_registered" == document["states"][1]["event"]["tag"]

    def test_big_integers(self) -> None:
        """An integer that JSON readers would round is a #bigint, and comes back whole."""
        model = model_of(Mode.BEST_EFFORT, Bundle.CONTRACT, Integers())
        _, found = witness(Mode.BEST_EFFORT)
        found.states[0]["c.threshold"] = 2**60
        try:
            document = to_itf(model, found, META, readable=False)
            assert {"#bigint": str(2**60)} == document["states"][0]["claim"]["threshold"]
            assert 2**60 == read(model, document).states[0]["c.threshold"]
        finally:
            found.states[0]["c.threshold"] = 1


class TestRefused:
    @pytest.mark.parametrize(
        ("spoil", "said"),
        [
            (lambda d: d["#meta"].update(spec="0" * 64), "another specification, 000000000000"),
            (lambda d: d["#meta"].pop("spec"), "names no specification"),
            (lambda d: d.pop("#meta"), "not an ITF trace"),
            (lambda d: d.pop("states"), "not an ITF trace"),
        ],
    )
    def test_foreign_or_damaged(self, spoil: Any, said: str) -> None:
        """A document of another kind, version or shape is refused with a reason."""
        model, found = witness(Mode.BEST_EFFORT)
        document = json.loads(json.dumps(to_itf(model, found, META)))
        spoil(document)

        with pytest.raises(SpecError, match=said):
            events_of(document)

    def test_no_events(self) -> None:
        """A run that no monitor can read carries no events."""
        model, found = witness(Mode.BEST_EFFORT)

        with pytest.raises(SpecError, match="carries no canonical events"):
            events_of(to_itf(model, found, META, readable=False))


class TestFiles:
    def test_jsonl(self, tmp_path: Path) -> None:
        """`.jsonl` holds the canonical events."""
        model, found = witness(Mode.EXPIRING)

        write_trace(tmp_path / "run.jsonl", model, found, META)

        lines = (tmp_path / "run.jsonl").read_text().splitlines()
        assert [str(e.kind) for e in to_events(model, found)] == [
            json.loads(line)["kind"] for line in lines
        ]

    def test_itf(self, tmp_path: Path) -> None:
        """`.itf.json` holds the ITF document."""
        model, found = witness(Mode.EXPIRING)

        write_trace(tmp_path / "run.itf.json", model, found, META)

        assert found == read(model, json.loads((tmp_path / "run.itf.json").read_bytes()))

    @pytest.mark.parametrize("name", ["run", "run.json", "run.txt"])
    def test_unknown_suffix(self, name: str, tmp_path: Path) -> None:
        """Another suffix is refused, and the two that there are are named."""
        model, found = witness(Mode.EXPIRING)

        with pytest.raises(SpecError, match=r"run\.jsonl or run\.itf\.json"):
            write_trace(tmp_path / name, model, found, META)

    def test_no_events(self, tmp_path: Path) -> None:
        """A run that cannot be written as events is written as ITF only."""
        model = model_of(Mode.EXPIRING, Bundle.PAPER, Bits(6))
        found = find_refutation(model, 5, plain=True).found
        assert found is not None

        write_trace(tmp_path / "run.itf.json", model, found, META, events=[])
        with pytest.raises(SpecError, match=r"ends in \.itf\.json"):
            write_trace(tmp_path / "run.jsonl", model, found, META, events=[])
        assert found == read(model, json.loads((tmp_path / "run.itf.json").read_bytes()))
