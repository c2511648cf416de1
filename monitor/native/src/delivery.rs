//! Delivers an event to a claim: to the claim itself, and to the requests that it follows.

use crate::breaks::{Code, Reason};
use crate::claim::{Claim, Followed, Found, Observed};
use crate::concern::{concerned, OPENS_MANY};
use crate::event;
use crate::fields::{self, Given, Moment};
use crate::map::Set;
use crate::names::Name;
use crate::registers::{Registers, Scope, Stand};
use crate::run::Run;
use crate::tables::{
    Compiled, Row, Rule, Start, Tables, Watch, PENDING, SATISFIED, UNKNOWN, VIOLATED,
};

/// Deliver an event to the claims that it concerns. Afterwards `whom` are those, and `moved` those
/// of which an observer moved.
pub fn deliver(
    run: &mut Run, given: &Given, row: &mut Row, whom: &mut Set<u32>, moved: &mut Vec<u32>,
) {
    let (event, requests) = (given.event, given.tables.sets.requests);
    let caches = event.kind == event::BLOCK_CACHED;
    let mut here = event.request_id.filter(|_| caches || requests.has(event.kind));
    let hands = &run.requests.in_hand;
    let unnamed = caches && event.request_id.is_none() && !event.found;
    if unnamed && hands.len() == 1 {
        here = hands.keys().next();
    }
    let perhaps = unnamed && hands.len() > 1;
    whom.clear();
    moved.clear();
    concerned(&given.in_run(run), here, whom);
    for number in whom.keys() {
        if deliver_to(run, given, number, here.as_slice(), perhaps, row) {
            moved.push(number);
        }
    }
}

/// Deliver an event of the requests `here` to a claim; with `perhaps` it may be of any request in
/// hand. Return whether an observer moved.
fn deliver_to(
    run: &mut Run, given: &Given, number: u32, here: &[Name], perhaps: bool, row: &mut Row,
) -> bool {
    let (event, tables) = (given.event, given.tables);
    let (is_mine, named) = given.mine.get(number).copied().unwrap_or_default();
    let claim = &run.claims[number];
    let loads;
    let here = if event.kind == event::LOAD_FINISHED && is_mine {
        loads = loading(claim, given.effect.direct.contains(number), here, tables);
        &loads
    } else {
        here
    };
    let unsure: Vec<Name> = if perhaps && is_mine && matters_who(claim, tables) {
        run.requests.in_hand.keys().collect()
    } else {
        Vec::new()
    };
    let ranked = |number: u32| tables.modes[run.claims[number].mode].ranked;
    let shows = match event.kind {
        event::PREFIX_LOOKUP => event.held.is_some() || !is_mine,
        event::BLOCK_EVICTED => is_mine || given.mine.keys().any(ranked),
        _ => true,
    };
    let moves = shows && claim.seen.unclear().is_none();
    let to_claim = is_mine || named || run.owing.contains(number);
    let mut seen = std::mem::take(&mut run.claims[number].seen);
    let at = given.in_run(run);
    let claim = &at.run.claims[number];
    row.begin(number, (is_mine, named), claim.threshold(), &claim.facts, &tables.slots);
    let mut delivery = Delivery::new(&at, claim, here, &unsure, moves, row);
    let changed = delivery.ledger();
    if to_claim {
        delivery.to_claim(&mut seen);
    }
    delivery.to_requests(is_mine, &mut seen);
    if is_mine || tables.sets.actions.has(event.kind) || OPENS_MANY.has(event.kind) {
        for &name in here.iter().chain(&unsure) {
            if seen.requests.contains(name) {
                continue;
            }
            if at.run.requests.is_over(name) && seen.may_forget() {
                delivery.forgets(name, &mut seen);
            } else {
                delivery.opens(name, &mut seen);
            }
        }
    }
    let Delivery { opened, moved, owes, .. } = delivery;
    for name in opened {
        run.followers.entry(name).add(number);
    }
    let claim = &mut run.claims[number];
    claim.seen = seen;
    if is_mine && named {
        let trigger = if event.demotes() { event::CLAIM_DEMOTED } else { event.kind };
        claim.state = tables.next_state(claim.state, trigger).unwrap_or(claim.state);
    }
    if let Some(facts) = changed {
        let (responsible, size) = (claim.responsible(tables), claim.size(tables));
        claim.facts = facts;
        run.counted(number, responsible, size, tables);
    }
    if owes {
        run.owe(number, tables);
    }
    moved
}

/// The requests that a load of blocks of a claim belongs to: one that names the claim is also of
/// those that it states, and one that does not brings what a tier had.
fn loading(claim: &Claim, direct: bool, here: &[Name], tables: &Tables) -> Vec<Name> {
    if !direct && claim.facts.get(tables.at.host) != 1 {
        return Vec::new();
    }
    let stated = if direct { here } else { &[] };
    let waiting = claim.trail().waiting.iter().filter(|name| !stated.contains(name));
    stated.iter().copied().chain(waiting).collect()
}

/// Whether it matters which of several requests computed blocks of the claim.
fn matters_who(claim: &Claim, tables: &Tables) -> bool {
    claim.is_away(tables) && claim.responsible(tables) && claim.mode == tables.named.offloadable
}

/// One event on its way to one claim. It belongs to the requests `here`; of those in `perhaps` that
/// is unknown. `moves` says whether it can move an observer.
struct Delivery<'a> {
    at: &'a Moment<'a>,
    claim: &'a Claim,
    here: &'a [Name],
    perhaps: &'a [Name],
    moves: bool,
    kind: &'a Compiled,
    row: &'a mut Row,
    opened: Vec<Name>,
    /// Whether an observer moved, and whether one began or ceased to owe.
    moved: bool,
    owes: bool,
}

impl<'a> Delivery<'a> {
    fn new(
        at: &'a Moment<'a>, claim: &'a Claim, here: &'a [Name], perhaps: &'a [Name], moves: bool,
        row: &'a mut Row,
    ) -> Self {
        let kind = &at.tables.modes[claim.mode].kinds[usize::from(at.event.kind)];
        let (opened, moved, owes) = (Vec::new(), false, false);
        Self { at, claim, here, perhaps, moves, kind, row, opened, moved, owes }
    }

    fn eval(&mut self, term: Start) -> i64 {
        self.at.tables.eval(term, self.row, self.at)
    }

    /// The registers of the claim after the event, if it changes any.
    fn ledger(&mut self) -> Option<Registers> {
        let (kind, slots) = (self.kind, &self.at.tables.slots);
        let mut now = None;
        for &(place, term) in &kind.claim {
            let (place, value) = (usize::from(place), self.eval(term));
            self.row.values[slots.now + place] = value;
            if value != self.row.values[slots.was + place] {
                now.get_or_insert_with(|| self.claim.facts.clone()).set(place, value);
            }
        }
        now
    }

    /// Deliver it to the claim itself.
    fn to_claim(&mut self, seen: &mut Observed) {
        let mut scope = std::mem::take(&mut seen.own);
        self.step(&mut scope, &self.kind.own, seen);
        seen.own = scope;
    }

    /// Deliver it to all requests that the claim follows, or to those that it belongs to.
    fn to_requests(&mut self, all: bool, seen: &mut Observed) {
        let mut requests = std::mem::take(&mut seen.requests);
        if all {
            for (name, followed) in requests.iter_mut() {
                self.to_request(name, followed, seen);
            }
        } else {
            for name in self.here {
                if let Some(followed) = requests.get_mut(*name) {
                    self.to_request(*name, followed, seen);
                }
            }
        }
        seen.requests = requests;
    }

    fn to_request(&mut self, name: Name, followed: &mut Followed, seen: &mut Observed) {
        let here = self.is_here(name);
        self.request(&mut followed.facts, here);
        self.step(&mut followed.scope, &self.kind.scoped, seen);
    }

    fn is_here(&self, name: Name) -> i64 {
        if self.perhaps.contains(&name) {
            return UNKNOWN;
        }
        i64::from(self.here.contains(&name))
    }

    /// Change the registers of a request to those after the event.
    fn request(&mut self, facts: &mut Registers, here: i64) {
        let (kind, slots) = (self.kind, &self.at.tables.slots);
        self.row.values[slots.here] = here;
        facts.copy_to(&mut self.row.values[slots.request_was..]);
        for &(place, term) in &kind.request {
            let (place, value) = (usize::from(place), self.eval(term));
            self.row.values[slots.request + place] = value;
            if value != self.row.values[slots.request_was + place] {
                facts.set(place, value);
            }
        }
    }

    /// Follow a request of the event from now on, if it touches the claim.
    fn opens(&mut self, name: Name, seen: &mut Observed) {
        let here = if self.perhaps.contains(&name) { UNKNOWN } else { 1 };
        let mut facts = self.derived(name);
        self.request(&mut facts, here);
        if self.eval(self.kind.opens) == 0 {
            return;
        }
        let mut scope = seen.own.of_request(self.claim.mode, self.at.tables);
        self.step(&mut scope, &self.kind.scoped, seen);
        let ended = self.at.run.requests.is_over(name);
        seen.requests.insert(name, Followed { facts, scope, ended });
        self.opened.push(name);
    }

    /// What an event comes to is not remembered of a request that ended and was dropped.
    fn forgets(&self, name: Name, seen: &mut Observed) {
        let tables = self.at.tables;
        let request = self.at.names.show(name);
        let text = format!("request {request} ended, and what it came to is not remembered");
        for &number in &tables.modes[self.claim.mode].obligations {
            if tables.obligations[usize::from(number)].per_request {
                let place = self.at.line.at;
                seen.leave_open(number, Reason::new(Code::RequestForgotten, text.clone(), place));
            }
        }
    }

    /// The registers of a request that no event followed for the claim so far.
    fn derived(&self, name: Name) -> Registers {
        let (tables, requests) = (self.at.tables, &self.at.run.requests);
        let (mut found, at) = (tables.request.clone(), &tables.at);
        let Some(request) = requests.live(name) else {
            found.set(at.seen, requests.is_over(name).into());
            return found;
        };
        if !request.in_hand {
            return found;
        }
        let since = self.claim.responsible(tables) && self.claim.took <= request.since;
        found.set(at.seen, 1);
        found.set(at.arrived, 1);
        found.set(at.needed, request.needed.unwrap_or(UNKNOWN));
        found.set(at.usable, request.usable.unwrap_or(UNKNOWN));
        found.set(at.away, self.claim.is_away(tables).into());
        found.set(at.held, since.into());
        if request.restated {
            tables.unknown.iter().for_each(|&place| found.set(place, UNKNOWN));
            found.set(at.held, 0);
        }
        found
    }

    /// Let the observers of a scope take their steps.
    fn step(&mut self, scope: &mut Scope, watches: &'a [Watch], seen: &mut Observed) {
        if !self.moves {
            return;
        }
        let (tables, mode) = (self.at.tables, &self.at.tables.modes[self.claim.mode]);
        for watch in watches {
            let Some(state) = scope.stands.state(watch.place) else { continue };
            let number = mode.obligations[watch.place];
            if !watch.rules.iter().any(|rule| rule.leaves(state)) || seen.is_open(number) {
                continue;
            }
            let (from, own) = (mode.offsets[watch.place], tables.slots.own);
            for each in 0..tables.obligations[usize::from(number)].registers {
                self.row.values[own + each] = scope.registers.get(from + each);
            }
            match self.outcome(&watch.rules, number, state) {
                Outcome::Stays => {}
                Outcome::Unknown => {
                    seen.leave_open(number, self.unknown(number));
                    self.moved = true;
                }
                Outcome::Moves(rule) => self.take(rule, watch.place, scope, seen),
            }
        }
    }

    /// Let an observer take a step.
    fn take(&mut self, rule: &Rule, place: usize, scope: &mut Scope, seen: &mut Observed) {
        let mode = &self.at.tables.modes[self.claim.mode];
        let obligation = mode.obligations[place];
        let verdicts = &self.at.tables.obligations[usize::from(obligation)].verdicts;
        let (&Rule { to, number, .. }, at) = (rule, self.at.line.at);
        let before = scope.stands.get(place);
        let (left, verdict) = (verdicts[usize::from(before.state)], verdicts[usize::from(to)]);
        let exercised = !self.at.event.restated;
        if verdict == VIOLATED && !exercised {
            return; // what led to a restated event, and would allow it, is not known
        }
        if before.state != to && before.exercised && left == SATISFIED {
            let Stand { at, rule, .. } = before;
            seen.keep(obligation, Found { verdict: left, at, rule });
        }
        if verdict == VIOLATED {
            seen.keep(obligation, Found { verdict, at, rule: number });
        }
        self.owes |= left == PENDING || verdict == PENDING;
        self.moved = true;
        let stand = Stand { state: to, rule: number, exercised, absent: false, at };
        scope.stands.set(place, stand);
        for (each, &term) in rule.sets.iter().flatten().enumerate() {
            scope.registers.set(mode.offsets[place] + each, self.eval(term));
        }
    }

    /// The one step that an observer may take by rules, if it is known.
    fn outcome(&mut self, rules: &'a [Rule], obligation: u8, state: u8) -> Outcome<'a> {
        for (at, rule) in rules.iter().enumerate() {
            if rule.leaves(state) {
                match self.eval(rule.when) {
                    0 => {}
                    UNKNOWN => return self.only(&rules[at..], obligation, state),
                    _ => return Outcome::Moves(rule),
                }
            }
        }
        Outcome::Stays
    }

    /// The same where it is unknown whether the first of them applies: all that may must come to one.
    fn only(&mut self, rules: &'a [Rule], obligation: u8, state: u8) -> Outcome<'a> {
        let first = self.at.tables.slots.own;
        let end = first + self.at.tables.obligations[usize::from(obligation)].registers;
        let own = self.row.values[first..end].to_vec();
        let mut found: Option<(&Rule, Vec<i64>)> = None;
        for rule in rules.iter().filter(|rule| rule.leaves(state)) {
            let holds = self.eval(rule.when);
            if holds == 0 {
                continue;
            }
            let after = match &rule.sets {
                Some(sets) => sets.iter().map(|&term| self.eval(term)).collect(),
                None => own.clone(),
            };
            let (first, before) = found.get_or_insert_with(|| (rule, after.clone()));
            if first.to != rule.to || *before != after {
                return Outcome::Unknown;
            }
            if holds != UNKNOWN {
                return Outcome::Moves(first);
            }
        }
        match found {
            Some((rule, after)) if rule.to == state && after == own => Outcome::Moves(rule),
            _ => Outcome::Unknown,
        }
    }

    /// Why the step of an observer is unknown.
    fn unknown(&mut self, obligation: u8) -> Reason {
        let mut unknown: Vec<&str> = (0..64)
            .filter(|each| self.kind.reads >> each & 1 == 1)
            .filter(|&each| self.row.get(each, self.at) == UNKNOWN)
            .map(fields::name)
            .collect();
        unknown.sort_unstable();
        let listed = unknown.join(", ");
        let what = if unknown.is_empty() { String::new() } else { format!(" ({listed})") };
        let kind = &self.at.tables.kinds[usize::from(self.at.event.kind)].name;
        let obligation = &self.at.tables.obligations[usize::from(obligation)].name;
        let text = format!("what {kind} does not state decides {obligation}{what}");
        Reason::new(Code::NextStepUnknown, text, self.at.line.at)
    }
}

enum Outcome<'a> {
    Stays,
    Unknown,
    Moves(&'a Rule),
}
