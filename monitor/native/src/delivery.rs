//! Delivers an event to a claim: to the claim itself, and to the requests that it follows.

use crate::breaks::{Code, Place, Reason};
use crate::claim::{verdict_of, Claim, Found, Observed, Scope, Stand};
use crate::fields::{self, Moment};
use crate::names::Name;
use crate::tables::{Compiled, Inputs, Watch, SATISFIED, UNKNOWN, VIOLATED};

/// One event on its way to one claim. It belongs to the requests `here`; of those in `perhaps` that
/// is unknown. `moves` says whether it can move an observer, `exercised` whether that counts
/// and can violate anything.
pub struct Delivery<'a> {
    pub at: &'a Moment<'a>,
    pub number: u32,
    pub claim: &'a Claim,
    pub here: &'a [Name],
    pub perhaps: &'a [Name],
    pub place: Place,
    pub moves: bool,
    pub exercised: bool,
    kind: &'a Compiled,
    values: [i64; 64],
    asked: u64,
    pub opened: Vec<Name>,
    /// Whether an observer moved.
    pub moved: bool,
    /// Room for registers.
    spare: Vec<i64>,
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
    pub fn new(at: &'a Moment<'a>, number: u32, here: &'a [Name], perhaps: &'a [Name]) -> Self {
        let claim = &at.run.claims[number];
        let kind = &at.tables.modes[claim.mode].kinds[usize::from(at.event.kind)];
        let opened = Vec::new();
        Self {
            at,
            number,
            claim,
            here,
            perhaps,
            place: Place::default(),
            moves: true,
            exercised: true,
            kind,
            values: [0; 64],
            asked: 0,
            opened,
            moved: false,
            spare: Vec::new(),
        }
    }

    fn eval(&mut self, node: u32, of: &Inputs) -> i64 {
        let (at, number) = (self.at, self.number);
        let (values, asked) = (&mut self.values, &mut self.asked);
        at.tables.eval(node, of, &mut |each| field(at, number, values, asked, each))
    }

    /// The registers of the claim after the event.
    pub fn ledger(&mut self, now: &mut Vec<i64>) {
        now.clear();
        now.extend_from_slice(&self.claim.facts);
        for &(place, node) in &self.kind.claim {
            let inputs = Inputs { now, ..self.claim.inputs() };
            now[usize::from(place)] = self.eval(node, &inputs);
        }
    }

    /// Deliver it to the claim itself.
    pub fn to_claim(&mut self, seen: &mut Observed, now: &[i64]) {
        let first = &self.at.tables.request;
        let mut scope = std::mem::take(&mut seen.own);
        self.step(&mut scope, &self.kind.own, (first, first, 0), seen, now);
        seen.own = scope;
    }

    /// Deliver it to a request that the claim follows, by its place.
    pub fn to_request(&mut self, place: usize, seen: &mut Observed, now: &[i64]) {
        let (name, scope) = &mut seen.requests[place];
        let here = self.is_here(*name);
        let mut scope = std::mem::take(scope);
        let mut after = std::mem::take(&mut self.spare);
        after.clone_from(&scope.facts);
        self.request(&scope.facts, &mut after, here, now);
        let was = std::mem::take(&mut scope.facts);
        self.step(&mut scope, &self.kind.scoped, (&was, &after, here), seen, now);
        (scope.facts, self.spare) = (after, was);
        seen.requests[place].1 = scope;
    }

    fn is_here(&self, name: Name) -> i64 {
        if self.perhaps.contains(&name) {
            return UNKNOWN;
        }
        i64::from(self.here.contains(&name))
    }

    fn request(&mut self, was: &[i64], after: &mut [i64], here: i64, now: &[i64]) {
        for &(place, node) in &self.kind.request {
            let inputs =
                Inputs { here, now, request_was: was, request: after, ..self.claim.inputs() };
            after[usize::from(place)] = self.eval(node, &inputs);
        }
    }

    /// Follow a request of the event from now on, if it touches the claim.
    pub fn opens(&mut self, name: Name, seen: &mut Observed, now: &[i64]) {
        let here = if self.perhaps.contains(&name) { UNKNOWN } else { 1 };
        let was = self.derived(name);
        let mut after = was.clone();
        self.request(&was, &mut after, here, now);
        let inputs =
            Inputs { here, now, request_was: &was, request: &after, ..self.claim.inputs() };
        if self.eval(self.kind.opens, &inputs) == 0 {
            return;
        }
        let tables = self.at.tables;
        let ended = self.at.run.requests.is_over(name);
        Claim::follow(seen, name, was, ended, &tables.scoped(self.claim.mode));
        self.opened.push(name);
        self.to_request(seen.requests.len() - 1, seen, now);
    }

    /// The registers of a request that no event followed for the claim so far.
    fn derived(&self, name: Name) -> Vec<i64> {
        let (tables, requests) = (self.at.tables, &self.at.run.requests);
        let (mut found, at) = (tables.request.clone(), &tables.at);
        let Some(request) = requests.live(name) else {
            found[at.seen] = i64::from(requests.is_over(name));
            return found;
        };
        if !request.in_hand {
            return found;
        }
        let since = self.claim.responsible(tables) && self.claim.took <= request.since;
        (found[at.seen], found[at.arrived]) = (1, 1);
        found[at.needed] = request.needed.unwrap_or(UNKNOWN);
        found[at.usable] = request.usable.unwrap_or(UNKNOWN);
        found[at.away] = i64::from(self.claim.is_away(tables));
        found[at.held] = i64::from(since);
        if request.restated {
            tables.unknown.iter().for_each(|&place| found[place] = UNKNOWN);
            found[at.held] = 0;
        }
        found
    }

    /// Move the observers of a scope; a request has its registers before and after, and `here`.
    fn step(
        &mut self, scope: &mut Scope, watches: &'a [Watch],
        (request_was, request, here): (&[i64], &[i64], i64), seen: &mut Observed, now: &[i64],
    ) {
        if !self.moves {
            return;
        }
        let tables = self.at.tables;
        let mode = &tables.modes[self.claim.mode];
        for watch in watches {
            let stand = scope.stands[watch.place];
            let number = mode.obligations[watch.place];
            if stand.absent || seen.is_open(number) {
                continue;
            }
            let own = mode.offsets[watch.place];
            let count = tables.obligations[usize::from(number)].registers;
            let registers = &scope.registers[own..own + count];
            let inputs =
                Inputs { here, now, request_was, request, own: registers, ..self.claim.inputs() };
            match self.outcome(watch, stand.state, &inputs) {
                Outcome::Stays => {}
                Outcome::Unknown => {
                    let reason = self.unknown(&tables.obligations[usize::from(number)].name);
                    seen.leave_open(number, reason);
                    self.moved = true;
                }
                Outcome::Moves(to, rule, sets) => {
                    let verdicts = &tables.obligations[usize::from(number)].verdicts;
                    let violated = verdicts[usize::from(to)] == VIOLATED;
                    if violated && !self.exercised {
                        continue; // what led to a restated event, and would allow it, is not known
                    }
                    if stand.state != to && stand.exercised {
                        let verdict = verdict_of(tables, number, &stand);
                        if verdict == SATISFIED {
                            let (at, rule) = (stand.at, stand.rule);
                            seen.keep(number, Found { verdict, at, rule });
                        }
                    }
                    self.moved = true;
                    let (at, exercised) = (self.place, self.exercised);
                    if violated {
                        seen.keep(number, Found { verdict: VIOLATED, at, rule });
                    }
                    scope.stands[watch.place] =
                        Stand { state: to, rule, exercised, absent: false, at };
                    if let Some(sets) = sets {
                        scope.registers[own..own + count].copy_from_slice(&sets);
                    }
                }
            }
        }
    }

    /// The one step that an observer may take, if it is known.
    fn outcome(&mut self, watch: &Watch, state: u8, inputs: &Inputs) -> Outcome {
        let mut found: Option<(u8, u8, Option<Vec<i64>>)> = None;
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
                    let same = |sets: &Option<Vec<i64>>| match sets {
                        Some(sets) => sets.clone(),
                        None => inputs.own.to_vec(),
                    };
                    if *to != rule.to || same(first) != same(&after) {
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
                let stays = sets.as_deref().unwrap_or(inputs.own) == inputs.own;
                if to == state && stays {
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
        Reason::new(Code::NextStepUnknown, text, self.place)
    }
}

enum Outcome {
    Stays,
    Unknown,
    Moves(u8, u8, Option<Vec<i64>>),
}
