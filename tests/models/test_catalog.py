"""Tests of the shipped descriptors: the rows that must come out, and what they rest on."""

import pytest

from models.catalog import FOLDER, NAMES, descriptor
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.lowering.descriptor import Item
from spec.lowering.relation import lower
from spec.lowering.vocabulary import POSITIVE, Label, Status, Subtype

NONE, JOIN, PATCH = Depth.NONE, Depth.TELEMETRY_JOIN, Depth.BACKEND_PATCH
RC14, SGLANG = "tensorrt_llm_1_3_0rc14", "sglang_hicache_bbe9c7e"
EACH = pytest.mark.parametrize("name", NAMES)

SOUND, APPROXIMATE, REJECTED = Label.SOUND_WITH_ADAPTER, Label.APPROXIMATE, Label.REJECTED
ROWS = [
    (RC14, Mode.BEST_EFFORT, (JOIN,), SOUND, Subtype.OBSERVATIONAL),
    (RC14, Mode.SOFT_PRIORITY, (JOIN,), SOUND, Subtype.POLICY),
    (RC14, Mode.HARD_PROTECTED, (NONE, JOIN), REJECTED, None),
    (RC14, Mode.EXPIRING, (NONE, JOIN), APPROXIMATE, None),
    (RC14, Mode.OFFLOADABLE, (NONE, JOIN), APPROXIMATE, None),
    (SGLANG, Mode.BEST_EFFORT, (JOIN,), SOUND, Subtype.OBSERVATIONAL),
    (SGLANG, Mode.OFFLOADABLE, (NONE, JOIN), APPROXIMATE, None),
    ("dynamo_docs", Mode.ROUTED_REUSE, (NONE, JOIN), APPROXIMATE, None),
    ("vllm_patched", Mode.BEST_EFFORT, (PATCH,), SOUND, Subtype.PATCH),
    ("vllm_patched", Mode.DEMOTABLE, (PATCH,), SOUND, Subtype.PATCH),
    ("vllm_patched", Mode.EXPIRING, (PATCH,), SOUND, Subtype.PATCH),
    ("vllm_patched", Mode.HARD_PROTECTED, (PATCH,), SOUND, Subtype.PATCH),
    ("vllm_patched", Mode.OFFLOADABLE, (PATCH,), SOUND, Subtype.PATCH),
]
"""The papers' rows (sections 6 to 9), under the papers' bundles."""

OWN_ROWS = [
    ("dynamo_docs", Mode.OFFLOADABLE, (NONE, JOIN), APPROXIMATE),
    ("lmcache", Mode.EXPIRING, (NONE,), APPROXIMATE),
]
"""Rows of published primitives that the papers' text does not name."""

ADDED = {
    "aibrix": {Mode.EXPIRING: APPROXIMATE, Mode.OFFLOADABLE: APPROXIMATE},
    "contextserve": {Mode.EXPIRING: APPROXIMATE, Mode.HARD_PROTECTED: REJECTED},
    "flexkv": {Mode.OFFLOADABLE: APPROXIMATE},
    "flowkv": {},
    "kvflow": {Mode.OFFLOADABLE: APPROXIMATE},
    "llm_d": {Mode.BEST_EFFORT: APPROXIMATE, Mode.ROUTED_REUSE: APPROXIMATE},
    "marconi": {Mode.SOFT_PRIORITY: APPROXIMATE},
    "pie": {},
    "tokencake": {Mode.OFFLOADABLE: APPROXIMATE},
    "tutti": {Mode.OFFLOADABLE: APPROXIMATE},
}
"""Systems of which little is known here, and their rows that are not unknown."""


class TestRows:
    """Labels of the shipped descriptors."""

    @pytest.mark.parametrize(("name", "mode", "depths", "label", "subtype"), ROWS)
    def test_papers(
        self, name: str, mode: Mode, depths: tuple[Depth, ...], label: Label, subtype: Subtype
    ) -> None:
        """The papers' rows come out of anchored evidence by the rules."""
        rows = [lower(descriptor(name), mode, depth, Bundle.PAPER) for depth in depths]
        assert {(label, subtype)} == {(row.label, row.subtype) for row in rows}

    @pytest.mark.parametrize(("name", "mode", "depths", "label"), OWN_ROWS)
    def test_own(self, name: str, mode: Mode, depths: tuple[Depth, ...], label: Label) -> None:
        """A published tier, and a timeout of pins, resemble a mode under either bundle."""
        for bundle in Bundle:
            rows = [lower(descriptor(name), mode, depth, bundle) for depth in depths]
            assert {label} == {row.label for row in rows}

    def test_added(self) -> None:
        """What is not stated of a system leaves its rows unknown, under either bundle."""
        for name, labels in ADDED.items():
            for bundle in Bundle:
                found = {mode: lower(descriptor(name), mode, NONE, bundle).label for mode in Mode}
                assert dict.fromkeys(Mode, Label.UNKNOWN) | labels == found

    @EACH
    def test_none(self, name: str) -> None:
        """Without an adapter no runtime has a positive row, under either bundle."""
        for mode in Mode:
            for bundle in Bundle:
                assert lower(descriptor(name), mode, NONE, bundle).label not in POSITIVE

    def test_plugin(self) -> None:
        """The plugin supplies each mode at the depth of a patch."""
        for bundle in Bundle:
            found = {mode: lower(descriptor("vllm_plugin"), mode, PATCH, bundle) for mode in Mode}
            assert dict.fromkeys(Mode, SOUND) == {mode: row.label for mode, row in found.items()}

    def test_positive(self) -> None:
        """Fifteen rows are positive under the papers' bundles, and twelve under the contract's."""
        counted = {
            bundle: [
                (name, mode, depth)
                for name in NAMES
                for mode in Mode
                for depth in _depths(name)
                if lower(descriptor(name), mode, depth, bundle).label in POSITIVE
            ]
            for bundle in Bundle
        }
        assert [12, 15] == [len(counted[bundle]) for bundle in (Bundle.CONTRACT, Bundle.PAPER)]
        assert {
            ("vllm_patched", mode, PATCH)
            for mode in (Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING)
        } == set(counted[Bundle.PAPER]) - set(counted[Bundle.CONTRACT])

    def test_rest_of_rc14(self) -> None:
        """What the rules give for the rows of rc14 that the papers' text does not name."""
        rows = {
            (mode, depth): lower(descriptor(RC14), mode, depth, Bundle.PAPER).label
            for mode in (Mode.DEMOTABLE, Mode.ROUTED_REUSE)
            for depth in (NONE, JOIN)
        }
        assert {
            (Mode.DEMOTABLE, NONE): APPROXIMATE,
            (Mode.DEMOTABLE, JOIN): APPROXIMATE,
            (Mode.ROUTED_REUSE, NONE): Label.UNKNOWN,
            (Mode.ROUTED_REUSE, JOIN): Label.UNKNOWN,
        } == rows

    def test_both_rejections(self) -> None:
        """hard_protected is rejected by what is forbidden, and by what is missing."""
        rules = {
            name: lower(descriptor(name), Mode.HARD_PROTECTED, JOIN, Bundle.PAPER).rule
            for name in (RC14, SGLANG, "lmcache", "mooncake", "processfork")
        }
        assert [1, 5, 1, 5, 4] == list(rules.values())


class TestDescriptors:
    """What the descriptors say."""

    def test_files(self) -> None:
        """Each file is listed, under its name."""
        assert {f"{name}.yaml" for name in NAMES} == {path.name for path in FOLDER.glob("*.*")}
        assert [*NAMES] == [descriptor(name).name for name in NAMES]

    @EACH
    def test_anchored(self, name: str) -> None:
        """Every statement has an anchor, and every anchor carries a statement."""
        runtime = descriptor(name)
        said = [each for _, each in runtime.statements()]
        assert said
        assert all(each.anchor is not None for each in said)
        assert set(runtime.anchors) == {each.anchor for each in said}

    @EACH
    def test_public(self, name: str) -> None:
        """Every source is a public address, and no path is one of a machine."""
        for anchor in descriptor(name).anchors.values():
            assert anchor.source is None or anchor.source.startswith("https://")
            assert anchor.path is None or not anchor.path.startswith("/")

    @EACH
    def test_non_claims(self, name: str) -> None:
        """Every positive row says what it does not claim, and no other mode does."""
        runtime = descriptor(name)
        positive = {
            mode
            for mode in Mode
            for depth in _depths(name)
            if lower(runtime, mode, depth, Bundle.PAPER).label in POSITIVE
        }
        assert positive == {each.mode for each in runtime.non_claims}

    @EACH
    def test_supported_by_runs(self, name: str) -> None:
        """What is called supported has run; what was only read is partial at most."""
        for _, said in descriptor(name).statements():
            if isinstance(said, Item) and said.status is Status.SUPPORTED:
                assert "trace" in said.scope


def _depths(name: str) -> list[Depth]:
    return [NONE, *(adapter.depth for adapter in descriptor(name).adapters)]
