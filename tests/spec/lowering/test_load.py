"""Tests of reading descriptors and evidence: what is refused, where, and why."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.claims.states import Mode
from spec.language.errors import DocumentError
from spec.lowering.load import (
    parse_descriptor,
    parse_evidence,
    read_bounded,
    read_descriptor,
)
from tests.spec.lowering.described import adapter, document, evidence, item, run, signal

GOOD = """\
schema: resident-claims/descriptor/1
name: mine
runtime: Mine
version: "1"
about: Mine.
anchors:
  trace:
    kind: trace
    path: a.jsonl
    note: A run.
native:
  - obligation: claim_identity
    modes: [best_effort]
    status: supported
    scope: litmus_trace
    anchor: trace
"""


def said(text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_descriptor(text.encode(), "mine.yaml")
    return str(caught.value)


def refused(**parts: Any) -> str:
    return said(json.dumps(document(**parts)))


class TestDescriptor:
    """Descriptors."""

    def test_good(self, tmp_path: Path) -> None:
        """One is read from a file; a code stands for its obligation."""
        path = tmp_path / "mine.yaml"
        path.write_text(GOOD.replace("claim_identity", "I"))
        assert "claim_identity" == read_descriptor(path).native[0].obligation

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            (
                "claim_identity",
                "claim_identty",
                "mine.yaml:12: native.0.obligation: there is no obligation 'claim_identty' "
                "(got 'claim_identty'); did you mean claim_identity?",
            ),
            ("best_effort", "best_efort", "13: native.0.modes.0: Input should be"),
            ("best_effort", "best_efort", "did you mean best_effort?"),
            ("supported", "suported", "14: native.0.status: Input should be"),
            ("supported", "suported", "did you mean supported?"),
            ("litmus_trace", "litmus", "15: native.0.scope: Input should be"),
            ("    scope", "    scop", "did you mean scope?"),
            ("anchor: trace", "anchor: trac", "16: native.0.anchor: there is no anchor 'trac'"),
            ("anchor: trace", "anchor: trac", "did you mean trace?"),
            ("    path: a.jsonl\n", "", "7: anchors.trace: an anchor names neither"),
            ("a.jsonl", "''", "9: anchors.trace.path: it is blank"),
            ("kind: trace", "kind: docs\n    order: [lifecycle]", "preserves no order"),
            ("name: mine", "name: Mine one", "2: name: String should match pattern"),
            ("name: mine", "name: mine\nname: mine", "3: the key 'name' occurs twice"),
            ("name: mine", "name: !!str mine", "2: it has a tag"),
            ("about: Mine.", "about: 7", "give a text, in quotes"),
            ("about: Mine.", 'about: "a\\nb"', "control character"),
            ("descriptor/1", "descriptor/2", "1: schema: resident-claims/descriptor/2 is newer"),
            ("descriptor/1", "descriptor/0", "1: schema: it is 'resident-claims/descriptor/0'"),
            ("descriptor/1", "evidence/1", "use resident-claims/descriptor/1"),
            ("schema: resident-claims/descriptor/1\n", "", "1: schema: it is missing"),
            ("schema:", "shema:", "1: schema: it is missing; did you mean shema?"),
            ("modes: [best_effort]", "modes: []", "13: native.0.modes: Tuple should have"),
            ("status: supported", "status: 3", "14: native.0.status: Input should be"),
        ],
        ids=str,
    )
    def test_refused(self, old: str, new: str, expected: str) -> None:
        """Each mistake is reported with its line, its path, the reason and what was meant."""
        assert old in GOOD
        assert expected in said(GOOD.replace(old, new))

    @pytest.mark.parametrize("text", ["- a", "a", "7", "~"])
    def test_no_map(self, text: str) -> None:
        """A document that is no map is told apart."""
        assert "mine.yaml:1: (the whole): it is not a map" in said(text)

    def test_several(self) -> None:
        """The first mistake is reported, and how many more there are."""
        text = GOOD.replace("supported", "x").replace("litmus_trace", "y")
        assert "mine.yaml:14: native.0.status" in said(text)
        assert said(text).endswith("(and 1 more)")

    def test_adapters(self) -> None:
        """A depth that is unknown, none, or there twice; a precondition of another depth."""
        assert "adapters.0.depth: Input should be" in refused(adapters=[{"depth": "deep"}])
        assert "no adapter has the depth none" in refused(adapters=[{"depth": "none"}])
        twice = [{"depth": "routing_hook"}, {"depth": "routing_hook"}]
        assert "adapters.1: routing_hook occurs twice" in refused(adapters=twice)
        other = {"precondition": "stable_claim_id", "anchor": "run"}
        wrong = {"depth": "routing_hook", "preconditions": [other]}
        assert "stable_claim_id is no precondition of routing_hook" in refused(adapters=[wrong])
        same = {"depth": "claim_registry", "preconditions": [other, other]}
        assert "adapters.0.preconditions.1: stable_claim_id occurs twice" in refused(
            adapters=[same]
        )

    def test_twice(self) -> None:
        """A signal and an atom stand once."""
        assert "signals.1: pin occurs twice" in refused(signals=[signal("pin"), signal("pin")])
        atom = {"atom": "pressure_controls_observed"}
        assert "observations.1: pressure" in refused(observations=[atom, atom])

    def test_anchors(self) -> None:
        """Wherever an anchor is named it must be there."""
        nowhere = {"anchor": "nowhere"}
        made = item("claim_identity", Mode.BEST_EFFORT, **nowhere)
        patch = adapter("backend_patch", [made])  # type: ignore[arg-type]
        held = {"depth": "routing_hook", "preconditions": [{**nowhere, "precondition": "x"}]}
        held["preconditions"][0]["precondition"] = "fixed_worker_namespace"  # type: ignore[index]
        forbidden = {"signal": "pin", "mode": "expiring", "up_to": "none", "because": "So."}
        for parts, path in (
            ({"native": [made]}, "native.0.anchor"),
            ({"adapters": [patch]}, "adapters.0.evidence.0.anchor"),
            ({"adapters": [held]}, "adapters.0.preconditions.0.anchor"),
            ({"signals": [signal("pin", **nowhere)]}, "signals.0.anchor"),
            (
                {"observations": [{"atom": "pressure_controls_observed", **nowhere}]},
                "observations.0.anchor",
            ),
            ({"forbidden": [{**forbidden, **nowhere}]}, "forbidden.0.anchor"),
        ):
            assert f"{path}: there is no anchor 'nowhere'" in refused(**parts)

    def test_forbidden_anchor(self) -> None:
        """A forbidden lowering says where it comes from."""
        bare = {"signal": "pin", "mode": "expiring", "up_to": "none", "because": "So."}
        assert "forbidden.0.anchor: Field required" in refused(forbidden=[bare])

    def test_many(self) -> None:
        """There is a bound on statements."""
        many = [item("claim_identity", Mode.BEST_EFFORT)] * 1001
        assert "at most 1000" in refused(native=many)

    def test_one_hint(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many problems one is reported, and a hint is looked for once."""
        asked: list[str] = []
        monkeypatch.setattr(
            "spec.claims.claim.did_you_mean", lambda word, _: asked.append(word) or ""
        )
        many = GOOD + "".join(f"k{number}: 1\n" for number in range(50))
        with pytest.raises(DocumentError, match=r"k0: .* \(and 49 more\)"):
            parse_descriptor(many.encode(), "mine.yaml")
        assert ["k0"] == asked

    def test_unreadable(self, tmp_path: Path) -> None:
        """A file that is missing, a folder, or too large is named."""
        for path, reason in (
            (tmp_path / "no.yaml", "No such file"),
            (tmp_path, "Is a directory"),
            (tmp_path / "x\0.yaml", "null byte"),
        ):
            with pytest.raises(DocumentError, match=reason):
                read_descriptor(path)
        (tmp_path / "big").write_bytes(b"12345")
        with pytest.raises(DocumentError, match="over 4 bytes"):
            read_bounded(tmp_path / "big", 4)


class TestHostile:
    """Files that somebody broke."""

    @settings(max_examples=200)
    @given(st.data())
    def test_spoiled(self, data: st.DataObject) -> None:
        """A descriptor with bytes taken out and put in is read or refused, and nothing else."""
        text = bytearray(GOOD.encode())
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(text)))
            end = data.draw(st.integers(start, min(len(text), start + 12)))
            put = data.draw(st.sampled_from(SPOILS) | st.binary(max_size=6))
            text[start:end] = put
        told = None
        try:
            parse_descriptor(bytes(text), "mine.yaml")
        except DocumentError as problem:
            told = str(problem)
        assert told is None or re.match(r"mine\.yaml:[1-9]", told)


SPOILS = [
    b": ",
    b"- ",
    b"\n",
    b"  ",
    b"[",
    b"}",
    b"&a",
    b"*a",
    b"!!set",
    b"'",
    b"#",
    b"null",
    b"9" * 30,
]


class TestEvidence:
    """Evidence files."""

    @staticmethod
    def text(**fields: Any) -> bytes:
        made = evidence(Mode.OFFLOADABLE, ["claim_identity"])
        return json.dumps({**made.model_dump(mode="json", by_alias=True), **fields}).encode()

    def test_good(self) -> None:
        """One is read back as it was written."""
        made = evidence(Mode.OFFLOADABLE, ["claim_identity"])
        assert made == parse_evidence(self.text(), "e.yaml")

    @pytest.mark.parametrize(
        ("path", "value", "reason"),
        [
            (("verdict",), "violated", "shown.0.verdict: Input should be 'satisfied'"),
            (("order",), [], "shown.0.order: Tuple should have at least 1"),
            (("claims",), [], "shown.0.claims: Tuple should have at least 1"),
            (("sequences",), [], "shown.0.sequences: Tuple should have at least 1"),
            (("sequences",), [-1], "shown.0.sequences.0: Input should be greater"),
            (("sequences",), ["1"], "shown.0.sequences.0: Input should be a valid integer"),
            (("file",), 1, "shown.0.file: there are 1 files"),
        ],
        ids=str,
    )
    def test_shown(self, path: tuple[str], value: Any, reason: str) -> None:
        """What is shown names its events, claims, order, and one of the files."""
        (shown,) = json.loads(self.text())["shown"]
        with pytest.raises(DocumentError, match=r"e\.yaml:1: ") as caught:
            parse_evidence(self.text(shown=[{**shown, path[0]: value}]), "e.yaml")
        assert reason in str(caught.value)

    def test_both(self) -> None:
        """Nothing is shown and unshown at once."""
        unshown = {"obligation": "claim_identity", "verdict": "violated", "why": "It broke."}
        with pytest.raises(DocumentError, match="shown and unshown at once: claim_identity"):
            parse_evidence(self.text(unshown=[unshown]), "e.yaml")

    def test_digest(self) -> None:
        """A file is named with its whole digest, and there is one at least."""
        for files, reason in ([{"path": "a", "sha256": "0"}], "pattern"), ([], "at least 1"):
            with pytest.raises(DocumentError, match=reason):
                parse_evidence(self.text(files=files, shown=[]), "e.yaml")


def test_run_is_complete() -> None:
    """The anchor that tests start from is one that the schema admits."""
    assert document()["anchors"]["run"] == run()
