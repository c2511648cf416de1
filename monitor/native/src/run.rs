//! Holds one run of a stream: what is held, who is in hand, and what is owed.

use crate::breaks::Fine;
use crate::capacity::{Capacity, ALWAYS};
use crate::claim::{Claims, TERMS};
use crate::durations::Durations;
use crate::event::{self, Event, Group, Kinds};
use crate::map::{Hashed, Map, Set};
use crate::names::{Name, Names};
use crate::objects::Objects;
use crate::pool::{Pool, Tiers};
use crate::ranks::Ranks;
use crate::record;
use crate::request::Requests;
use crate::state::Limits;
use crate::tables::Tables;

record! {
    /// One run, from its first line or from a restatement. `ids` has the claims of the stream that
    /// are in hand or ended last, in the order in which they began; `count` counts events; of the
    /// claims in `owing` a report is due; `followers` are the claims that follow a request.
    #[derive(Default)]
    pub struct Run {
        claims: Claims,
        ids: Map<Name, u32>,
        count: u64,
        pool: Pool,
        objects: Objects,
        requests: Requests,
        capacity: Capacity,
        ranks: Ranks,
        durations: Durations,
        owing: Set<u32>,
        followers: Hashed<Name, Set<u32>>,
    }
}

impl Run {
    /// Nothing is held, and no request is in hand.
    pub fn new(limits: Limits) -> Self {
        let groups = vec![(0, Group { full: true, window: 0, span: 1 })];
        Self {
            pool: Pool::new(groups, limits.blocks),
            objects: Objects::new(limits.objects),
            requests: Requests::new(limits.requests),
            ..Self::default()
        }
    }

    // Objects.

    /// Put a claim on the object that it states; return whether keys have other names now.
    pub fn place(
        &mut self, number: u32, event: &Event, tables: &Tables, names: &Names,
    ) -> Fine<bool> {
        let claim = &mut self.claims[number];
        if claim.is_final {
            return Ok(false);
        }
        claim.placed = true;
        let unnamed = self.objects.get(claim.object).object_id.is_none();
        let named = claim.stated.object_id.filter(|_| unnamed);
        if let Some(id) = named {
            self.change_object(number, id, tables, names)?;
        } else if claim.object == 0 {
            claim.object = self.objects.anonymous();
        }
        let renamed = named.is_some();
        let object = self.claims[number].object;
        self.objects.join(object, number);
        self.objects.bind(object, event);
        if !TERMS.has(event.kind) || event.keys.is_empty() {
            return Ok(renamed);
        }
        let counted = self.capacity.uncount(self.objects.sharing(object));
        let stated = self.objects.state(object, event, &mut self.pool, names);
        self.recount(&counted, tables);
        Ok(stated? || renamed)
    }

    pub fn recount(&mut self, claims: &[u32], tables: &Tables) {
        let Run { capacity, claims: all, objects, pool, .. } = self;
        claims.iter().for_each(|number| capacity.add(*number, all, objects, pool, tables));
    }

    /// An object of a claim turns out to be one that has a name.
    fn change_object(&mut self, number: u32, id: Name, tables: &Tables, names: &Names) -> Fine {
        let claim = &self.claims[number];
        let about = (id, claim.stated.cache_identity, claim.stated.token_map);
        let (old, new) = (claim.object, self.objects.named(about, &self.pool, names)?);
        self.objects.leave(old, number);
        let counted = self.capacity.uncount(vec![number]);
        self.claims[number].object = new;
        self.recount(&counted, tables);
        self.objects.move_places(old, new, &mut self.pool);
        self.objects.forget(old);
        Ok(())
    }

    /// A claim of soft_priority holds blocks, or none.
    pub fn rank(&mut self, number: u32, tables: &Tables) {
        let claim = &self.claims[number];
        if claim.mode != tables.named.soft_priority {
            return;
        }
        let ranked = Ranks::is_ranked(number, &self.claims, tables)
            && self.pool.holds((&self.objects, self.objects.get(claim.object)), claim.extent());
        self.ranks.follow(number, ranked, &self.claims);
    }

    // Requests, and what claims take.

    /// The request of an event as it was before; scopes of one before it are dropped.
    pub fn begin_request(
        &mut self, event: &Event, observes: Kinds, tables: &Tables, names: &Names,
    ) -> Fine<Option<Name>> {
        let (request, again) = self.requests.of(event, observes, tables)?;
        if let Some(name) = event.request_id.filter(|_| again) {
            for number in self.followers.remove(name).iter().flat_map(Map::keys) {
                self.claims[number].drop_request(name, tables, names);
            }
        }
        Ok(request)
    }

    /// Whether a request in hand is in a standing conflict with the responsible claims; None if that
    /// is unknown.
    pub fn is_pressed(&self, observes: Kinds) -> Option<bool> {
        let (requests, total) = (&self.requests, self.capacity.total(ALWAYS));
        let observed = observes.has(event::REQUEST_ARRIVED);
        let mut found = observed.then_some(false);
        for request in requests.in_hand.keys().filter_map(|name| requests.live(name)) {
            match (request.needed, request.usable, total) {
                (Some(needed), Some(usable), Some(total)) => {
                    if needed <= usable && usable < total.saturating_add(needed) {
                        return Some(true);
                    }
                }
                _ => found = None,
            }
        }
        found
    }

    /// What a claim takes after an event.
    pub fn counted(&mut self, number: u32, responsible: bool, size: Option<i64>, tables: &Tables) {
        let Run { capacity, claims, objects, pool, count, .. } = self;
        let claim = &mut claims[number];
        let now = claim.responsible(tables);
        if now && !responsible {
            claim.took = *count;
        }
        if now != responsible || claim.size(tables) != size {
            capacity.remove(number);
            if now {
                capacity.add(number, claims, objects, pool, tables);
            }
        }
    }

    pub fn following(&self, name: Name) -> Vec<u32> {
        self.followers.get(name).into_iter().flat_map(Map::keys).collect()
    }

    pub fn unfollow(&mut self, name: Name, number: u32) {
        if let Some(followers) = self.followers.get_mut(name) {
            followers.remove(number);
            if followers.is_empty() {
                self.followers.remove(name);
            }
        }
    }

    /// Note whether a report of a claim is due.
    pub fn owe(&mut self, number: u32, tables: &Tables) {
        if self.claims[number].owes(tables) {
            self.owing.add(number);
        } else {
            self.owing.remove(number);
        }
    }

    /// A claim is no longer followed.
    pub fn drop(&mut self, number: u32) {
        self.objects.leave(self.claims[number].object, number);
        self.capacity.remove(number);
        self.ranks.follow(number, false, &self.claims);
        self.owing.remove(number);
        self.durations.timed.remove(number);
        for name in self.claims[number].seen.requests.keys().collect::<Vec<_>>() {
            self.unfollow(name, number);
        }
        if let Some(trail) = &mut self.claims[number].trail {
            trail.copies = Tiers::default();
        }
    }
}
