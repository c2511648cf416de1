"""What the checks of the modes found, pinned; each mode is checked once for all tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import gettempdir

import msgspec

from proofs.check import Check, Checks, check_mode
from proofs.checks.cores import Cores
from proofs.checks.results import Lacking
from spec.claims.claim import Mode

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
        "claim_materialized_event.silent",
        "claim_scoped_telemetry.back again, but lost",
        "claim_scoped_telemetry.invented",
        "claim_scoped_telemetry.not lost",
        "claim_scoped_telemetry.silent",
        "claim_scoped_telemetry.thinned",
        "materialization_predicate.still there",
    },
    Mode.SOFT_PRIORITY: {
        "claim_scoped_telemetry.back again, but lost",
        "claim_scoped_telemetry.fell",
        "claim_scoped_telemetry.not lost",
        "claim_scoped_telemetry.untrue",
    },
    Mode.HARD_PROTECTED: {
        "blocking_claim_ids.deferred",
        "blocking_claim_ids.nobody",
        "blocking_claim_ids.smeared",
        "claim_harm_attribution.restore failed",
        "claim_harm_attribution.unanswered",
        "claim_materialized_event.silent",
        "explicit_acceptance.post hoc",
        "explicit_conflict_action.does not fit",
        "footprint_accounting.proof",
        "ordered_lifecycle_events.another's end",
        "ordered_lifecycle_events.disorder",
        "ordered_lifecycle_events.silent end",
        "ordered_lifecycle_events.stranger",
        "ordered_lifecycle_events.turned away and held",
    },
    Mode.DEMOTABLE: {
        "claim_harm_attribution.restore failed",
        "claim_harm_attribution.silent",
        "claim_harm_attribution.still whole",
        "claim_harm_attribution.unanswered",
        "explicit_acceptance.post hoc",
        "explicit_acceptance.silent",
        "materialization_predicate.still there",
        "ordered_lifecycle_events.another's end",
        "ordered_lifecycle_events.disorder",
        "ordered_lifecycle_events.silent end",
        "ordered_lifecycle_events.stranger",
        "ordered_lifecycle_events.turned away and held",
    },
    Mode.EXPIRING: {
        "claim_expired_boundary.silent",
        "claim_harm_attribution.restore failed",
        "claim_harm_attribution.silent",
        "claim_harm_attribution.still whole",
        "claim_harm_attribution.unanswered",
        "explicit_acceptance.post hoc",
        "explicit_acceptance.silent",
        "ordered_lifecycle_events.another's end",
        "ordered_lifecycle_events.disorder",
        "ordered_lifecycle_events.second life",
        "ordered_lifecycle_events.silent end",
        "ordered_lifecycle_events.stranger",
        "ordered_lifecycle_events.turned away and held",
    },
    Mode.OFFLOADABLE: {
        "claim_harm_attribution.restore failed",
        "claim_harm_attribution.silent",
        "claim_harm_attribution.still whole",
        "claim_harm_attribution.unanswered",
        "explicit_acceptance.post hoc",
        "explicit_acceptance.silent",
        "materialization_predicate.still there",
        "offload_restorability.back from the tier",
        "offload_restorability.left without a copy",
        "offload_restorability.not in the tier",
        "offload_restorability.not loaded",
        "offload_restorability.out of place",
        "offload_restorability.recomputed",
        "offload_restorability.recomputed instead",
        "offload_restorability.used silently again",
        "ordered_lifecycle_events.another's end",
        "ordered_lifecycle_events.disorder",
        "ordered_lifecycle_events.silent end",
        "ordered_lifecycle_events.stranger",
        "ordered_lifecycle_events.turned away and held",
        "restoration_failure_outcome.fallback first",
        "restoration_failure_outcome.harm stated",
        "restoration_failure_outcome.invented",
        "restoration_failure_outcome.load failed",
        "restoration_failure_outcome.refusal stated",
        "restoration_failure_outcome.served all the same",
        "restoration_failure_outcome.smeared",
        "restoration_failure_outcome.unanswered",
    },
    Mode.ROUTED_REUSE: {
        "claim_scoped_telemetry.back again, but lost",
        "claim_scoped_telemetry.fell",
        "claim_scoped_telemetry.invented",
        "claim_scoped_telemetry.not lost",
        "claim_scoped_telemetry.silent",
        "claim_scoped_telemetry.thinned",
        "claim_scoped_telemetry.untrue",
        "materialization_predicate.not there",
        "materialization_predicate.still there",
    },
}


@cache
def command() -> tuple[int, bytes]:
    """Exit code and output of `python -m proofs check --full --all --format json`, run once for all
    tests, in whatever process they run."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return _called()
    file = Path(gettempdir()) / f"resident-claims-{run}.json"
    with file.open("a+b") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)
        shared.seek(0)
        if said := shared.read():
            code, _, output = said.partition(b"\n")
            return int(code), output
        done = _called()
        shared.write(b"%d\n%s" % done)
    return done


def _called() -> tuple[int, bytes]:
    line = [sys.executable, "-m", "proofs", "check", "--full", "--all", "--format", "json"]
    done = subprocess.run(line, cwd=_ROOT, capture_output=True)
    assert b"" == done.stderr, done.stderr.decode()
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
