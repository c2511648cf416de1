//! Finds whom an event concerns: the claims that it is about, and those that it may matter to.

use crate::event::{self, Event, Kinds};
use crate::facts::{Effect, ABOUT_BLOCKS};
use crate::fields::Moment;
use crate::map::{Map, Set};
use crate::names::Name;
use crate::run::Run;
use crate::tables::Tables;

const CLOSES: Kinds = Kinds::of(&[
    event::CLAIM_COMMITTED,
    event::BLOCK_EVICTED,
    event::CLAIM_RETIRED,
    event::PREFIX_REUSED,
    event::BLOCK_CACHED,
    event::REQUEST_FINISHED,
]);
pub const OPENS_MANY: Kinds = Kinds::of(&[event::REQUEST_ARRIVED, event::REQUEST_FINISHED]);

/// The claims that an event is about, each with whether it is its own, and is named.
pub fn about(
    run: &Run, tables: &Tables, event: &Event, claim: Option<u32>, effect: &Effect, binds: bool,
    found: &mut Map<u32, (bool, bool)>,
) {
    let kind = event.kind;
    if let Some(number) = claim.filter(|_| !binds) {
        found.insert(number, (false, true));
        return;
    }
    if ABOUT_BLOCKS.has(kind) {
        let gone = tables.sets.gone.has(kind);
        for (number, touch) in effect.touched.iter() {
            if (!gone || !touch.lost.is_empty()) && !is_moot(run, tables, number, event) {
                found.insert(number, (true, true));
            }
        }
        for number in effect.direct.keys().filter(|_| !gone) {
            if !is_moot(run, tables, number, event) {
                found.insert(number, (true, true));
            }
        }
        return;
    }
    let Some(number) = claim else { return };
    if tables.sets.facts.has(kind) {
        if kind != event::CLAIM_RETIRED || has_entry(run, tables, number) {
            found.insert(number, (true, true));
        }
        return;
    }
    if !is_moot(run, tables, number, event) {
        found.insert(number, (true, true));
    }
    let claim = &run.claims[number];
    if !claim.known && event.object_id.is_some() {
        for other in run.objects.get(claim.object).on.iter() {
            if other != number && run.claims[other].known {
                found.insert(other, (true, false));
            }
        }
    }
}

fn has_entry(run: &Run, tables: &Tables, number: u32) -> bool {
    let claim = &run.claims[number];
    let committed = claim.facts.get(tables.at.committed) == 1;
    claim.responsible(tables) || (!claim.lapses(tables) && committed)
}

/// Whether nothing is owed of the claim that the event could be about. Late reports about blocks
/// and routes of a claim that was only watched may be true of what happened since.
fn is_moot(run: &Run, tables: &Tables, number: u32, event: &Event) -> bool {
    let claim = &run.claims[number];
    let fact = tables.sets.facts.has(event.kind);
    if !claim.watched(tables) || !claim.over(tables) {
        return claim.is_final && fact;
    }
    if fact {
        return true;
    }
    if tables.kinds[usize::from(event.kind)].route.is_some() {
        let key = (event.request_id, event.kind);
        return !claim.trail().routes.iter().any(|row| row.0 == key && !row.1.is_empty());
    }
    !claim.owes(tables)
}

/// Add the claims that an event of these requests is delivered to.
pub fn concerned(at: &Moment, here: Option<Name>, found: &mut Set<u32>) {
    let (kind, run) = (at.event.kind, at.run);
    found.extend(at.mine.keys());
    let acts = at.tables.sets.actions.has(kind);
    if acts || CLOSES.has(kind) {
        found.extend(run.owing.keys());
    }
    if let Some(each) = here {
        found.extend(run.followers.get(each).into_iter().flat_map(Map::keys));
    }
    if acts {
        found.extend(run.capacity.claims());
        found.extend(at.accused().keys().filter_map(|name| run.ids.get(name).copied()));
        return;
    }
    let again = kind == event::REQUEST_ARRIVED && at.event.restated;
    if OPENS_MANY.has(kind) && !again && at.presses() {
        found.extend(run.capacity.claims());
    }
}
