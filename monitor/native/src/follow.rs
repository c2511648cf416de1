//! Follows what events leave behind: what was computed, who waits, and what is still to be reported.

use crate::claim::TERMS;
use crate::event::{self, Event, Kind};
use crate::facts::Effect;
use crate::fields::{self, route_value};
use crate::map::Few;
use crate::names::{Name, Names};
use crate::run::Run;
use crate::tables::Tables;

/// What was computed since the claim was away, who waits for it, and what is still to be
/// reported of its routes and losses.
pub fn follow_claim(
    run: &mut Run, tables: &Tables, names: &Names, number: u32, event: &Event, effect: &Effect,
) {
    let kind = event.kind;
    let claim = &mut run.claims[number];
    if let Some(touch) = effect.touched.get(number) {
        if !(touch.gained.is_empty() && touch.lost.is_empty() && touch.brought.is_empty()) {
            let lost = !touch.lost.is_empty();
            if tables.sets.gone.has(kind) && lost && claim.live(tables) {
                touch.blocks.keys().for_each(|block| claim.lost.add(Some(block)));
                if touch.blocks.is_empty() {
                    claim.lost.add(None);
                }
            }
            if lost && claim.is_away(tables) {
                claim.computed.clear();
            } else {
                claim
                    .computed
                    .retain(|at| !touch.lost.contains(*at) && !touch.brought.contains(*at));
                let computes = kind == event::BLOCK_CACHED && !event.found;
                if computes && !claim.waiting.is_empty() {
                    claim.computed.extend(touch.gained.keys());
                }
            }
        }
    }
    if let Some(name) = event.request_id.filter(|_| kind == event::LOAD_FAILED) {
        claim.waiting.remove(name);
    }
    if tables.sets.routed.has(kind) {
        follow_route(run, tables, names, number, event);
    }
    let claim = &mut run.claims[number];
    if kind == event::CLAIM_BLOCK_LOST {
        if event.block_ids.is_empty() {
            claim.lost = Few::default();
        }
        event.block_ids.iter().for_each(|block| {
            claim.lost.remove(Some(*block));
        });
    }
    if event.claim_id != claim.id {
        return;
    }
    if kind == event::CLAIM_RESTORED {
        claim.waiting = Few::default();
    }
    if let Some(name) = event.request_id.filter(|_| kind == event::CLAIM_RESTORE_REQUIRED) {
        claim.waiting.add(name);
    }
}

/// Append a fact that is to be reported; a report removes the oldest of them.
fn follow_route(run: &mut Run, tables: &Tables, names: &Names, number: u32, event: &Event) {
    let claim = &mut run.claims[number];
    let live = claim.live(tables);
    for (report, kind) in tables.kinds.iter().enumerate() {
        let Some((fact, field)) = &kind.route else { continue };
        let key = (event.request_id, report as Kind);
        let place = claim.routes.iter().position(|row| row.0 == key);
        if event.kind == *fact && live {
            let value = route_value(event, field, names);
            match place {
                Some(place) => claim.routes[place].1.push_back(value),
                None => claim.routes.push((key, [value].into())),
            }
        } else if let Some(place) = place.filter(|_| event.kind == report as Kind) {
            claim.routes[place].1.pop_front();
        }
    }
}

pub fn follow_request(run: &mut Run, event: &Event, request: Option<Name>, effect: &Effect) {
    let (kind, Some(name)) = (event.kind, event.request_id) else { return };
    if kind == event::REQUEST_ARRIVED && request.is_some() {
        run.requests.arrive(name, event, run.count);
    }
    let finishes = kind == event::REQUEST_FINISHED;
    if finishes || kind == event::REQUEST_REFUSED {
        for number in run.following(name) {
            let claim = &mut run.claims[number];
            claim.waiting.remove(name);
            if finishes {
                claim.routes.retain(|row| row.0 .0 != Some(name));
            }
        }
    }
    let Run { requests, claims, followers, .. } = run;
    if let Some(gone) = finishes.then(|| requests.finish(name)).flatten() {
        followers.remove(&gone);
    }
    let Some(request) = request.and_then(|name| requests.get_mut(name)) else { return };
    let direct = effect.direct.keys().map(|number| &claims[number]);
    match (kind, event.held) {
        (event::LOAD_FAILED, _) => {
            request.failed.extend(direct.filter(|claim| claim.known).filter_map(|c| c.id));
        }
        (event::PREFIX_LOOKUP, Some(held)) => direct.for_each(|claim| {
            claim.id.map(|id| request.found.insert(id, held));
        }),
        _ => {}
    }
}

pub fn follow_entry(run: &mut Run, tables: &Tables, number: u32, event: &Event) {
    let Run { claims, durations, .. } = run;
    let claim = &mut claims[number];
    if event.kind == event::DURATION_ELAPSED {
        claim.elapsed = true;
        durations.timed.remove(number);
        durations.steps_stated |= claim.in_steps();
    }
    if event.kind == event::CLAIM_RETIRED {
        claim.early |= claim.duration.is_some() && !claim.elapsed;
        durations.timed.remove(number);
        let owner = claim.owner.is_some() && event.by == claim.owner;
        claim.retired |= claim.elapsed || owner;
    }
    if TERMS.has(event.kind) || event.kind == event::CLAIM_RETIRED {
        run.rank(number, tables);
    }
}

/// Measure again what the claims hold that are on an object, or on others with a content of it.
pub fn measure(run: &mut Run, tables: &Tables, object: u32) {
    for number in run.objects.sharing(object) {
        let at = tables.at;
        let claim = &run.claims[number];
        let own = run.objects.get(claim.object);
        let lead = fields::lead(run, claim, false);
        let empty = own.contents.is_empty() && own.places.is_empty();
        if lead == claim.facts[at.lead] && empty {
            continue;
        }
        let (stores, restores) = (fields::stores(run, claim), fields::restores(run, claim));
        let copied = claim.predicate.is_some_and(|of| {
            let absent = |key| !run.pool.in_tiers(key);
            !run.pool.needs((&run.objects, own), of.start, of.end(), absent)
        });
        let claim = &mut run.claims[number];
        let whole = i64::from(lead >= claim.threshold());
        claim.facts[at.host] = i64::from(stores);
        claim.facts[at.whole] = i64::from(restores);
        claim.facts[at.copied] |= i64::from(copied);
        claim.facts[at.lead] = lead;
        claim.facts[at.there] = if claim.facts[at.there] == 1 { 1 } else { whole };
        for (_, scope) in &mut claim.seen.requests {
            if scope.facts[at.seen] == 1 {
                scope.facts[at.away] = 1 - whole;
            }
        }
        run.rank(number, tables);
    }
}
