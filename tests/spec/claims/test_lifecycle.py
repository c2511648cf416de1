"""Tests of spec.claims.lifecycle."""

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.claims.durations import Instant
from spec.claims.lifecycle import RUNTIME, Actor, Caller, ClaimLifecycle, is_escalation
from spec.claims.states import RESPONSIBLE, TRANSITIONS, TRIGGERS, ClaimState, Mode, next_state
from spec.language.errors import LifecycleError, OwnershipError, SpecError
from tests.spec.lives import ACTORS, CLOCKS, COMBINATIONS, OWNER, START, STRANGER, at, claim


def may(by: Actor, trigger: str, mode: Mode, clock: str) -> bool:
    """The rules of ownership, once more and plainly."""
    owners = trigger in ("claim_demoted", "claim_expired", "claim_released")
    if by == OWNER:
        return owners
    if by == STRANGER:
        return False
    if trigger == "claim_demoted":
        return mode == "demotable"
    return clock == "due" if trigger == "claim_expired" else trigger != "claim_released"


def attempts(
    state: ClaimState, mode: Mode, clock: str
) -> Iterator[tuple[Actor, str, ClaimLifecycle, SpecError | None]]:
    """Every trigger by every actor from `state`, and the error it met, if any."""
    lifecycle = at(state, mode, clock)
    for by, trigger in itertools.product(ACTORS, TRIGGERS):
        try:
            lifecycle.step(trigger, by=by, now=CLOCKS[clock])
        except SpecError as error:
            yield by, trigger, lifecycle, error
        else:
            yield by, trigger, lifecycle, None
            lifecycle = at(state, mode, clock)


class TestStep:
    """Who may take which step, and when."""

    def test_exhaustive(self) -> None:
        """All 7,200 attempts come out as the table and the rules say, 990 of them as steps."""
        tally: Counter[str] = Counter()
        rows = set()
        for state, (mode, clock) in itertools.product(ClaimState, COMBINATIONS):
            for by, trigger, lifecycle, error in attempts(state, mode, clock):
                dest = next_state(state, trigger)
                expected = dest is not None and may(by, trigger, mode, clock)
                assert expected == (error is None), (state, mode, clock, by, trigger)
                assert (dest if expected else state) is lifecycle.state
                tally[type(error).__name__ if error else f"by {by}"] += 1
                if error is None:
                    rows.add((trigger, state))
        assert (
            Counter(
                {
                    "by a caller of scope 'tenant-a'": 320,
                    "by the runtime": 710,
                    "OwnershipError": 4630,
                    "LifecycleError": 1540,
                }
            )
            == tally
        )
        assert {(row.trigger, row.source) for row in TRANSITIONS} == rows

    @pytest.mark.parametrize("state", ClaimState)
    @pytest.mark.parametrize("by", ACTORS, ids=str)
    def test_allowed(self, state: ClaimState, by: Actor) -> None:
        """`allowed` names exactly the triggers that succeed once the duration has passed."""
        succeeded = {
            trigger
            for actor, trigger, _, error in attempts(state, Mode.DEMOTABLE, "due")
            if actor == by and error is None
        }
        assert succeeded == set(at(state, Mode.DEMOTABLE, "due").allowed(by))

    @pytest.mark.parametrize(
        ("by", "trigger", "reason"),
        [
            (STRANGER, "claim_released", "'tenant-a' owns the claim"),
            (STRANGER, "claim_demoted", "'tenant-a' owns the claim"),
            (STRANGER, "claim_expired", "'tenant-a' owns the claim"),
            (OWNER, "claim_harmed", "only the runtime may report this"),
            (RUNTIME, "claim_released", "only the owner may release"),
            (RUNTIME, "claim_demoted", "only demotable claims, and this one is hard_protected"),
            (RUNTIME, "claim_expired", "only a claim with a duration"),
        ],
    )
    def test_ownership(self, by: Actor, trigger: str, reason: str) -> None:
        """A step by the wrong actor names the state, the attempt, the reason and the way out."""
        with pytest.raises(OwnershipError) as caught:
            at(ClaimState.MATERIALIZED).step(trigger, by=by)
        text = str(caught.value)
        assert f"{by} tried {trigger} on claim 'claim-1' in state materialized, but " in text
        assert reason in caught.value.cause
        assert "allowed to it now" in caught.value.remedy

    def test_no_such_step(self) -> None:
        """A step the state does not have is reported with those it has."""
        with pytest.raises(LifecycleError) as caught:
            at(ClaimState.SUBMITTED).step("claim_materialized", by=RUNTIME)
        assert (
            "the runtime tried claim_materialized on claim 'claim-1' in state submitted, but "
            "the lifecycle has no such transition; allowed to it now: claim_accepted, "
            "claim_rejected"
        ) == str(caught.value)

    @pytest.mark.parametrize("trigger", ["active_refused", "to_expired", "", "x" * 10_000])
    def test_no_such_trigger(self, trigger: str) -> None:
        """What is not in the table, refusing an active request say, moves no claim."""
        lifecycle = at(ClaimState.MATERIALIZED)
        with pytest.raises(LifecycleError, match=r"^there is no trigger"):
            lifecycle.step(trigger, by=RUNTIME)
        assert lifecycle.state in RESPONSIBLE

    def test_misspelt_trigger(self) -> None:
        """A trigger that is nearly one gets a hint."""
        with pytest.raises(LifecycleError, match=r"did you mean claim_demoted\?$"):
            at(ClaimState.ACCEPTED).step("claim_demote", by=OWNER)

    def test_blank_scope(self) -> None:
        """Nobody acts for a blank scope."""
        with pytest.raises(OwnershipError, match="name the scope"):
            Caller(" ")


class TestClock:
    """When the runtime may expire a claim."""

    @given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 120))
    def test_boundary(self, accepted: int, length: int, elapsed: int) -> None:
        """It may at the duration, counted from acceptance, and not a step sooner."""
        lifecycle = ClaimLifecycle(claim(Mode.EXPIRING, f"{length} steps"))
        lifecycle.step("claim_accepted", by=RUNTIME, now=Instant.parse(f"{accepted} steps"))
        now = Instant.parse(f"{accepted + elapsed} steps")
        if elapsed >= length:
            assert "expired" == lifecycle.step("claim_expired", by=RUNTIME, now=now)
        else:
            with pytest.raises(LifecycleError, match="have not elapsed; wait"):
                lifecycle.step("claim_expired", by=RUNTIME, now=now)
            assert lifecycle.state in RESPONSIBLE
            assert "expired" == lifecycle.step("claim_expired", by=OWNER, now=now)

    @pytest.mark.parametrize("trigger", ["claim_accepted", "claim_expired"])
    def test_missing(self, trigger: str) -> None:
        """Where a duration is counted from or to, the time has to be given."""
        state = ClaimState.SUBMITTED if trigger == "claim_accepted" else ClaimState.ACCEPTED
        with pytest.raises(LifecycleError, match="without a time; give now in steps"):
            at(state, clock="due").step(trigger, by=RUNTIME)

    @pytest.mark.parametrize("by", [OWNER, RUNTIME], ids=str)
    def test_units(self, by: Actor) -> None:
        """Seconds are no time for a claim that lasts steps, whoever sends them."""
        with pytest.raises(LifecycleError, match="on another clock; give now in steps"):
            at(ClaimState.ACCEPTED, clock="due").step(
                "claim_expired", by=by, now=Instant.parse("999 s")
            )

    def test_one_clock(self) -> None:
        """A claim without a duration keeps to the clock it was first given."""
        lifecycle = ClaimLifecycle(claim())
        lifecycle.step("claim_accepted", by=RUNTIME, now=START)
        with pytest.raises(LifecycleError, match="give now in steps"):
            lifecycle.step("claim_harmed", by=RUNTIME, now=Instant.parse("11 s"))

    def test_backwards(self) -> None:
        """Time does not run back."""
        with pytest.raises(LifecycleError, match="at 9 steps, before 10 steps"):
            at(ClaimState.ACCEPTED, clock="due").step(
                "claim_harmed", by=RUNTIME, now=Instant.parse("9 steps")
            )


class TestEscalation:
    """Which mode protects more than another."""

    def test_order(self) -> None:
        """Escalation is a strict order with 15 pairs, from best effort up to hard protection."""
        ups = {(old, new) for old in Mode for new in Mode if is_escalation(old, new)}
        assert 15 == len(ups)
        assert (Mode.BEST_EFFORT, Mode.SOFT_PRIORITY) in ups
        assert all((Mode.SOFT_PRIORITY, mode) in ups for mode in list(Mode)[2:])
        assert all((new, old) not in ups for old, new in ups)
        assert all((a, d) in ups for a, b in ups for c, d in ups if b is c)


class TestHistory:
    """What is remembered."""

    @given(
        st.lists(
            st.tuples(st.sampled_from(TRIGGERS), st.sampled_from(ACTORS)),
            max_size=40,
        )
    )
    def test_replay(self, attempts: list[tuple[str, Actor]]) -> None:
        """Whatever is tried, what succeeded makes a chain that replays to the same claim."""
        lifecycle = ClaimLifecycle(claim(Mode.DEMOTABLE))
        for trigger, by in attempts:
            before = (lifecycle.state, lifecycle.history)
            try:
                lifecycle.step(trigger, by=by)
            except SpecError:
                assert before == (lifecycle.state, lifecycle.history)
        again = ClaimLifecycle(claim(Mode.DEMOTABLE))
        for entry in lifecycle.history:
            again.step(entry.trigger, by=entry.by)
            assert entry.dest is again.state
        assert lifecycle.history == again.history
        assert lifecycle.state is again.state
