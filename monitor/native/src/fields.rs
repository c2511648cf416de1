//! Computes the fields of an event as one claim sees it. Counts are in blocks.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hasher};

use crate::breaks::Line;
use crate::capacity::{Blame, ALWAYS};
use crate::claim::Claim;
use crate::event::{self, Event, Kinds};
use crate::facts::Effect;
use crate::map::{Map, Set};
use crate::names::{Name, Names};
use crate::request::Request;
use crate::run::Run;
use crate::tables::{Tables, UNKNOWN};
use crate::texts::Predicate;

/// An event, and what it means: what it did to blocks and whom it names, and in `mine` the claims
/// that it is about, each with whether it is its own, and is named.
pub struct Given<'a> {
    pub event: &'a Event,
    pub line: &'a Line,
    pub observes: Kinds,
    pub tables: &'a Tables,
    pub names: &'a Names,
    pub request: Option<Name>,
    pub effect: &'a Effect,
    pub mine: &'a Map<u32, (bool, bool)>,
    pub found: &'a Found,
}

/// An event with the run of the stream: blocks as they are after it, the rest as before.
pub struct Moment<'a> {
    given: &'a Given<'a>,
    pub run: &'a Run,
}

impl<'a> Given<'a> {
    pub fn in_run(&'a self, run: &'a Run) -> Moment<'a> {
        Moment { given: self, run }
    }
}

impl<'a> std::ops::Deref for Moment<'a> {
    type Target = Given<'a>;
    fn deref(&self) -> &Given<'a> {
        self.given
    }
}

/// What is found of an event when a claim first asks for it.
#[derive(Default)]
pub struct Found {
    accused: OnceCell<Set<Name>>,
    blame: OnceCell<Blame>,
    idle: OnceCell<(usize, Option<Name>)>,
    unfailed: OnceCell<bool>,
    total: OnceCell<Option<i64>>,
}

macro_rules! fields {
    ($($field:ident $name:literal),* $(,)?) => {
        #[derive(Clone, Copy)]
        enum Field { $($field),* }
        const FIELDS: &[(Field, &str)] = &[$((Field::$field, $name)),*];
    };
}
fields! {
    Mine "mine", Named "named", Here "here", Lead "lead", Footprint "footprint", Needed "needed",
    Usable "usable", Rest "rest", RestSinceArrival "rest_since_arrival", Shared "shared", Others "others",
    Blamed "blamed", SharedUnblamed "shared_unblamed", BlamedRest "blamed_rest", BlamedLeast "blamed_least",
    Accuses "accuses", InvalidBlocker "invalid_blocker", Restore "restore", BlamesUnfailed "blames_unfailed",
    UnfoundedFailure "unfounded_failure", Duplicate "duplicate", Outcome "outcome", Refusal "refusal", Harm "harm",
    FromTier "from_tier", Intact "intact", Authorised "authorised", By "by", Found "found",
    Covers "covers", Breaks "breaks", NewLoss "new_loss", LowerAvailable "lower_priority_available",
    HigherKept "higher_priority_kept", Proof "proof", SaidResident "said_resident", SaidActive "said_active",
    SaidTotal "said_total", SaidUsable "said_usable", SaidShortfall "said_shortfall", Cost "cost",
    Worker "worker", Hit "hit", SeveralUnreported "several_unreported", MatchesOldest "matches_oldest",
    Stored "stored", Restorable "restorable", Overstates "overstates",
}

/// The names of fields, by their numbers.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|row| row.1)
}

/// The name of a field.
pub fn name(number: u8) -> &'static str {
    FIELDS[usize::from(number)].1
}

/// Of the fields, the numbers of those that are known without computing them; and how many there are.
pub const MINE: usize = Field::Mine as usize;
pub const NAMED: usize = Field::Named as usize;
pub const STATED: u64 = 1 << MINE | 1 << NAMED;
pub const COUNT: u8 = FIELDS.len() as u8;

fn known(value: Option<i64>) -> i64 {
    value.unwrap_or(UNKNOWN)
}

/// Another number for each text, and 0 for none.
pub fn number_of(text: Option<Name>, names: &Names) -> i64 {
    text.map_or(0, |name| {
        let mut hasher = DefaultHasher::new();
        names.with(name, |bytes| hasher.write(bytes));
        (hasher.finish() >> 2) as i64 | 1
    })
}

/// The value of a field of a route, as terms compare it.
pub fn route_value(event: &Event, field: &str, names: &Names) -> i64 {
    match field {
        "worker" => number_of(event.worker, names),
        "cost" => event.cost.unwrap_or(0),
        _ => i64::from(event.hit == Some(true)),
    }
}

/// Contiguous blocks held from the start of the predicate; with `tiers` on the GPU or in a tier.
pub fn lead(run: &Run, claim: &Claim, tiers: bool) -> i64 {
    let on = (&run.objects, run.objects.get(claim.object));
    run.pool.lead(on, claim.start(), claim.extent() as i64, tiers)
}

/// Whether the tiers have a copy of all that the predicate needs.
pub fn stores(run: &Run, claim: &Claim) -> bool {
    let on = (&run.objects, run.objects.get(claim.object));
    let keyed =
        |of: Predicate| run.pool.needs(on, of.start(), of.end(), |key| run.pool.in_tiers(key));
    claim.has_copy() || claim.predicate.is_some_and(keyed)
}

/// Whether all that the predicate needs is on the GPU or in a tier.
pub fn restores(run: &Run, claim: &Claim) -> bool {
    let keyed = claim.predicate.is_some_and(|of| of.blocks() <= lead(run, claim, true));
    claim.has_copy() || keyed
}

impl Moment<'_> {
    /// The value of a field for a claim.
    pub fn value(&self, field: u8, number: u32) -> i64 {
        let (event, run) = (self.event, self.run);
        let (claim, capacity) = (&run.claims[number], &run.capacity);
        let proof = |at: usize| event.proof.map_or(0, |proof| proof[at]);
        let id = claim.id;
        let flag = match FIELDS[usize::from(field)].0 {
            Field::Lead => return self.lead(claim),
            Field::Footprint => return known(event.footprint),
            Field::Needed => return known(event.needed),
            Field::Usable => return known(event.usable),
            Field::Rest => return self.rest(number, ALWAYS),
            Field::RestSinceArrival => return self.since().map_or(0, |at| self.rest(number, at)),
            Field::Shared => return self.shared(number),
            Field::Others => return known(run.requests.needs_of_others(self.request())),
            Field::SharedUnblamed | Field::BlamedRest | Field::BlamedLeast
                if capacity.is_unknown() =>
            {
                return UNKNOWN;
            }
            Field::InvalidBlocker if capacity.is_unknown() && !self.accused().is_empty() => {
                return UNKNOWN;
            }
            Field::SharedUnblamed => {
                return capacity.beside(number, &self.blame().named);
            }
            Field::BlamedRest => return self.blame().rest(number),
            Field::BlamedLeast => return self.blame().least(number),
            Field::By => return number_of(event.by, self.names),
            Field::SaidResident => return proof(0),
            Field::SaidActive => return proof(1),
            Field::SaidTotal => return proof(2),
            Field::SaidUsable => return proof(3),
            Field::SaidShortfall => return proof(4),
            Field::Cost => return known(event.cost),
            Field::Worker => return number_of(event.worker, self.names),
            Field::Overstates => return self.overstates(claim).map_or(UNKNOWN, i64::from),
            Field::Authorised => return self.authorised(claim).map_or(UNKNOWN, i64::from),
            Field::LowerAvailable if self.mine.get(number).is_some_and(|both| both.0) => {
                let (claims, touched) = (&run.claims, &self.effect.touched);
                let found = run.ranks.lower_available(number, claims, event, touched, self.tables);
                return found.map_or(UNKNOWN, i64::from);
            }
            Field::LowerAvailable | Field::Here | Field::Mine | Field::Named => false,
            Field::Blamed => id.is_some_and(|id| self.accused().contains(id)),
            Field::Accuses => !self.accused().is_empty(),
            Field::InvalidBlocker => match self.idle() {
                (0, _) => false,
                (1, one) => one != id,
                _ => true,
            },
            Field::Restore => event.restore && self.has_failed(),
            Field::UnfoundedFailure => event.restore && !self.has_failed(),
            Field::BlamesUnfailed => self.blames_unfailed(claim),
            Field::Duplicate => event.repeats(),
            Field::Outcome => self.outcome(claim),
            Field::Refusal => {
                self.outcome(claim) && event.outcome == Some(self.tables.words.refusal)
            }
            Field::Harm => self.outcome(claim) && event.outcome == Some(self.tables.words.harm),
            Field::FromTier => event.from_tier && self.is_loaded(claim, None),
            Field::Intact => self.intact(number, claim),
            Field::Found => event.found,
            Field::Covers => {
                event.asked.is_some_and(|asked| claim.start() + claim.threshold() <= asked)
            }
            Field::Breaks => {
                let own = claim.facts.get(self.tables.at.lead);
                (if claim.is_final { own } else { self.lead(claim) }) < claim.threshold()
            }
            Field::NewLoss => {
                let lost = &claim.trail().lost;
                let is_lost = |block: &Name| lost.contains(Some(*block));
                let all = lost.contains(None) || event.block_ids.iter().all(is_lost);
                !lost.is_empty() && all
            }
            Field::HigherKept => run.ranks.higher_kept(number, &run.claims),
            Field::Proof => event.proof.is_some() && claim.responsible(self.tables),
            Field::Hit => event.hit == Some(true),
            Field::SeveralUnreported => self.unreported(claim).1 > 1,
            Field::MatchesOldest => {
                let (oldest, _) = self.unreported(claim);
                let route = self.tables.kinds[usize::from(event.kind)].route.as_ref();
                let stated = route.map(|route| route_value(event, &route.1, self.names));
                oldest.is_some() && oldest == stated
            }
            Field::Stored => stores(run, claim),
            Field::Restorable => restores(run, claim),
        };
        i64::from(flag)
    }

    pub fn request(&self) -> Option<&Request> {
        self.request.and_then(|name| self.run.requests.get(name))
    }

    // Blocks.

    /// Contiguous blocks held from the predicate's start, after the event.
    pub fn lead(&self, claim: &Claim) -> i64 {
        lead(self.run, claim, false)
    }

    // Terms.

    /// Whether the acceptance states more blocks or a longer duration than the commitment; without
    /// a duration it leaves the one that was asked for.
    fn overstates(&self, claim: &Claim) -> Option<bool> {
        let (event, held) = (self.event, claim.facts.get(self.tables.at.footprint));
        if event.restated || !claim.committed(self.tables) {
            return Some(false);
        }
        if held != UNKNOWN && event.footprint.is_some_and(|stated| held < stated) {
            return Some(true);
        }
        match event.duration.or(claim.clock().asked).zip(claim.clock().duration) {
            Some((stated, held)) => stated.is_longer(held),
            None => Some(false),
        }
    }

    /// Whether nothing that the predicate needs was computed, and not brought.
    fn is_loaded(&self, claim: &Claim, brought: Option<&Set<u64>>) -> bool {
        let start = claim.start() as u64;
        let end = start.saturating_add(claim.threshold() as u64);
        let brought = |at: &u64| brought.is_some_and(|set| set.contains(*at));
        claim.trail().computed.range(start..end).all(brought)
    }

    fn intact(&self, number: u32, claim: &Claim) -> bool {
        let host = claim.facts.get(self.tables.at.host);
        if !self.effect.direct.contains(number) && host != 1 {
            return false;
        }
        self.is_loaded(claim, self.effect.touched.get(number).map(|touch| &touch.brought))
    }

    // Capacity.

    fn rest(&self, number: u32, until: u64) -> i64 {
        let capacity = &self.run.capacity;
        let total = if until == ALWAYS {
            capacity.total(ALWAYS)
        } else {
            *self.found.total.get_or_init(|| capacity.total(until))
        };
        known(total.map(|total| total - capacity.alone(number, until)))
    }

    /// The event by which claims were responsible that count since the request arrived; None if
    /// none counts. Where the request fits beside all claims, all count.
    fn since(&self) -> Option<u64> {
        if !self.presses() {
            return Some(ALWAYS);
        }
        self.request().filter(|request| !request.restated).map(|request| request.since)
    }

    /// Whether the request, which fits an empty pool, may not fit beside all claims.
    pub fn presses(&self) -> bool {
        let event = self.event;
        let request = self.request().map(|request| (request.needed, request.usable));
        let arrives = event.kind == event::REQUEST_ARRIVED;
        let stated = if arrives { Some((event.needed, event.usable)) } else { request };
        let Some((needed, usable)) = stated else { return false };
        match (needed, usable, self.run.capacity.total(ALWAYS)) {
            (Some(needed), Some(usable), Some(total)) => {
                needed <= usable && usable < total.saturating_add(needed)
            }
            _ => true,
        }
    }

    fn shared(&self, number: u32) -> i64 {
        let ends = self.event.kind == event::REQUEST_FINISHED;
        let until = if ends { self.since() } else { Some(ALWAYS) };
        until.map_or(0, |until| {
            let capacity = &self.run.capacity;
            capacity.size(number, until) - capacity.alone(number, until)
        })
    }

    // Blame.

    /// The ids that the event names as a cause.
    pub fn accused(&self) -> &Set<Name> {
        self.found.accused.get_or_init(|| {
            let mut accused = Set::default();
            accused.extend(self.event.blocking_claim_ids.iter().flatten().copied());
            let outcome = self.event.outcome_claim_id.filter(|_| self.event.restore);
            accused.extend(outcome.into_iter());
            accused
        })
    }

    fn named(&self) -> impl Iterator<Item = (Name, Option<u32>)> + '_ {
        self.accused().keys().map(|name| (name, self.run.ids.get(name).copied()))
    }

    fn blame(&self) -> &Blame {
        self.found.blame.get_or_init(|| {
            let mut named = Set::default();
            let claims = self.named().filter_map(|(_, claim)| claim);
            named.extend(claims.filter(|&c| self.run.claims[c].responsible(self.tables)));
            self.run.capacity.blame(named)
        })
    }

    /// How many of them free nothing, or are no responsible claims here; and one of them.
    fn idle(&self) -> (usize, Option<Name>) {
        *self.found.idle.get_or_init(|| {
            let frees = |claim: Option<u32>| claim.is_some_and(|c| self.blame().share(c) > 0);
            let mut idle = self.named().filter(|row| !frees(row.1)).map(|row| row.0);
            let first = idle.next();
            (usize::from(first.is_some()) + idle.count(), first)
        })
    }

    // Restores, and outcomes.

    fn failed(&self, claim: Name) -> bool {
        self.request().is_some_and(|request| request.failed.contains(claim))
    }

    fn has_failed(&self) -> bool {
        self.request().is_some_and(|request| !request.failed.is_empty())
    }

    fn blames_unfailed(&self, claim: &Claim) -> bool {
        let event = self.event;
        let listed =
            || event.blocking_claim_ids.iter().flatten().copied().chain(event.outcome_claim_id);
        let unfailed = *self.found.unfailed.get_or_init(|| !listed().all(|name| self.failed(name)));
        unfailed
            && (claim.responsible(self.tables)
                || claim.id.is_some_and(|id| listed().any(|name| name == id) || self.failed(id)))
    }

    fn outcome(&self, claim: &Claim) -> bool {
        let event = self.event;
        let Some(outcome) = event.outcome else { return false };
        let mut ours = event.outcome_claim_id.is_none() || event.outcome_claim_id == claim.id;
        if let (true, Some(listed)) =
            (outcome == self.tables.words.refusal, &event.blocking_claim_ids)
        {
            ours = ours && claim.id.is_some_and(|id| listed.contains(&id));
        }
        ours && self.tables.words.outcomes.contains(&outcome)
    }

    // Who acts, and routes.

    fn authorised(&self, claim: &Claim) -> Option<bool> {
        let Some(by) = self.event.by else { return Some(true) };
        if self.event.kind == event::CLAIM_OFFLOADED {
            let on_copies = [event::STORE_FINISHED, event::HOST_COPY_FOUND, event::HOST_COPY_LOST];
            let observed = on_copies.into_iter().all(|kind| self.observes.has(kind));
            match claim.facts.get(self.tables.at.host) {
                0 if observed => return Some(false),
                1 if observed => {}
                _ => return None,
            }
        }
        if by != self.tables.words.runtime {
            return claim.owner.map(|owner| owner == by);
        }
        if self.event.kind == event::CLAIM_EXPIRED {
            if claim.unseen_end() {
                return None;
            }
            return Some(claim.clock().elapsed && !claim.clock().early);
        }
        let demotes = self.event.demotes();
        if demotes && claim.mode == self.tables.named.hard_protected {
            return claim.pressed;
        }
        Some(demotes && claim.mode == self.tables.named.demotable)
    }

    /// The oldest fact about a route that is not reported yet, and how many there are.
    fn unreported(&self, claim: &Claim) -> (Option<i64>, usize) {
        let key = (self.event.request_id, self.event.kind);
        let row = claim.trail().routes.iter().find(|row| row.0 == key);
        row.map_or((None, 0), |row| (row.1.front().copied(), row.1.len()))
    }
}
