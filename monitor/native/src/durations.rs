//! Times what claims last: durations run from the commitment, by the clock of the stream or in steps.

use std::collections::BTreeSet;

use crate::breaks::{contradiction, Code, Fine, Line, Place};
use crate::claim::{Claim, TERMS};
use crate::event::{self, Event};
use crate::map::Set;
use crate::record;
use crate::run::Run;
use crate::tables::Tables;
use crate::texts::Duration;

const FEW: usize = 64; // ends that are not swept

record! {
    /// The claims whose durations run, and when each is over, with the number of the event that
    /// began it; and whether the stream states ends that are counted in steps.
    #[derive(Default)]
    pub struct Durations {
        ends: BTreeSet<((u64, u64), (u64, u32))>,
        timed: Set<u32>,
        steps_stated: bool,
    }
}

record! {
    /// How long a claim lasts. `asked` is the duration that its registration asks for, `duration`
    /// that of the commitment, and before it the one that was asked for. It is over at `end`, and
    /// not before `least`; an `untimed` one may be over since that line.
    #[derive(Default)]
    pub struct Clock {
        asked: Option<Duration>,
        duration: Option<Duration>,
        least: Option<u64>,
        end: Option<u64>,
        untimed: Place,
        elapsed: bool,
        early: bool,
    }
}

/// That of a claim without a duration.
pub static NO_CLOCK: Clock = Clock {
    asked: None,
    duration: None,
    least: None,
    end: None,
    untimed: Place::NONE,
    elapsed: false,
    early: false,
};

/// Take the next claim whose duration is over by this time.
pub fn over_by(run: &mut Run, now: i64) -> Option<u32> {
    while run.durations.ends.first().is_some_and(|row| i128::from(row.0 .0) <= i128::from(now)) {
        let ((end, _), (serial, number)) = run.durations.ends.pop_first()?;
        let claim = &run.claims[number];
        let runs = claim.serial == serial && run.durations.timed.contains(number);
        let clock = claim.clock();
        if runs && clock.end == Some(end) && clock.untimed.is_none() && !clock.elapsed {
            return Some(number);
        }
    }
    None
}

/// A line has no time: it may stand before or after the end of a duration that runs.
pub fn untime(run: &mut Run, at: Place, tables: &Tables) {
    if run.durations.timed.is_empty() {
        return;
    }
    let timed: Vec<u32> = run.durations.timed.keys().collect();
    let counted = run.capacity.uncount(timed.clone());
    for number in timed {
        let clock = run.claims[number].clock_mut();
        clock.untimed = clock.untimed.or(at);
    }
    run.recount(&counted, tables);
    run.durations.timed.clear();
}

/// Nothing is concluded of an expiring claim whose end cannot be timed.
pub fn distrust(run: &mut Run, tables: &Tables, number: u32) {
    let steps = run.durations.steps_stated;
    let claim = &mut run.claims[number];
    let timed = claim.in_steps() && steps;
    if claim.lapses(tables) && claim.unseen_end() && !timed {
        let text = "it is unknown when the duration of the claim is over";
        claim.distrust_for(Code::DurationUntimed, text, claim.clock().untimed);
    }
}

/// When a duration is over that begins now; no line has the largest time.
fn after(now: i64, duration: Duration) -> u64 {
    let end = i128::from(now).saturating_add(duration.nanoseconds());
    u64::try_from(end).unwrap_or(u64::MAX)
}

/// The duration of a claim runs from its commitment.
pub fn start(
    run: &mut Run, tables: &Tables, now: Option<i64>, number: u32, event: &Event, line: &Line,
) {
    let at = tables.at;
    let claim = &mut run.claims[number];
    let commits = event.kind == event::CLAIM_COMMITTED;
    if claim.facts.get(at.committed) == 1 && !commits {
        // The entry has no duration, or another one.
        if TERMS.has(event.kind) && event.duration.is_some() && claim.clock().end.is_none() {
            let clock = claim.clock_mut();
            clock.untimed = clock.untimed.or(line.at);
        }
        return;
    }
    let Some(duration) = claim.clock().duration else { return };
    let serial = claim.serial;
    let clock = claim.clock_mut();
    let first = event.kind == event::CLAIM_REGISTERED && clock.least.is_none();
    if let Some(now) = now.filter(|_| (commits || first) && !duration.steps) {
        clock.least = Some(after(now, duration));
    }
    if !commits {
        return;
    }
    clock.elapsed = false;
    let Some(now) = line.time_ns.filter(|_| !duration.steps) else {
        clock.untimed = line.at;
        return;
    };
    let end = after(now, duration);
    clock.end = Some(end);
    run.durations.timed.add(number);
    run.durations.ends.insert(((end, run.count), (serial, number)));
    if run.durations.ends.len() > 2 * run.durations.timed.len() + FEW {
        sweep(run);
    }
}

/// Drop the ends of durations that run no more: most claims are gone long before theirs.
fn sweep(run: &mut Run) {
    let Run { durations, claims, .. } = run;
    let timed = &durations.timed;
    durations.ends.retain(|&((end, _), (serial, number))| {
        let claim = &claims[number];
        claim.serial == serial && timed.contains(number) && claim.clock().end == Some(end)
    });
}

/// A duration elapses once it is over by the clock of the stream.
pub fn check(claim: &Claim, line: &Line, tables: &Tables) -> Fine {
    let clock = claim.clock();
    let others = claim.mode != 0 && claim.mode != tables.named.expiring;
    let early = |time: i64| i128::from(time) < clock.least.max(clock.end).unwrap_or(0).into();
    let why = if claim.introduced && clock.duration.is_none() && others {
        "the duration of a claim elapses that has none"
    } else if clock.elapsed || (line.time_ns.is_none() && clock.end.is_none()) {
        return Ok(());
    } else if line.time_ns.is_none() {
        "the duration elapses, and the line has no time"
    } else if line.time_ns.is_some_and(early) {
        "the duration elapses too early"
    } else {
        return Ok(());
    };
    contradiction(Code::DurationContradicts, format!("facts contradict: {why}"))
}
