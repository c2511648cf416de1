"""Tests of the relation: what counts, what supplies, and which label comes of it."""

from typing import Any

import pytest

from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle, ConflictAction
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Depth
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS, TELEMETRY_JOIN
from spec.lowering.obligations import (
    NEVER_BY_TELEMETRY,
    REJECTED_WITHOUT,
    RELEVANT_ORDER,
)
from spec.lowering.relation import lower
from spec.lowering.signals import TEMPTS, Signal
from spec.lowering.vocabulary import Label, Subtype
from tests.spec.lowering.described import (
    adapter,
    atoms,
    descriptor,
    evidence,
    item,
    items,
    run,
    signal,
)

HARD = MODES[Mode.HARD_PROTECTED].paper
PATCH = Depth.BACKEND_PATCH
PAPER = Bundle.PAPER
PRINTED = {name: mode for mode, spec in reversed(MODES.items()) for name in spec.paper}
"""For each obligation of the paper the first mode that has it."""


def patched(mode: Mode, obligations: tuple[str, ...], **parts: Any) -> Any:
    """A patch that supplies some obligations of a mode."""
    return descriptor(
        adapters=[adapter(PATCH, items(obligations, mode))], observations=atoms(), **parts
    )


class TestVocabulary:
    """The tables that the relation looks up."""

    def test_whole(self) -> None:
        """Every obligation has an order, every depth its sets, every signal its modes."""
        assert set(RELEVANT_ORDER) == set(OBLIGATIONS)
        assert set(MAY_SUPPLY) == set(PRECONDITIONS) == set(Depth)
        assert set(TEMPTS) == set(Signal)
        assert 9 == len(TELEMETRY_JOIN)

    def test_two_sets(self) -> None:
        """What rejects and what telemetry cannot supply are two sets, for each mode."""
        assert {m: set(s) for m, s in REJECTED_WITHOUT.items() if s} == {
            Mode.HARD_PROTECTED: {
                "victim_exclusion_before_violation",
                "explicit_conflict_action",
                "blocking_claim_ids",
            }
        }
        assert {
            Mode.HARD_PROTECTED: 4,
            Mode.DEMOTABLE: 2,
            Mode.EXPIRING: 2,
            Mode.OFFLOADABLE: 2,
        } == {m: n for m, spec in MODES.items() if (n := len(NEVER_BY_TELEMETRY & {*spec.names()}))}

    def test_telemetry(self) -> None:
        """A join of telemetry may supply nothing that enforces."""
        assert 7 == len(NEVER_BY_TELEMETRY)
        assert not NEVER_BY_TELEMETRY & MAY_SUPPLY[Depth.TELEMETRY_JOIN]

    @pytest.mark.parametrize("mode", Mode)
    def test_depths_of_modes(self, mode: Mode) -> None:
        """The depths that a mode names may supply its paper bundle, with the shallower ones."""
        for depths in MODES[mode].depths:
            below = LADDER[: max(map(LADDER.index, depths)) + 1]
            assert set(MODES[mode].paper) <= {o for d in below for o in MAY_SUPPLY[d]}

    def test_harm_needs_hooks(self) -> None:
        """The contract's demotable and expiring need harm, which a claim registry cannot supply."""
        below = LADDER[: LADDER.index(Depth.CLAIM_REGISTRY) + 1]
        reach = {o for depth in below for o in MAY_SUPPLY[depth]}
        for mode in (Mode.DEMOTABLE, Mode.EXPIRING):
            assert {"claim_harm_attribution"} == set(MODES[mode].names()) - reach


class TestCounts:
    """What keeps a statement from counting."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"status": "partial"},
            {"status": "unknown"},
            {"status": "missing"},
            {"scope": "docs_only"},
            {"scope": "source_inspection"},
            {"anchor": None},
            {"anchor": "docs"},
            {"anchor": "other"},
            {"modes": [Mode.EXPIRING]},
        ],
        ids=str,
    )
    def test_item(self, fields: dict[str, Any]) -> None:
        """One statement that is weaker in one thing leaves its obligation missing."""
        first, *others = MODES[Mode.DEMOTABLE].paper
        listed = [item(first, Mode.DEMOTABLE, **fields), *items(others, Mode.DEMOTABLE)]
        other = {"other": run(claim="another_claim")}
        row = lower(descriptor(native=listed, anchors=other), Mode.DEMOTABLE, PATCH, PAPER)
        assert ((first,), Label.APPROXIMATE) == (row.missing, row.label)

    @pytest.mark.parametrize(
        "fields",
        [
            {"order": []},
            {"claim": "another_claim"},
            {"claim": "unclaimed"},
            {"claim": "named_afterwards"},
            {"claim": None},
            {"basis": "generic_counters"},
            {"basis": "fallback_recompute"},
            {"basis": "storage_movement"},
            {"basis": "routing_score"},
            {"basis": None},
        ],
        ids=str,
    )
    def test_anchor(self, fields: dict[str, Any]) -> None:
        """A run that loses the order, the claim or what it consists of shows nothing."""
        listed = items(MODES[Mode.DEMOTABLE].paper, Mode.DEMOTABLE)
        made = descriptor(native=listed, anchors={"run": run(**fields)})
        row = lower(made, Mode.DEMOTABLE, PATCH, PAPER)
        assert (4, Label.APPROXIMATE) == (len(row.missing), row.label)

    @pytest.mark.parametrize("name", PRINTED)
    def test_order(self, name: str) -> None:
        """A run shows an obligation with the one order that matters for it, and not without."""
        mode = PRINTED[name]
        for order, missing in ([RELEVANT_ORDER[name]], False), ([], True):
            made = descriptor(
                native=[item(name, mode, anchor="own")],
                observations=atoms(),
                anchors={"own": run(order=order)},
            )
            assert missing is (name in lower(made, mode, Depth.NONE, PAPER).missing)

    def test_stricter_form(self) -> None:
        """A descriptor promises that the runtime never relaxes; it cannot name that action, too."""
        never = {"never": ["relax_claim"]}
        given = item("explicit_conflict_action", Mode.HARD_PROTECTED, **never)
        assert (ConflictAction.RELAX,) == descriptor(native=[given]).native[0].never
        with pytest.raises(ValueError, match="a conflict meets relax_claim, and never meets it"):
            descriptor(native=[given | {"action": "relax_claim"}])
        with pytest.raises(ValueError, match="has actions that a conflict never meets"):
            descriptor(native=[item("claim_identity", Mode.HARD_PROTECTED, **never)])

    def test_conflict_action(self) -> None:
        """A supported conflict action says which one it is."""
        with pytest.raises(ValueError, match="supported by no action"):
            descriptor(native=[item("explicit_conflict_action", Mode.HARD_PROTECTED, action=None)])

    @pytest.mark.parametrize("anchor", [None, "docs", "loose"])
    def test_atoms(self, anchor: str | None) -> None:
        """Pressure atoms upgrade nothing without a run of the claims under pressure."""
        soft = MODES[Mode.SOFT_PRIORITY].paper
        made = descriptor(
            adapters=[adapter(Depth.TELEMETRY_JOIN, items(soft, Mode.SOFT_PRIORITY))],
            observations=atoms(anchor),
            anchors={"loose": run(order=["claim_before_events"])},
        )
        row = lower(made, Mode.SOFT_PRIORITY, Depth.TELEMETRY_JOIN, PAPER)
        assert (("priority_influence",), Label.APPROXIMATE) == (row.missing, row.label)

    def test_one_atom(self) -> None:
        """Both atoms are needed, natively too."""
        soft = MODES[Mode.SOFT_PRIORITY].paper
        native = items(soft, Mode.SOFT_PRIORITY)
        for seen, label in (atoms(), Label.NATIVE_SOUND), (atoms()[:1], Label.APPROXIMATE):
            made = descriptor(native=native, observations=seen)
            assert label is lower(made, Mode.SOFT_PRIORITY, Depth.NONE, PAPER).label


class TestLabel:
    """The lines of the table, in their order."""

    @pytest.mark.parametrize("mode", Mode)
    def test_native(self, mode: Mode) -> None:
        """All of a bundle natively is native_sound at every depth."""
        made = descriptor(native=items(MODES[mode].names(), mode), observations=atoms())
        for depth in Depth:
            assert (2, Label.NATIVE_SOUND) == (
                (row := lower(made, mode, depth)).rule,
                row.label,
            )

    @pytest.mark.parametrize("mode", Mode)
    def test_patch(self, mode: Mode) -> None:
        """All of a bundle by a patch is sound_with_adapter there, and unknown above it."""
        made = patched(mode, MODES[mode].names())
        row = lower(made, mode, PATCH)
        assert (Label.SOUND_WITH_ADAPTER, Subtype.PATCH) == (row.label, row.subtype)
        assert Label.UNKNOWN is lower(made, mode, Depth.ALLOCATOR_HOOK).label

    @pytest.mark.parametrize("mode", Mode)
    def test_forbidden(self, mode: Mode) -> None:
        """A forbidden lowering rejects in any mode, and at every depth up to the one it names."""
        forbidden = {
            "signal": "pin",
            "mode": mode,
            "up_to": Depth.ROUTING_HOOK,
            "because": "It is.",
            "anchor": "docs",
        }
        native = items(MODES[mode].names(), mode)
        made = descriptor(native=native, observations=atoms(), forbidden=[forbidden])
        labels = [lower(made, mode, depth).label for depth in LADDER]
        assert [Label.REJECTED] * 5 + [Label.NATIVE_SOUND] * 3 == labels

    @pytest.mark.parametrize("name", sorted(REJECTED_WITHOUT[Mode.HARD_PROTECTED]))
    def test_rejected(self, name: str) -> None:
        """A tempting hard_protected without one of the three is rejected."""
        made = patched(Mode.HARD_PROTECTED, tuple(o for o in HARD if o != name))
        row = lower(made, Mode.HARD_PROTECTED, PATCH, PAPER)
        assert (5, (name,)) == (row.rule, row.missing)

    def test_approximate(self) -> None:
        """Without another obligation it is approximate."""
        made = patched(Mode.HARD_PROTECTED, tuple(o for o in HARD if o != "footprint_accounting"))
        assert Label.APPROXIMATE is lower(made, Mode.HARD_PROTECTED, PATCH, PAPER).label

    @pytest.mark.parametrize("mode", Mode)
    def test_unknown(self, mode: Mode) -> None:
        """Where nothing related is shown the row is unknown, whatever else is."""
        elsewhere = Mode.EXPIRING if mode is not Mode.EXPIRING else Mode.DEMOTABLE
        made = descriptor(
            native=[
                *items(MODES[mode].paper, mode, status="unknown"),
                *items(MODES[mode].paper, mode, status="missing"),
                *items(MODES[mode].paper, elsewhere),
                *items(MODES[mode].paper, mode, anchor=None),
            ],
            signals=[
                signal(s, status="unknown") if i % 2 else signal(s, anchor=None)
                for i, s in enumerate(Signal)
            ],
        )
        assert {Label.UNKNOWN} == {lower(made, mode, depth).label for depth in Depth}

    @pytest.mark.parametrize("name", Signal)
    def test_signals(self, name: Signal) -> None:
        """A signal makes a row approximate or rejected, in the modes it tempts to, never sound."""
        made = descriptor(signals=[signal(name)])
        for mode in Mode:
            label = lower(made, mode, PATCH).label
            tempted = Label.REJECTED if REJECTED_WITHOUT[mode] else Label.APPROXIMATE
            assert (tempted if mode in TEMPTS[name] else Label.UNKNOWN) is label

    def test_all_signals(self) -> None:
        """All signals at once give no sound label at any depth."""
        made = descriptor(signals=[signal(name) for name in Signal])
        assert {Label.APPROXIMATE, Label.REJECTED} == {
            lower(made, mode, depth).label for mode in Mode for depth in Depth
        }

    def test_bundles(self) -> None:
        """What the contract adds can be what a row lacks."""
        made = patched(Mode.HARD_PROTECTED, HARD)
        assert Label.SOUND_WITH_ADAPTER is lower(made, Mode.HARD_PROTECTED, PATCH, PAPER).label
        row = lower(made, Mode.HARD_PROTECTED, PATCH)
        assert (("claim_materialized_event",), Label.APPROXIMATE) == (row.missing, row.label)


class TestDepth:
    """Composition of depths."""

    HOOKS = (Depth.CLAIM_REGISTRY, Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK)

    def hooked(self, *depths: Depth, hold: bool = True) -> Any:
        """Each adapter states all of hard_protected; each may supply its own part only."""
        listed = items(HARD, Mode.HARD_PROTECTED)
        return descriptor(adapters=[adapter(depth, listed, hold=hold) for depth in depths])

    def test_both(self) -> None:
        """Scheduler and allocator hooks carry hard_protected together, with a registry."""
        row = lower(self.hooked(*self.HOOKS), Mode.HARD_PROTECTED, Depth.ALLOCATOR_HOOK, PAPER)
        assert (Label.SOUND_WITH_ADAPTER, Subtype.HOOK) == (row.label, row.subtype)

    @pytest.mark.parametrize("left", [Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK])
    def test_alone(self, left: Depth) -> None:
        """Either hook alone is rejected, at any depth, whatever it states."""
        made = self.hooked(Depth.TELEMETRY_JOIN, Depth.CLAIM_REGISTRY, left)
        labels = {lower(made, Mode.HARD_PROTECTED, depth, PAPER).label for depth in LADDER[1:]}
        assert {Label.REJECTED} == labels

    @pytest.mark.parametrize("depth", LADDER[1:])
    def test_preconditions(self, depth: Depth) -> None:
        """Without any one precondition of its depth an adapter supplies nothing."""
        name = min(MAY_SUPPLY[depth] & PRINTED.keys())
        mode = PRINTED[name]
        whole = adapter(depth, [item(name, mode)])
        assert name not in lower(descriptor(adapters=[whole]), mode, depth, PAPER).missing
        for i in range(len(PRECONDITIONS[depth])):
            hold = [each for j, each in enumerate(whole["preconditions"]) if j != i]
            unanchored = [
                {**each, "anchor": None} if j == i else each
                for j, each in enumerate(whole["preconditions"])
            ]
            for stated in hold, unanchored:
                made = descriptor(adapters=[{**whole, "preconditions": stated}])
                assert name in lower(made, mode, depth, PAPER).missing

    @pytest.mark.parametrize("name", sorted(NEVER_BY_TELEMETRY & PRINTED.keys()))
    def test_telemetry(self, name: str) -> None:
        """A join of telemetry that states enforcement supplies none of it."""
        mode = PRINTED[name]
        made = descriptor(adapters=[adapter(Depth.TELEMETRY_JOIN, [item(name, mode)])])
        assert name in lower(made, mode, Depth.TELEMETRY_JOIN, PAPER).missing

    def test_shallowest(self) -> None:
        """The subtype is of the shallowest adapters that suffice."""
        mode = Mode.BEST_EFFORT
        join = adapter(Depth.TELEMETRY_JOIN, items(MODES[mode].paper, mode))
        patch = adapter(PATCH, items(MODES[mode].paper, mode))
        row = lower(descriptor(adapters=[patch, join]), mode, PATCH)
        assert {Depth.TELEMETRY_JOIN} == {supply.depth for supply in row.supplied}
        assert Subtype.OBSERVATIONAL is row.subtype

    def test_policy(self) -> None:
        """Priority influence by a join is a policy row; by a patch it is a patch."""
        soft = MODES[Mode.SOFT_PRIORITY].paper
        for depth, subtype in (Depth.TELEMETRY_JOIN, Subtype.POLICY), (PATCH, Subtype.PATCH):
            made = descriptor(
                adapters=[adapter(depth, items(soft, Mode.SOFT_PRIORITY))], observations=atoms()
            )
            assert subtype is lower(made, Mode.SOFT_PRIORITY, depth).subtype


class TestEvidence:
    """Evidence from traces."""

    OFFLOAD = MODES[Mode.OFFLOADABLE].paper

    def test_patch(self) -> None:
        """It counts at a depth that the descriptor offers, and never above it."""
        shown = evidence(Mode.OFFLOADABLE, self.OFFLOAD)
        made = descriptor(adapters=[adapter(PATCH, [])])
        labels = [lower(made, Mode.OFFLOADABLE, d, evidence=shown).label for d in LADDER]
        assert [Label.UNKNOWN] * 7 + [Label.SOUND_WITH_ADAPTER] == labels

    def test_nothing_offered(self) -> None:
        """Where no adapter is offered, or its preconditions do not hold, it counts nowhere."""
        shown = evidence(Mode.OFFLOADABLE, self.OFFLOAD)
        for adapters in [], [adapter(PATCH, [], hold=False)]:
            made = descriptor(adapters=adapters, signals=[signal("storage_tier")])
            labels = {lower(made, Mode.OFFLOADABLE, d, evidence=shown).label for d in Depth}
            assert {Label.APPROXIMATE} == labels

    @pytest.mark.parametrize("left_out", OFFLOAD)
    def test_incomplete(self, left_out: str) -> None:
        """One obligation that no trace shows leaves the row approximate."""
        shown = evidence(Mode.OFFLOADABLE, (o for o in self.OFFLOAD if o != left_out))
        made = descriptor(adapters=[adapter(PATCH, [])])
        row = lower(made, Mode.OFFLOADABLE, PATCH, evidence=shown)
        assert ((left_out,), Label.APPROXIMATE) == (row.missing, row.label)

    def test_other_mode(self) -> None:
        """It counts for the mode that it was taken for."""
        shown = evidence(Mode.DEMOTABLE, OBLIGATIONS)
        made = descriptor(adapters=[adapter(PATCH, [])])
        assert Label.UNKNOWN is lower(made, Mode.EXPIRING, PATCH, evidence=shown).label
        assert Label.SOUND_WITH_ADAPTER is lower(made, Mode.DEMOTABLE, PATCH, evidence=shown).label

    def test_order(self) -> None:
        """It must preserve the order that matters."""
        shown = evidence(Mode.OFFLOADABLE, self.OFFLOAD)
        loose = [each.model_copy(update={"order": ("lifecycle",)}) for each in shown.shown]
        made = descriptor(adapters=[adapter(PATCH, [])])
        row = lower(
            made, Mode.OFFLOADABLE, PATCH, evidence=shown.model_copy(update={"shown": loose})
        )
        assert 6 == len(row.missing)

    def test_telemetry(self) -> None:
        """At a join of telemetry it supplies observations only."""
        shown = evidence(Mode.OFFLOADABLE, self.OFFLOAD)
        made = descriptor(adapters=[adapter(Depth.TELEMETRY_JOIN, [])])
        row = lower(made, Mode.OFFLOADABLE, Depth.TELEMETRY_JOIN, evidence=shown)
        assert ["claim_identity", "materialization_predicate"] == [
            s.obligation for s in row.supplied
        ]
