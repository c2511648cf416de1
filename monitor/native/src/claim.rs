//! Holds one claim: what it states, its registers, and its observers in each scope.

use std::ops::{Index, IndexMut};

use crate::breaks::{Code, Place, Reason};
use crate::durations::{Clock, NO_CLOCK};
use crate::event::{self, Event, Kinds};
use crate::follow::{Trail, NO_TRAIL};
use crate::map::Map;
use crate::names::{Name, Names};
use crate::record;
use crate::registers::{verdict_of, Registers, Scope, Stand, Stands};
use crate::store::Maybe;
use crate::tables::{
    Tables, Verdict, INCONCLUSIVE, PENDING, SATISFIED, UNEXERCISED, UNKNOWN, VIOLATED,
};
use crate::texts::{Predicate, MAX_BLOCKS};

/// The threshold of a predicate that is not stated: it never holds.
const UNSTATED: i64 = 1 << 62;
const KEPT: usize = 32;
/// The rule of a finding that no rule led to.
pub const NO_RULE: u8 = u8::MAX;
/// The kinds by which a registry states a claim, and those that state its terms.
pub const BEGINS: Kinds = Kinds::of(&[event::CLAIM_REGISTERED, event::CLAIM_COMMITTED]);
pub const TERMS: Kinds =
    Kinds::of(&[event::CLAIM_REGISTERED, event::CLAIM_COMMITTED, event::CLAIM_ACCEPTED]);

record! {
    /// What one obligation came to, and at which line, by which rule.
    #[derive(Clone, Copy, Debug)]
    pub struct Found { verdict: Verdict, at: Place, rule: u8 }
}

record! {
    /// A request that a claim follows: its registers, its scope, and whether it ended.
    #[derive(Default)]
    pub struct Followed { facts: Registers, scope: Scope, ended: bool }
}

record! {
    /// What observers do not change any more: why the claim, and single obligations, are inconclusive,
    /// and what obligations came to in states that were left.
    #[derive(Default)]
    pub struct Lasting {
        of_all: Option<Reason>,
        open: Vec<(u8, Reason)>,
        left: Vec<(u8, Found)>,
    }
}

record! {
    /// What observers came to; the part of a claim that deliveries change.
    #[derive(Default)]
    pub struct Observed {
        own: Scope,
        requests: Map<Name, Followed>,
        lasting: Option<Box<Lasting>>,
    }
}

record! {
    /// What a claim states first of its identity.
    #[derive(Default)]
    pub struct Stated {
        cache_identity: Option<Name>,
        object_id: Option<Name>,
        predicate_id: Option<Name>,
        token_map: Option<Name>,
    }
}

record! {
    /// One claim of a stream. Its mode is a place in the table, 0 for none; its object is 0 before
    /// an event binds it to one. `footprint` is that of the commitment, and before it the one that
    /// was asked for. `pressed` says whether its entry ended while a request in hand was in a
    /// standing conflict; None is unknown.
    #[derive(Default)]
    pub struct Claim {
        id: Option<Name>,
        serial: u64,
        mode: usize,
        stated_mode: Option<Name>,
        other_mode: Option<Name>,
        stated: Stated,
        predicate: Option<Predicate>,
        object: u32,
        owner: Option<Name>,
        priority: Maybe,
        disputed: bool,
        footprint: Maybe,
        placed: bool,
        known: bool,
        named: bool,
        introduced: bool,
        accepted: bool,
        retired: bool,
        took: u64,
        pressed: Option<bool>,
        clock: Option<Box<Clock>>,
        trail: Option<Box<Trail>>,
        state: u8,
        facts: Registers,
        seen: Observed,
        is_final: bool,
        period: u32,
    }
}

fn finding(tables: &Tables, obligation: u8, stand: &Stand) -> Found {
    let verdict = verdict_of(tables, obligation, stand);
    if verdict == UNEXERCISED || (verdict == SATISFIED && !stand.exercised) {
        return Found { verdict: UNEXERCISED, at: Place::default(), rule: NO_RULE };
    }
    Found { verdict, at: stand.at, rule: stand.rule }
}

impl Observed {
    /// What an observer came to stays, though its state is left; the first of the heaviest.
    pub fn keep(&mut self, obligation: u8, found: Found) {
        if found.verdict != SATISFIED && found.verdict != VIOLATED {
            return;
        }
        let left = &mut self.lasting.get_or_insert_default().left;
        match left.iter_mut().find(|row| row.0 == obligation) {
            None => left.push((obligation, found)),
            Some(row) if found.verdict > row.1.verdict => row.1 = found,
            Some(_) => {}
        }
    }

    /// Whether scopes of requests that ended may have been dropped: as many are kept as may.
    pub fn may_forget(&self) -> bool {
        self.requests.iter().filter(|row| row.1.ended).count() >= KEPT
    }

    /// One obligation is inconclusive from now on.
    pub fn leave_open(&mut self, obligation: u8, reason: Reason) {
        if !self.is_open(obligation) {
            self.lasting.get_or_insert_default().open.push((obligation, reason));
        }
    }

    /// Why one obligation is inconclusive.
    fn open(&self, obligation: u8) -> Option<&Reason> {
        let open = &self.lasting.as_ref()?.open;
        open.iter().find(|row| row.0 == obligation).map(|row| &row.1)
    }

    /// What an obligation came to in a state that was left.
    fn left(&self, obligation: u8) -> Option<Found> {
        let left = &self.lasting.as_ref()?.left;
        left.iter().find(|row| row.0 == obligation).map(|row| row.1)
    }

    pub fn is_open(&self, obligation: u8) -> bool {
        self.open(obligation).is_some()
    }

    /// Why the claim is inconclusive.
    pub fn unclear(&self) -> Option<&Reason> {
        self.lasting.as_ref()?.of_all.as_ref()
    }
}

impl Claim {
    pub fn new(id: Name, serial: u64, period: u32, tables: &Tables) -> Self {
        let facts = tables.claim.clone();
        let pressed = Some(false);
        Self { id: Some(id), serial, period, facts, pressed, ..Self::default() }
    }

    /// Judge the claim by a mode from now on.
    pub fn begin(&mut self, mode: usize, tables: &Tables) {
        self.mode = mode;
        let of = &tables.modes[mode];
        let stands = Stands::first(of.obligations.len());
        self.seen.own = Scope { stands, registers: of.registers.clone() };
        for (_, request) in self.seen.requests.iter_mut() {
            request.scope = self.seen.own.of_request(mode, tables);
        }
    }

    // What it states.

    pub fn start(&self) -> i64 {
        self.predicate.map_or(0, Predicate::start)
    }
    pub fn threshold(&self) -> i64 {
        self.predicate.map_or(UNSTATED, Predicate::blocks)
    }
    /// The first position after those that its predicate needs; its extent if none is stated.
    pub fn stop(&self) -> i64 {
        self.predicate.map_or(self.extent() as i64, Predicate::end)
    }
    /// The end of its own positions: of its footprint, or of all if none is stated.
    pub fn extent(&self) -> u64 {
        let end = self.predicate.map_or(0, Predicate::end);
        self.footprint.get().map_or(MAX_BLOCKS, |footprint| footprint.max(end)) as u64
    }
    pub fn responsible(&self, tables: &Tables) -> bool {
        self.facts.get(tables.at.responsible) == 1
    }
    /// Blocks that it takes: what it declared, while the runtime is responsible. None if it is
    /// unknown, or whether its duration is over; and of one that ended before, whose keys are not
    /// followed any more.
    pub fn size(&self, tables: &Tables) -> Option<i64> {
        if !self.responsible(tables) {
            return Some(0);
        }
        let untimed = self.lapses(tables) && self.unseen_end() && !self.in_steps();
        let declared = self.facts.get(tables.at.declared);
        (declared != UNKNOWN && !self.is_final && !untimed).then_some(declared)
    }
    pub fn watched(&self, tables: &Tables) -> bool {
        tables.modes[self.mode].watched
    }
    pub fn lapses(&self, tables: &Tables) -> bool {
        self.mode == tables.named.expiring
    }
    pub fn committed(&self, tables: &Tables) -> bool {
        self.facts.get(tables.at.committed) == 1
    }
    /// Whether reports about it are owed, and it goes on.
    pub fn live(&self, tables: &Tables) -> bool {
        let waits = self.facts.get(tables.at.registered) == 1 && !self.committed(tables);
        self.responsible(tables) || (self.watched(tables) && waits && !self.retired)
    }
    /// Whether it has ended: its entry, or the claim before there was an entry.
    pub fn over(&self, tables: &Tables) -> bool {
        if self.responsible(tables) {
            return false;
        }
        let committed = self.committed(tables);
        if self.watched(tables) && !committed {
            return self.retired || self.state == tables.refused;
        }
        tables.terminal >> self.state & 1 == 1 || committed
    }
    /// Whether anything was owed to it: it was accepted, or it is watched.
    pub fn entered(&self, tables: &Tables) -> bool {
        let watched = self.watched(tables) && self.introduced && self.state != tables.refused;
        self.accepted || watched
    }
    pub fn clock(&self) -> &Clock {
        self.clock.as_deref().unwrap_or(&NO_CLOCK)
    }
    pub fn clock_mut(&mut self) -> &mut Clock {
        self.clock.get_or_insert_default()
    }
    pub fn in_steps(&self) -> bool {
        self.clock().duration.is_some_and(|duration| duration.steps)
    }
    /// Whether it is unknown if its duration is over.
    pub fn unseen_end(&self) -> bool {
        !self.clock().untimed.is_none() && !self.clock().elapsed
    }
    pub fn trail(&self) -> &Trail {
        self.trail.as_deref().unwrap_or(&NO_TRAIL)
    }
    pub fn trail_mut(&mut self) -> &mut Trail {
        self.trail.get_or_insert_default()
    }
    pub fn has_copy(&self) -> bool {
        !self.trail().copies.is_empty()
    }
    /// Whether less than the predicate needs is held.
    pub fn is_away(&self, tables: &Tables) -> bool {
        self.facts.get(tables.at.lead) < self.threshold()
    }
    /// Whether what it is on and what it needs is stated.
    pub fn is_whole(&self) -> bool {
        let stated = self.stated.cache_identity.or(self.stated.object_id);
        self.predicate.is_some() && stated.is_some()
    }

    /// Whether the event means the object that the claim was first bound to.
    pub fn binds(&self, event: &Event) -> bool {
        let (own, stated) = (self.predicate, event.predicate);
        let agrees = own.is_none() || stated.is_none() || own == stated;
        let differ =
            |row: (Option<Name>, Option<Name>)| row.0.zip(row.1).is_some_and(|(a, b)| a != b);
        agrees && !self.identities(event).into_iter().any(differ)
    }

    /// Whether the event states nothing that the claim is not bound to already.
    pub fn knows(&self, event: &Event) -> bool {
        let known = self.predicate.is_some() || event.predicate.is_none();
        let news = |row: (Option<Name>, Option<Name>)| row.0.is_none() && row.1.is_some();
        self.placed && known && !self.identities(event).into_iter().any(news)
    }

    /// What the claim and an event state of its identity.
    fn identities(&self, event: &Event) -> [(Option<Name>, Option<Name>); 4] {
        let own = &self.stated;
        [
            (own.cache_identity, event.cache_identity),
            (own.object_id, event.object_id),
            (own.predicate_id, event.predicate_id),
            (own.token_map, event.token_map),
        ]
    }

    /// Take what an event that binds states of the claim; return what contradicts, if anything.
    pub fn state_terms(&mut self, event: &Event, tables: &Tables) -> Option<&'static str> {
        let own = &mut self.stated;
        own.cache_identity = own.cache_identity.or(event.cache_identity);
        own.object_id = own.object_id.or(event.object_id);
        own.predicate_id = own.predicate_id.or(event.predicate_id);
        own.token_map = own.token_map.or(event.token_map);
        self.predicate = self.predicate.or(event.predicate);
        if !TERMS.has(event.kind) {
            return None;
        }
        self.introduced = true;
        let accepts = event.kind == event::CLAIM_ACCEPTED;
        let differs =
            |one: Option<i64>, other: Option<i64>| one.is_some() && other.is_some() && one != other;
        self.disputed |= differs(self.priority.get(), event.priority);
        let again = event.kind == event::CLAIM_REGISTERED;
        let both = self.clock().asked.zip(event.duration).filter(|_| again);
        let owners = self.owner.zip(event.owner_scope).filter(|_| !accepts);
        let why = if both.is_some_and(|(one, other)| one != other) {
            Some("two durations of the claim are asked for")
        } else if owners.is_some_and(|(one, other)| one != other) {
            Some("two owners of the claim are stated")
        } else {
            None
        };
        if accepts {
            self.accepted = true;
        } else {
            self.owner = self.owner.or(event.owner_scope);
            self.known = true;
        }
        self.grant(event, tables);
        self.priority = self.priority.get().or(event.priority).into();
        why
    }

    /// Take footprint and duration: those of the commitment replace what was asked for.
    fn grant(&mut self, event: &Event, tables: &Tables) {
        let commits = event.kind == event::CLAIM_COMMITTED;
        if let Some(stated) = event.duration {
            let clock = self.clock_mut();
            if event.kind == event::CLAIM_REGISTERED {
                clock.asked.get_or_insert(stated);
            }
            if commits || clock.duration.is_none() {
                clock.duration = Some(stated);
            }
        }
        if commits {
            self.footprint = event.footprint.or(self.footprint.get()).into();
        } else if let Some(footprint) = event.footprint.filter(|_| !self.committed(tables)) {
            self.footprint = Some(self.footprint.get().unwrap_or(0).max(footprint)).into();
        }
    }

    // Scopes.

    /// A request ended: its scope is kept for late reports, as long as there are not many. Returns
    /// the requests that are no longer followed.
    pub fn end_request(&mut self, request: Name, tables: &Tables, names: &Names) -> Vec<Name> {
        let Some(followed) = self.seen.requests.remove(request) else { return Vec::new() };
        self.seen.requests.insert(request, Followed { ended: true, ..followed });
        let ended = || self.seen.requests.iter().filter(|row| row.1.ended).map(|row| row.0);
        let dropped: Vec<Name> = ended().take(ended().count().saturating_sub(KEPT)).collect();
        dropped.iter().for_each(|name| self.drop_request(*name, tables, names));
        dropped
    }

    /// Keep of a request what its observers came to.
    pub fn drop_request(&mut self, request: Name, tables: &Tables, names: &Names) {
        let Some(Followed { scope, .. }) = self.seen.requests.remove(request) else { return };
        let obligations = &tables.modes[self.mode].obligations;
        for (place, (stand, &number)) in scope.stands.iter().zip(obligations).enumerate() {
            if stand.absent {
                continue;
            }
            let found = finding(tables, number, &stand);
            self.seen.keep(number, found);
            let own = self.seen.own.stands.get(place);
            let same = (own.state, own.at, own.rule) == (stand.state, stand.at, stand.rule);
            if found.verdict == PENDING && !same {
                let request = names.show(request);
                let text = format!("request {request} ended, and what it owed was never settled");
                let reason = Reason::new(Code::RequestForgotten, text, found.at);
                self.seen.leave_open(number, reason);
            }
        }
    }

    // What it came to.

    /// Nothing more is concluded of the claim.
    pub fn distrust(&mut self, reason: Reason) {
        self.seen.lasting.get_or_insert_default().of_all.get_or_insert(reason);
    }

    pub fn distrust_for(&mut self, code: Code, text: &str, at: Place) {
        if self.seen.unclear().is_none() {
            self.distrust(Reason::new(code, text, at));
        }
    }

    /// Whether something is owed in the scope of the claim itself.
    pub fn owes(&self, tables: &Tables) -> bool {
        self.seen.own.owes(self.mode, tables)
    }

    /// Whether it is over, and no scope of it has anything pending or a request in hand.
    pub fn settled(&self, tables: &Tables) -> bool {
        let done = |each: &Followed| each.ended && !each.scope.owes(self.mode, tables);
        let mut requests = self.seen.requests.iter().map(|row| row.1);
        self.over(tables) && !self.owes(tables) && requests.all(done)
    }

    /// What an obligation came to so far, the heaviest of all scopes, and why nothing is concluded.
    pub fn found(&self, place: usize, tables: &Tables) -> (Found, Option<&Reason>) {
        let number = tables.modes[self.mode].obligations[place];
        let mut heaviest = finding(tables, number, &self.seen.own.stands.get(place));
        let left = self.seen.left(number);
        let stands = self.seen.requests.iter().map(|row| row.1.scope.stands.get(place));
        let scoped = stands.filter(|s| !s.absent).map(|stand| finding(tables, number, &stand));
        if let Some(breach) = left.filter(|found| found.verdict == VIOLATED) {
            heaviest = breach; // the first one counts
        }
        for each in left.into_iter().chain(scoped) {
            if each.verdict > heaviest.verdict {
                heaviest = each;
            }
        }
        let reason = self.seen.unclear().or_else(|| self.seen.open(number));
        match reason {
            Some(reason) if heaviest.verdict != VIOLATED => {
                (Found { verdict: INCONCLUSIVE, at: reason.at, rule: NO_RULE }, Some(reason))
            }
            _ => (heaviest, None),
        }
    }
}

record! {
    /// Claims by number; the numbers of claims that are forgotten are used again.
    #[derive(Default)]
    pub struct Claims { rows: Vec<Claim>, free: Vec<u32>, made: u64 }
}

impl Claims {
    pub fn add(&mut self, claim: Claim) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self[number] = claim;
                number
            }
            None => {
                self.rows.push(claim);
                self.rows.len() as u32 - 1
            }
        }
    }
    pub fn remove(&mut self, number: u32) -> Claim {
        self.free.push(number);
        std::mem::take(&mut self[number])
    }
}

impl Index<u32> for Claims {
    type Output = Claim;
    fn index(&self, number: u32) -> &Claim {
        &self.rows[number as usize]
    }
}

impl IndexMut<u32> for Claims {
    fn index_mut(&mut self, number: u32) -> &mut Claim {
        &mut self.rows[number as usize]
    }
}
