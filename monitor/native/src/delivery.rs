//! Delivers an event to a claim: to the claim itself, and to the requests that it follows.

use crate::breaks::{Code, Reason};
use crate::claim::{Claim, Followed, Found, Observed};
use crate::concern::{concerned, OPENS_MANY};
use crate::event;
use crate::fields::{self, Given, Moment};
use crate::map::Set;
use crate::names::Name;
use crate::registers::{verdict_of, Registers, Scope, Stand};
use crate::run::Run;
use crate::tables::{Compiled, Inputs, Tables, Watch, SATISFIED, UNKNOWN, VIOLATED};

/// Deliver an event to the claims that it concerns. Afterwards `whom` are those, and `moved` those
/// of which an observer moved.
pub fn deliver(run: &mut Run, given: &Given, whom: &mut Set<u32>, moved: &mut Vec<u32>) {
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
        if deliver_to(run, given, number, here.as_slice(), perhaps) {
            moved.push(number);
        }
    }
}

/// Deliver an event of the requests `here` to a claim; with `perhaps` it may be of any request in
/// hand. Return whether an observer moved.
fn deliver_to(run: &mut Run, given: &Given, number: u32, here: &[Name], perhaps: bool) -> bool {
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
    let (responsible, size) = (claim.responsible(tables), claim.size(tables));
    let owes = run.owing.contains(number);
    let mut seen = std::mem::take(&mut run.claims[number].seen);
    let at = given.in_run(run);
    let mut delivery = Delivery::new(&at, number, here, &unsure, moves);
    let now = delivery.ledger();
    if is_mine || named || owes {
        delivery.to_claim(&mut seen, &now);
    }
    delivery.to_requests(is_mine, &mut seen, &now);
    if is_mine || tables.sets.actions.has(event.kind) || OPENS_MANY.has(event.kind) {
        for &name in here.iter().chain(&unsure) {
            if seen.requests.contains(name) {
                continue;
            }
            if at.run.requests.is_over(name) && seen.may_forget() {
                delivery.forgets(name, &mut seen);
            } else {
                delivery.opens(name, &mut seen, &now);
            }
        }
    }
    let Delivery { opened, moved, .. } = delivery;
    for name in opened {
        run.followers.entry(name).add(number);
    }
    let claim = &mut run.claims[number];
    (claim.seen, claim.facts) = (seen, now);
    if is_mine && named {
        let trigger = if event.demotes() { event::CLAIM_DEMOTED } else { event.kind };
        claim.state = tables.next_state(claim.state, trigger).unwrap_or(claim.state);
    }
    run.counted(number, responsible, size, tables);
    if moved {
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
    number: u32,
    claim: &'a Claim,
    here: &'a [Name],
    perhaps: &'a [Name],
    moves: bool,
    kind: &'a Compiled,
    values: [i64; 64],
    asked: u64,
    opened: Vec<Name>,
    /// Whether an observer moved.
    moved: bool,
    /// Whether it goes to several requests, and what the last of them did.
    several: bool,
    last: Option<Steps>,
}

/// The steps that a request took, and from where: its registers, and where its observers stood.
struct Steps {
    here: i64,
    was: Registers,
    own: Registers,
    standing: Vec<Option<u8>>,
    after: Registers,
    outcomes: Vec<Outcome>,
}

/// The value of a field, which is computed when it is first asked for.
fn field(at: &Moment, number: u32, values: &mut [i64; 64], asked: &mut u64, field: u8) -> i64 {
    let value = &mut values[usize::from(field)];
    if *asked >> field & 1 == 0 {
        *value = at.value(field, number);
        *asked |= 1 << field;
    }
    *value
}

impl<'a> Delivery<'a> {
    fn new(
        at: &'a Moment<'a>, number: u32, here: &'a [Name], perhaps: &'a [Name], moves: bool,
    ) -> Self {
        let claim = &at.run.claims[number];
        let kind = &at.tables.modes[claim.mode].kinds[usize::from(at.event.kind)];
        let (values, asked, opened) = ([0; 64], 0, Vec::new());
        let (moved, several, last) = (false, false, None);
        Self {
            at,
            number,
            claim,
            here,
            perhaps,
            moves,
            kind,
            values,
            asked,
            opened,
            moved,
            several,
            last,
        }
    }

    fn eval(&mut self, node: u32, of: &Inputs) -> i64 {
        let (at, number) = (self.at, self.number);
        let (values, asked) = (&mut self.values, &mut self.asked);
        at.tables.eval(node, of, &mut |each| field(at, number, values, asked, each))
    }

    /// The registers of the claim after the event.
    fn ledger(&mut self) -> Registers {
        let mut now = self.claim.facts.clone();
        for &(place, node) in &self.kind.claim {
            let value = self.eval(node, &Inputs { now: &now, ..self.claim.inputs() });
            now.set(place.into(), value);
        }
        now
    }

    /// Deliver it to the claim itself.
    fn to_claim(&mut self, seen: &mut Observed, now: &Registers) {
        let (first, watches) = (&self.at.tables.request, &self.kind.own);
        let mut scope = std::mem::take(&mut seen.own);
        let outcomes = self.outcomes(&scope, watches, (first, first, 0), seen, now);
        self.step(&mut scope, watches, &outcomes, seen);
        seen.own = scope;
    }

    /// Deliver it to all requests that the claim follows, or to those that it belongs to.
    fn to_requests(&mut self, all: bool, seen: &mut Observed, now: &Registers) {
        let mut requests = std::mem::take(&mut seen.requests);
        self.several = all && requests.len() > 1;
        if all {
            for (name, followed) in requests.iter_mut() {
                self.to_request(name, followed, seen, now);
            }
        } else {
            for name in self.here {
                if let Some(followed) = requests.get_mut(*name) {
                    self.to_request(*name, followed, seen, now);
                }
            }
        }
        seen.requests = requests;
    }

    /// Deliver it to one request. Those that ended mostly stand alike, and then take the same steps.
    fn to_request(
        &mut self, name: Name, followed: &mut Followed, seen: &mut Observed, now: &Registers,
    ) {
        let (here, watches) = (self.is_here(name), &self.kind.scoped);
        let Followed { facts, scope, .. } = followed;
        let like_last = self.last.take().filter(|last| {
            let same = last.here == here && last.was == *facts && last.own == scope.registers;
            same && scope.standing(watches).eq(last.standing.iter().copied())
        });
        if let Some(steps) = like_last {
            *facts = steps.after.clone();
            self.step(scope, watches, &steps.outcomes, seen);
            self.last = Some(steps);
            return;
        }
        let after = self.request(facts, here, now);
        let outcomes = self.outcomes(scope, watches, (facts, &after, here), seen, now);
        let start =
            self.several.then(|| (scope.registers.clone(), scope.standing(watches).collect()));
        let was = std::mem::replace(facts, after);
        self.step(scope, watches, &outcomes, seen);
        self.last = start.map(|(own, standing)| {
            let after = facts.clone();
            Steps { here, was, own, standing, after, outcomes }
        });
    }

    fn is_here(&self, name: Name) -> i64 {
        if self.perhaps.contains(&name) {
            return UNKNOWN;
        }
        i64::from(self.here.contains(&name))
    }

    /// The registers of a request after the event.
    fn request(&mut self, was: &Registers, here: i64, now: &Registers) -> Registers {
        let mut after = was.clone();
        for &(place, node) in &self.kind.request {
            let (request_was, request) = (was, &after);
            let inputs = Inputs { here, now, request_was, request, ..self.claim.inputs() };
            let value = self.eval(node, &inputs);
            after.set(place.into(), value);
        }
        after
    }

    /// Follow a request of the event from now on, if it touches the claim.
    fn opens(&mut self, name: Name, seen: &mut Observed, now: &Registers) {
        let here = if self.perhaps.contains(&name) { UNKNOWN } else { 1 };
        let facts = self.derived(name);
        let after = self.request(&facts, here, now);
        let (request_was, request) = (&facts, &after);
        let inputs = Inputs { here, now, request_was, request, ..self.claim.inputs() };
        if self.eval(self.kind.opens, &inputs) == 0 {
            return;
        }
        let scope = seen.own.of_request(self.claim.mode, self.at.tables);
        let ended = self.at.run.requests.is_over(name);
        let mut followed = Followed { facts, scope, ended };
        self.to_request(name, &mut followed, seen, now);
        seen.requests.insert(name, followed);
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

    /// What each observer of a scope does; a request has its registers before and after, and `here`.
    fn outcomes(
        &mut self, scope: &Scope, watches: &[Watch],
        (request_was, request, here): (&Registers, &Registers, i64), seen: &Observed,
        now: &Registers,
    ) -> Vec<Outcome> {
        let mode = &self.at.tables.modes[self.claim.mode];
        let own = &scope.registers;
        let watches = if self.moves { watches } else { &[] };
        let mut made = Vec::with_capacity(watches.len());
        for watch in watches {
            let (stand, first) = (scope.stands.get(watch.place), mode.offsets[watch.place]);
            let inputs =
                Inputs { here, now, request_was, request, own, first, ..self.claim.inputs() };
            let stays = stand.absent || seen.is_open(mode.obligations[watch.place]);
            made.push(if stays {
                Outcome::Stays
            } else {
                self.outcome(watch, stand.state, &inputs)
            });
        }
        made
    }

    /// Move the observers of a scope.
    fn step(
        &mut self, scope: &mut Scope, watches: &[Watch], outcomes: &[Outcome], seen: &mut Observed,
    ) {
        let tables = self.at.tables;
        let mode = &tables.modes[self.claim.mode];
        let exercised = !self.at.event.restated;
        for (watch, outcome) in watches.iter().zip(outcomes) {
            let number = mode.obligations[watch.place];
            if seen.is_open(number) {
                continue;
            }
            match outcome {
                Outcome::Stays => {}
                Outcome::Unknown => {
                    let reason = self.unknown(&tables.obligations[usize::from(number)].name);
                    seen.leave_open(number, reason);
                    self.moved = true;
                }
                Outcome::Moves(to, rule, sets) => {
                    let (to, rule, at) = (*to, *rule, self.at.line.at);
                    let verdicts = &tables.obligations[usize::from(number)].verdicts;
                    let violated = verdicts[usize::from(to)] == VIOLATED;
                    if violated && !exercised {
                        continue; // what led to a restated event, and would allow it, is not known
                    }
                    let before = scope.stands.get(watch.place);
                    let verdict = verdict_of(tables, number, &before);
                    if before.state != to && before.exercised && verdict == SATISFIED {
                        let (at, rule) = (before.at, before.rule);
                        seen.keep(number, Found { verdict, at, rule });
                    }
                    self.moved = true;
                    if violated {
                        seen.keep(number, Found { verdict: VIOLATED, at, rule });
                    }
                    let stand = Stand { state: to, rule, exercised, absent: false, at };
                    scope.stands.set(watch.place, stand);
                    for (place, value) in sets.iter().flatten().enumerate() {
                        scope.registers.set(mode.offsets[watch.place] + place, *value);
                    }
                }
            }
        }
    }

    /// The one step that an observer may take, if it is known.
    fn outcome(&mut self, watch: &Watch, state: u8, inputs: &Inputs) -> Outcome {
        let mut found: Option<(u8, u8, Option<Vec<i64>>)> = None;
        let is_own = |sets: &Vec<i64>| {
            let mut own = sets.iter().enumerate();
            own.all(|(place, value)| inputs.own.get(inputs.first + place) == *value)
        };
        for rule in &watch.rules {
            if rule.sources >> state & 1 == 0 {
                continue;
            }
            let holds = self.eval(rule.when, inputs);
            if holds == 0 {
                continue;
            }
            let sets = rule.sets.as_ref();
            let after: Option<Vec<i64>> =
                sets.map(|sets| sets.iter().map(|&node| self.eval(node, inputs)).collect());
            match &found {
                None => found = Some((rule.to, rule.number, after)),
                Some((to, _, first)) => {
                    let same = match (first, &after) {
                        (Some(one), Some(other)) => one == other,
                        (Some(sets), None) | (None, Some(sets)) => is_own(sets),
                        (None, None) => true,
                    };
                    if *to != rule.to || !same {
                        return Outcome::Unknown;
                    }
                }
            }
            if holds == 1 {
                return found
                    .map_or(Outcome::Stays, |(to, rule, sets)| Outcome::Moves(to, rule, sets));
            }
        }
        match found {
            None => Outcome::Stays,
            Some((to, rule, sets)) => {
                if to == state && sets.as_ref().is_none_or(is_own) {
                    Outcome::Moves(to, rule, sets)
                } else {
                    Outcome::Unknown
                }
            }
        }
    }

    fn unknown(&mut self, obligation: &str) -> Reason {
        let (at, number) = (self.at, self.number);
        let (values, asked) = (&mut self.values, &mut self.asked);
        let mut unknown: Vec<&str> = (0..64)
            .filter(|each| self.kind.reads >> each & 1 == 1)
            .filter(|&each| field(at, number, values, asked, each) == UNKNOWN)
            .map(fields::name)
            .collect();
        unknown.sort_unstable();
        let listed = unknown.join(", ");
        let what = if unknown.is_empty() { String::new() } else { format!(" ({listed})") };
        let kind = &self.at.tables.kinds[usize::from(self.at.event.kind)].name;
        let text = format!("what {kind} does not state decides {obligation}{what}");
        Reason::new(Code::NextStepUnknown, text, self.at.line.at)
    }
}

enum Outcome {
    Stays,
    Unknown,
    Moves(u8, u8, Option<Vec<i64>>),
}
