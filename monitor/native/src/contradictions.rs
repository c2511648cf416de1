//! Finds facts that contradict those before them.

use crate::breaks::{contradiction, Code, Fine};
use crate::claim::Claim;
use crate::durations;
use crate::event;
use crate::facts::ABOUT_BLOCKS;
use crate::fields::Moment;
use crate::tables::Row;

/// Whether a fact contradicts those before it.
pub fn check(at: &Moment, row: &mut Row) -> Fine {
    let kind = at.event.kind;
    if !at.tables.sets.facts.has(kind) {
        return Ok(());
    }
    for (number, about) in at.mine.iter() {
        if at.effect.direct.contains(number) || !ABOUT_BLOCKS.has(kind) {
            assume(at, row, number, *about)?;
        }
    }
    if kind == event::PREFIX_LOOKUP && at.event.held.is_some() {
        at.effect.direct.keys().try_for_each(|number| look_up(at, number))?;
    }
    Ok(())
}

fn assume(at: &Moment, row: &mut Row, number: u32, about: (bool, bool)) -> Fine {
    let (event, claim, tables) = (at.event, &at.run.claims[number], at.tables);
    let terms = &tables.modes[claim.mode].kinds[usize::from(event.kind)].assumed;
    for (assumption, term) in tables.assumptions.iter().zip(terms) {
        let Some(term) = *term else { continue };
        let observed = at.observes.covers(assumption.rests_on);
        if claim.predicate.is_none() || !observed {
            continue;
        }
        if assumption.room && event.footprint.is_none() {
            continue;
        }
        if !event.keys.is_empty() && event.kind == event::STORE_FINISHED {
            continue;
        }
        // One assumption reads the threshold. It is about blocks: groups may need more or fewer.
        let threshold = at.run.pool.size(claim.start(), claim.stop());
        row.begin(number, about, threshold, &claim.facts, &tables.slots);
        if tables.eval(term, row, at) == 0 {
            return contradiction(
                Code::EntryContradicts,
                format!("facts contradict: {}", assumption.broken),
            );
        }
    }
    if event.kind == event::DURATION_ELAPSED && !at.line.derived.has(event.kind) {
        return durations::check(claim, at.line, tables);
    }
    Ok(())
}

fn is_measured(at: &Moment, claim: &Claim) -> bool {
    let observed = at.observes.covers(at.tables.sets.gone);
    claim.predicate.is_some() && !claim.over(at.tables) && observed
}

/// A look-up finds what is held, as far as its prompt could use it.
fn look_up(at: &Moment, number: u32) -> Fine {
    let (event, claim, run) = (at.event, &at.run.claims[number], at.run);
    if !is_measured(at, claim) {
        return Ok(());
    }
    let (held, found) = (at.lead(claim), event.held.unwrap_or(0));
    let (object, end) = (run.objects.get(claim.object), claim.extent() as i64);
    let lead =
        |end: i64, tiers: bool| run.pool.lead((&run.objects, object), claim.start(), end, tiers);
    let why = if found < held {
        match event.asked {
            None => "a look-up finds less than is held, and does not state what it asked for",
            Some(asked) if found < lead(asked.min(end), false) => {
                "facts contradict: a look-up finds less than is held"
            }
            Some(_) => return Ok(()),
        }
    } else if found > held
        && !claim.has_copy()
        && found > lead(end, true)
        && at.observes.has(event::BLOCK_CACHED)
    {
        "facts contradict: a look-up finds more than is held"
    } else {
        return Ok(());
    };
    contradiction(Code::LookupContradicts, why)
}

/// What is reused is held.
pub fn check_reuse(at: &Moment, number: u32) -> Fine {
    let claim = &at.run.claims[number];
    if !is_measured(at, claim) {
        return Ok(());
    }
    let mut found = claim.threshold();
    if let Some(request) = at.request() {
        let last = claim.id.and_then(|id| request.found.get(id));
        found = found.min(last.copied().unwrap_or(found));
    }
    if at.lead(claim) < found {
        return contradiction(Code::ReuseNotHeld, "facts contradict: what is reused is not held");
    }
    Ok(())
}
