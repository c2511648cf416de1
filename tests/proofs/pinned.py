"""What the checks of the modes found, pinned; each mode is checked once for all tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec

from proofs.check import Check, Checks, check_mode
from proofs.checks.cores import Cores
from proofs.checks.results import Lacking
from spec.claims.states import Mode
from tests.once import once

__all__ = [
    "GUARDS_NOT_NEEDED",
    "NECESSARY",
    "UNWRITABLE",
    "checked",
    "checked_cores",
    "checked_guards",
    "command",
]

_ROOT = Path(__file__).parents[2]

# Without this obligation a clause fails: the fewest events that show it, or None: it is redundant.
NECESSARY = {
    Mode.BEST_EFFORT: {
        "claim_identity": 2,
        "materialization_predicate": 2,
        "claim_materialized_event": 2,
        "claim_scoped_telemetry": 4,
    },
    Mode.SOFT_PRIORITY: {
        "claim_identity": 2,
        "priority_influence": 2,
        "claim_scoped_telemetry": 2,
    },
    Mode.HARD_PROTECTED: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "materialization_predicate": 3,
        "footprint_accounting": 4,
        "victim_exclusion_before_violation": 3,
        "explicit_conflict_action": 4,
        "blocking_claim_ids": 2,
        "claim_harm_attribution": 3,
        "ordered_lifecycle_events": 3,
        "claim_materialized_event": 2,
    },
    Mode.DEMOTABLE: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "claim_demoted_before_loss": 4,
        "ordered_lifecycle_events": 3,
        "materialization_predicate": 3,
        "claim_harm_attribution": 3,
    },
    Mode.EXPIRING: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "claim_expired_boundary": 3,
        "ordered_lifecycle_events": 3,
        "claim_harm_attribution": 3,
    },
    Mode.OFFLOADABLE: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "materialization_predicate": 3,
        "offload_restorability": 4,
        "restoration_failure_outcome": None,
        "ordered_lifecycle_events": 3,
        "claim_harm_attribution": 3,
    },
    Mode.ROUTED_REUSE: {
        "claim_identity": 5,
        "materialization_predicate": None,
        "route_cost_attribution": 5,
        "placement_attribution": 5,
        "reuse_routing_attribution": 4,
        "claim_scoped_telemetry": None,
    },
}

# Of these no file of events shows that they are needed, within three events of the fewest.
UNWRITABLE = {(Mode.SOFT_PRIORITY, "claim_identity")}

# Rules without which every clause is still proved (docs/findings.md says what each duplicates).
GUARDS_NOT_NEEDED = {
    Mode.BEST_EFFORT: {
        "claim_materialized_event.materialization_not_reported",
        "claim_scoped_telemetry.predicate_true_again_while_loss_due",
        "claim_scoped_telemetry.loss_reported_without_new_loss",
        "claim_scoped_telemetry.wrong_block_reported_lost",
        "claim_scoped_telemetry.loss_not_reported",
        "claim_scoped_telemetry.ranked_claim_lost_block",
        "materialization_predicate.predicate_reported_false_while_true",
    },
    Mode.SOFT_PRIORITY: {
        "claim_scoped_telemetry.predicate_true_again_while_loss_due",
        "claim_scoped_telemetry.predicate_became_false",
        "claim_scoped_telemetry.wrong_block_reported_lost",
        "claim_scoped_telemetry.loss_reported_while_predicate_true",
    },
    Mode.HARD_PROTECTED: {
        "blocking_claim_ids.deferred_without_blockers",
        "blocking_claim_ids.blockers_not_reported",
        "blocking_claim_ids.restore_refusal_blames_wrong_claims",
        "claim_harm_attribution.restore_failed",
        "claim_harm_attribution.outcome_not_reported",
        "claim_materialized_event.materialization_not_reported",
        "explicit_acceptance.more_accepted_than_committed",
        "explicit_acceptance.reported_before_acceptance",
        "explicit_conflict_action.request_conflicts",
        "footprint_accounting.wrong_capacity_proof",
        "ordered_lifecycle_events.end_attributed_to_wrong_caller",
        "ordered_lifecycle_events.end_not_reported",
        "ordered_lifecycle_events.unauthorized_caller",
        "ordered_lifecycle_events.rejection_reported_while_committed",
    },
    Mode.DEMOTABLE: {
        "claim_harm_attribution.restore_failed",
        "claim_harm_attribution.harm_not_reported",
        "claim_harm_attribution.harm_reported_while_predicate_true",
        "claim_harm_attribution.outcome_not_reported",
        "explicit_acceptance.more_accepted_than_committed",
        "explicit_acceptance.reported_before_acceptance",
        "explicit_acceptance.acceptance_not_reported",
        "materialization_predicate.predicate_reported_false_while_true",
        "ordered_lifecycle_events.end_attributed_to_wrong_caller",
        "ordered_lifecycle_events.end_not_reported",
        "ordered_lifecycle_events.unauthorized_caller",
        "ordered_lifecycle_events.rejection_reported_while_committed",
    },
    Mode.EXPIRING: {
        "claim_expired_boundary.expiry_not_reported",
        "claim_harm_attribution.restore_failed",
        "claim_harm_attribution.harm_not_reported",
        "claim_harm_attribution.harm_reported_while_predicate_true",
        "claim_harm_attribution.outcome_not_reported",
        "explicit_acceptance.more_accepted_than_committed",
        "explicit_acceptance.reported_before_acceptance",
        "explicit_acceptance.acceptance_not_reported",
        "ordered_lifecycle_events.end_attributed_to_wrong_caller",
        "ordered_lifecycle_events.claim_id_reused",
        "ordered_lifecycle_events.end_not_reported",
        "ordered_lifecycle_events.unauthorized_caller",
        "ordered_lifecycle_events.rejection_reported_while_committed",
    },
    Mode.OFFLOADABLE: {
        "claim_harm_attribution.restore_failed",
        "claim_harm_attribution.harm_not_reported",
        "claim_harm_attribution.harm_reported_while_predicate_true",
        "claim_harm_attribution.outcome_not_reported",
        "explicit_acceptance.more_accepted_than_committed",
        "explicit_acceptance.reported_before_acceptance",
        "explicit_acceptance.acceptance_not_reported",
        "materialization_predicate.predicate_reported_false_while_true",
        "offload_restorability.predicate_true_again_by_load",
        "offload_restorability.evicted_without_copy",
        "offload_restorability.offload_reported_without_copy",
        "offload_restorability.restore_reported_without_load",
        "offload_restorability.restore_reported_while_not_required",
        "offload_restorability.recomputed_despite_copy",
        "offload_restorability.recomputed_after_restore_required",
        "offload_restorability.reused_before_later_restore_reported",
        "ordered_lifecycle_events.end_attributed_to_wrong_caller",
        "ordered_lifecycle_events.end_not_reported",
        "ordered_lifecycle_events.unauthorized_caller",
        "ordered_lifecycle_events.rejection_reported_while_committed",
        "restoration_failure_outcome.fallback_before_outcome",
        "restoration_failure_outcome.harm_announced",
        "restoration_failure_outcome.failure_reported_without_failed_load",
        "restoration_failure_outcome.restore_failed",
        "restoration_failure_outcome.refusal_announced",
        "restoration_failure_outcome.served_after_refusal",
        "restoration_failure_outcome.outcome_blames_wrong_claim",
        "restoration_failure_outcome.outcome_not_reported",
    },
    Mode.ROUTED_REUSE: {
        "claim_scoped_telemetry.predicate_true_again_while_loss_due",
        "claim_scoped_telemetry.predicate_became_false",
        "claim_scoped_telemetry.loss_reported_without_new_loss",
        "claim_scoped_telemetry.wrong_block_reported_lost",
        "claim_scoped_telemetry.loss_not_reported",
        "claim_scoped_telemetry.ranked_claim_lost_block",
        "claim_scoped_telemetry.loss_reported_while_predicate_true",
        "materialization_predicate.predicate_reported_true_while_false",
        "materialization_predicate.predicate_reported_false_while_true",
    },
}


@cache
def command() -> tuple[int, bytes]:
    """Exit code and output of `python -m proofs check --full --all --format json`, run once for all
    tests, in whatever process they run."""
    return once("check-full-all", _called)


def _called() -> tuple[int, bytes]:
    line = [sys.executable, "-m", "proofs", "check", "--full", "--all", "--format", "json"]
    done = subprocess.run(line, cwd=_ROOT, capture_output=True)
    assert all(re.search(rb" \(\d+ s\)$", line) for line in done.stderr.splitlines()), done.stderr
    return done.returncode, done.stdout


@cache
def checked(mode: Mode) -> Check:
    """The full check of a mode's contract: as the command answers, or of this mode alone where the
    tests run in one process."""
    if "PYTEST_XDIST_TESTRUNUID" not in os.environ:
        return check_mode(mode, full=True)
    checks = msgspec.json.decode(command()[1], type=Checks).checks
    return next(check for check in checks if check.mode == mode)


def checked_guards(mode: Mode) -> dict[str, Lacking]:
    """What the check of a mode found without each rule that binds."""
    guards = checked(mode).guards
    assert guards is not None
    return guards


def checked_cores(mode: Mode) -> Cores:
    """What the check of a mode found each clause to rest on."""
    check = checked(mode)
    assert check.core is not None
    assert check.in_every_core is not None
    assert check.unused is not None
    return Cores(check.core, check.in_every_core, check.unused)
