//! Follows what events leave behind: what was computed, who waits, and what is still to be reported.

use std::collections::{BTreeSet, VecDeque};

use crate::claim::{Claim, TERMS};
use crate::event::{self, Event, Kind};
use crate::facts::{Effect, Touch};
use crate::fields::{self, route_value};
use crate::map::Map;
use crate::names::{Name, Names};
use crate::pool::Tiers;
use crate::record;
use crate::run::Run;
use crate::sets::Few;
use crate::tables::Tables;

record! {
    /// What events left behind for one claim: the positions computed since it was away, the requests
    /// that wait for it, what is still to be reported of its routes and of its lost blocks (None is
    /// one without an id), and how many copies of all of it each tier has.
    #[derive(Default)]
    pub struct Trail {
        computed: BTreeSet<u64>,
        waiting: Few<Name>,
        routes: Vec<((Option<Name>, Kind), VecDeque<i64>)>,
        lost: Few<Option<Name>>,
        copies: Tiers,
    }
}

/// That of a claim for which none did.
pub static NO_TRAIL: Trail = Trail {
    computed: BTreeSet::new(),
    waiting: Few::None,
    routes: Vec::new(),
    lost: Few::None,
    copies: Tiers { rows: Vec::new() },
};

/// What was computed since the claim was away, who waits for it, and what is still to be
/// reported of its routes and losses.
pub fn follow_claim(
    run: &mut Run, tables: &Tables, names: &Names, number: u32, event: &Event, effect: &Effect,
) {
    let kind = event.kind;
    let claim = &mut run.claims[number];
    if let Some(touch) = effect.touched.get(number) {
        follow_touch(claim, tables, event, touch);
    }
    if tables.sets.routed.has(kind) {
        follow_route(claim, tables, names, event);
    }
    let own = event.claim_id == claim.id;
    if let Some(name) = event.request_id.filter(|_| own && kind == event::CLAIM_RESTORE_REQUIRED) {
        claim.trail_mut().waiting.add(name);
    }
    let Some(trail) = &mut claim.trail else { return };
    if let Some(name) = event.request_id.filter(|_| kind == event::LOAD_FAILED) {
        trail.waiting.remove(name);
    }
    if kind == event::CLAIM_BLOCK_LOST {
        if event.block_ids.is_empty() {
            trail.lost = Few::default();
        }
        event.block_ids.iter().for_each(|block| trail.lost.remove(Some(*block)));
    }
    if own && kind == event::CLAIM_RESTORED {
        trail.waiting = Few::default();
    }
}

fn follow_touch(claim: &mut Claim, tables: &Tables, event: &Event, touch: &Touch) {
    let lost = !touch.lost.is_empty();
    if tables.sets.gone.has(event.kind) && lost && claim.live(tables) {
        let without = touch.blocks.is_empty().then_some(None);
        let blocks = touch.blocks.keys().map(Some).chain(without);
        blocks.for_each(|block| claim.trail_mut().lost.add(block));
    }
    let away = claim.is_away(tables);
    let Some(trail) = &mut claim.trail else { return };
    if lost && away {
        trail.computed.clear();
    } else {
        trail.computed.retain(|at| !touch.lost.contains(*at) && !touch.brought.contains(*at));
        let computes = event.kind == event::BLOCK_CACHED && !event.found;
        if computes && !trail.waiting.is_empty() {
            trail.computed.extend(touch.gained.keys());
        }
    }
}

/// Append a fact that is to be reported; a report removes the oldest of them.
fn follow_route(claim: &mut Claim, tables: &Tables, names: &Names, event: &Event) {
    let live = claim.live(tables);
    for (report, kind) in tables.kinds.iter().enumerate() {
        let Some((fact, field)) = &kind.route else { continue };
        let key = (event.request_id, report as Kind);
        let place = claim.trail().routes.iter().position(|row| row.0 == key);
        if event.kind == *fact && live {
            let value = route_value(event, field, names);
            let routes = &mut claim.trail_mut().routes;
            match place {
                Some(place) => routes[place].1.push_back(value),
                None => routes.push((key, [value].into())),
            }
        } else if let Some(place) = place.filter(|_| event.kind == report as Kind) {
            claim.trail_mut().routes[place].1.pop_front();
        }
    }
}

pub fn follow_request(run: &mut Run, event: &Event, request: Option<Name>, effect: &Effect) {
    let (kind, Some(name)) = (event.kind, event.request_id) else { return };
    if kind == event::REQUEST_ARRIVED && request.is_some() {
        run.requests.arrive(name, event, run.count);
    }
    let finishes = kind == event::REQUEST_FINISHED;
    let Run { requests, claims, followers, .. } = run;
    if finishes || kind == event::REQUEST_REFUSED {
        for number in followers.get(name).into_iter().flat_map(Map::keys) {
            let Some(trail) = &mut claims[number].trail else { continue };
            trail.waiting.remove(name);
            if finishes {
                trail.routes.retain(|row| row.0 .0 != Some(name));
            }
        }
    }
    if let Some(gone) = finishes.then(|| requests.finish(name)).flatten() {
        followers.remove(gone);
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
        claim.clock_mut().elapsed = true;
        durations.timed.remove(number);
        durations.steps_stated |= claim.in_steps();
    }
    if event.kind == event::CLAIM_RETIRED {
        if claim.clock().duration.is_some() && !claim.clock().elapsed {
            claim.clock_mut().early = true;
        }
        durations.timed.remove(number);
        let owner = claim.owner.is_some() && event.by == claim.owner;
        claim.retired |= claim.clock().elapsed || owner;
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
        if lead == claim.facts.get(at.lead) && empty {
            continue;
        }
        let (stores, restores) = (fields::stores(run, claim), fields::restores(run, claim));
        let copied = claim
            .predicate
            .is_some_and(|of| run.pool.has_copy((&run.objects, own), of.start(), of.end()));
        let claim = &mut run.claims[number];
        let whole = i64::from(lead >= claim.threshold());
        let facts = &mut claim.facts;
        facts.set(at.host, stores.into());
        facts.set(at.whole, restores.into());
        facts.set(at.copied, facts.get(at.copied) | i64::from(copied));
        facts.set(at.lead, lead);
        facts.set(at.there, if facts.get(at.there) == 1 { 1 } else { whole });
        for (_, request) in claim.seen.requests.iter_mut() {
            if request.facts.get(at.seen) == 1 {
                request.facts.set(at.away, 1 - whole);
            }
        }
        run.rank(number, tables);
    }
}
