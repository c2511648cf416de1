//! Judges one stream: takes lines in their order, and says what they come to for each claim.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::breaks::{Code, Contradiction, Fine, Line, Order, Place, Reason, Step};
use crate::capacity::{Capacity, ALWAYS};
use crate::claim::{verdict_of, Claim, Claims};
use crate::delivery::Delivery;
use crate::event::{self, Event, Group, Kind, Kinds, Mark};
use crate::facts::{Effect, Facts, ABOUT_BLOCKS};
use crate::fields::{self, route_value, Found, Moment};
use crate::map::{Hashed, Map, Set};
use crate::names::{Name, Names};
use crate::objects::Objects;
use crate::outcome;
use crate::pool::Pool;
use crate::ranks::Ranks;
use crate::record;
use crate::request::Requests;
use crate::store::{Bytes, Store};
use crate::tables::{Shared, PENDING, UNKNOWN};

const BEGINS: Kinds = Kinds::of(&[event::CLAIM_REGISTERED, event::CLAIM_COMMITTED]);
const TERMS: Kinds =
    Kinds::of(&[event::CLAIM_REGISTERED, event::CLAIM_COMMITTED, event::CLAIM_ACCEPTED]);
const CLOSES: Kinds = Kinds::of(&[
    event::CLAIM_COMMITTED,
    event::BLOCK_EVICTED,
    event::CLAIM_RETIRED,
    event::PREFIX_REUSED,
    event::BLOCK_CACHED,
    event::REQUEST_FINISHED,
]);
const OPENS_MANY: Kinds = Kinds::of(&[event::REQUEST_ARRIVED, event::REQUEST_FINISHED]);
const NO_EARLY: Kinds = Kinds::of(&[event::CLAIM_REJECTED, event::CLAIM_ACCEPTED]);

record! {
    /// How much of a stream is kept: claims in hand, ended claims, ids of others, requests.
    #[derive(Clone, Copy)]
    pub struct Limits { live: usize, ended: usize, ids: usize, requests: usize }
}

record! {
    /// What a stream came to so far. `ids` has the claims of this period that are in hand or ended
    /// last, in the order in which they began, `ended` those of them that ended, `past` those of
    /// periods before, `gone` the ids of others;
    /// `counted` are the verdicts of claims that are no longer kept.
    pub struct State {
        limits: Limits,
        default: usize,
        order: Order,
        claims: Claims,
        ids: Map<Name, u32>,
        past: Set<u32>,
        breaks: Vec<Reason>,
        broken: Option<Reason>,
        restating: bool,
        period: u64,
        left: Option<Reason>,
        observes: Kinds,
        told: Kinds,
        news: Set<u32>,
        gone: Set<Name>,
        ended: Map<Name, u32>,
        count: u64,
        pool: Pool,
        objects: Objects,
        requests: Requests,
        capacity: Capacity,
        ranks: Ranks,
        owing: Set<u32>,
        followers: Hashed<Name, Set<u32>>,
        ends: BinaryHeap<Reverse<(i128, u64, u64, u32)>>,
        timed: Set<u32>,
        steps_stated: bool,
        counted: Vec<u64>,
    }
}

impl Store for Kinds {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        u64::get(from).map(Self)
    }
}

impl Store for BinaryHeap<Reverse<(i128, u64, u64, u32)>> {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter()
            .map(|row| ((row.0 .0, row.0 .1), (row.0 .2, row.0 .3)))
            .collect::<Vec<_>>()
            .put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let rows: Vec<((i128, u64), (u64, u32))> = Store::get(from)?;
        Some(
            rows.into_iter().map(|row| Reverse((row.0 .0, row.0 .1, row.1 .0, row.1 .1))).collect(),
        )
    }
}

/// One stream, and the verdict on each of its claims.
pub struct Judge {
    pub tables: Shared,
    pub names: Names,
    pub state: State,
    /// Outcomes of claims that are forgotten, as lines of JSON.
    pub forgotten: Vec<u8>,
    pub stream: String,
    effect: Effect,
    mine: Map<u32, (bool, bool)>,
    now: Vec<i64>,
    concerned: Set<u32>,
    /// The claims of which an observer moved.
    moved: Vec<u32>,
}

fn full() -> Vec<(u64, Group)> {
    vec![(0, Group { full: true, window: 0 })]
}

impl Judge {
    pub fn new(tables: Shared, default: usize, first: Vec<i64>, limits: Limits) -> Self {
        let state = State {
            limits,
            default,
            order: Order { first, ..Order::default() },
            claims: Claims::default(),
            ids: Map::default(),
            past: Set::default(),
            breaks: Vec::new(),
            broken: None,
            restating: false,
            period: 0,
            left: None,
            observes: tables.facts,
            told: tables.facts,
            news: Set::default(),
            gone: Set::default(),
            ended: Map::default(),
            count: 0,
            pool: Pool::new(full()),
            objects: Objects::default(),
            requests: Requests::new(limits.requests),
            capacity: Capacity::default(),
            ranks: Ranks::default(),
            owing: Set::default(),
            followers: Hashed::default(),
            ends: BinaryHeap::new(),
            timed: Set::default(),
            steps_stated: false,
            counted: vec![0; 3],
        };
        Self::with(tables, state)
    }

    pub fn with(tables: Shared, state: State) -> Self {
        Self {
            tables,
            names: Names::default(),
            state,
            forgotten: Vec::new(),
            stream: String::new(),
            effect: Effect::default(),
            mine: Map::default(),
            now: Vec::new(),
            concerned: Set::default(),
            moved: Vec::new(),
        }
    }

    /// A run begins: nothing is held, and no request is in hand.
    fn begin(&mut self) {
        let state = &mut self.state;
        state.pool = Pool::new(full());
        state.objects = Objects::default();
        state.requests = Requests::new(state.limits.requests);
        state.capacity = Capacity::default();
        state.ranks = Ranks::default();
        state.owing.clear();
        state.followers.clear();
        state.ends.clear();
        state.timed.clear();
        state.steps_stated = false;
    }

    // Lines.

    /// The next line of the stream, with its events.
    pub fn take(&mut self, line: &Line, events: &[Event]) {
        match self.state.order.take(line) {
            Step::Fine => {}
            Step::Broken(reason) => self.break_off(reason),
            Step::Begins(reason) => {
                self.break_off(reason);
                self.start();
            }
        }
        self.mark(line);
        if let Err(found) = self.events(line, events) {
            self.break_off(found.at(line.at));
        }
    }

    fn events(&mut self, line: &Line, events: &[Event]) -> Fine {
        if line.time_ns.is_some() {
            self.elapse(line)?;
        } else if line.mark.is_none() {
            self.untime(line);
        }
        events.iter().try_for_each(|event| self.event(event, line))?;
        let mut doubts = line.doubts.iter();
        doubts.try_for_each(|(name, only, why)| self.doubt(name.as_deref(), only, why, line.at))
    }

    /// The stream is over: an end that was promised, and what durations came to, are known.
    pub fn finish(&mut self) {
        if self.state.order.is_cut() {
            let text = "the stream was cut: stream_closed is not its last line";
            self.break_off(Reason::new(Code::StreamCut, text, self.state.order.opened));
        }
        let all: Vec<u32> = self.state.ids.iter().map(|row| *row.1).collect();
        all.into_iter().for_each(|number| self.time_end(number));
    }

    /// Nothing is concluded of an expiring claim whose end cannot be timed.
    fn time_end(&mut self, number: u32) {
        let steps = self.state.steps_stated;
        let claim = &mut self.state.claims[number];
        let timed = claim.in_steps() && steps;
        if claim.lapses(&self.tables) && claim.unseen_end() && !timed {
            let text = "it is unknown when the duration of the claim is over";
            claim.distrust_for(Code::DurationUntimed, text, claim.untimed);
        }
    }

    /// Another run begins after a break; its claims are judged in a period of their own.
    fn start(&mut self) {
        self.state.broken = None;
        self.state.period += 1;
        while let Some((name, number)) = self.state.ended.pop_first() {
            self.state.past.add(number);
            self.state.ids.remove(name);
        }
        while self.state.past.len() > self.state.limits.ended {
            if let Some((oldest, ())) = self.state.past.pop_first() {
                self.forget(oldest);
            }
        }
        self.state.gone.clear();
        self.begin();
    }

    fn mark(&mut self, line: &Line) {
        let mark = line.mark.as_ref();
        if let Some(mark) = mark.filter(|mark| !mark.groups.is_empty()) {
            let mut groups = Map::default();
            for (number, group) in &mark.groups {
                groups.insert(*number, *group);
            }
            self.state.pool.groups = groups.iter().map(|row| (row.0, *row.1)).collect();
        }
        if mark.is_some_and(|mark| mark.kind == Mark::Restated) {
            self.state.restating = self.state.broken.is_some();
            if self.state.restating {
                let groups = std::mem::take(&mut self.state.pool.groups);
                self.start();
                self.state.pool.groups = groups;
            }
        }
        if let Some(observes) = line.observes.filter(|set| !set.covers(self.state.observes)) {
            self.state.observes.0 &= observes.0;
            if mark.is_some() {
                self.state.told = self.state.observes;
                self.alive().into_iter().for_each(|number| self.blind(number, line.at));
            }
        }
    }

    /// Leave open the obligations that rest on facts which the stream does not observe.
    fn blind(&mut self, number: u32, at: Place) {
        let told = self.state.told;
        if told == self.tables.facts {
            return;
        }
        let claim = &mut self.state.claims[number];
        for &obligation in &self.tables.modes[claim.mode].obligations {
            let facts = self.tables.obligations[usize::from(obligation)].facts;
            if !told.covers(facts) {
                let text = self.tables.listed(Kinds(facts.0 & !told.0));
                let reason = Reason::new(Code::NotObserved, format!("not observed: {text}"), at);
                claim.seen.leave_open(obligation, reason);
            }
        }
    }

    /// What the form of the stream does not state leaves open what depends on it.
    fn doubt(&mut self, name: Option<&str>, only: &[String], why: &str, at: Place) -> Fine {
        let claims = match name {
            None => self.alive(),
            Some(name) => {
                let name = self.names.text(name);
                vec![self.claim(name, at)?]
            }
        };
        for number in claims {
            let claim = &mut self.state.claims[number];
            for &obligation in &self.tables.modes[claim.mode].obligations {
                if only.contains(&self.tables.obligations[usize::from(obligation)].name) {
                    claim.seen.leave_open(obligation, Reason::new(Code::FormOmitsField, why, at));
                }
            }
            if only.is_empty() {
                claim.distrust_for(Code::FormOmits, why, at);
            }
        }
        Ok(())
    }

    fn alive(&self) -> Vec<u32> {
        let all = self.state.ids.iter().map(|row| *row.1);
        all.filter(|number| !self.state.claims[*number].is_final).collect()
    }

    /// From here on nothing is concluded, until a run begins.
    pub fn break_off(&mut self, reason: Reason) {
        self.state.left.get_or_insert_with(|| reason.clone());
        if self.state.broken.is_none() {
            self.state.breaks.push(reason.clone());
            self.state.broken = Some(reason.clone());
        }
        self.state.restating = false;
        for number in self.alive() {
            self.state.claims[number].distrust(reason.clone());
            self.end(number);
        }
        self.begin();
    }

    // Time.

    /// Durations that are over by the time of this line elapse before it.
    fn elapse(&mut self, line: &Line) -> Fine {
        let now = i128::from(line.time_ns.unwrap_or(0));
        while self.state.ends.peek().is_some_and(|row| row.0 .0 <= now) {
            let Some(Reverse((end, _, serial, number))) = self.state.ends.pop() else { break };
            let claim = &self.state.claims[number];
            let runs = claim.serial == serial && self.state.timed.contains(number);
            if runs && claim.end == Some(end) && claim.untimed == 0 && !claim.elapsed {
                let kind = event::DURATION_ELAPSED;
                let event = Event { kind, claim_id: claim.id, ..Event::default() };
                self.event(&event, line)?;
            }
        }
        Ok(())
    }

    /// A line has no time: it may stand before or after the end of a duration that runs.
    fn untime(&mut self, line: &Line) {
        if self.state.timed.is_empty() {
            return;
        }
        let timed: Vec<u32> = self.state.timed.keys().collect();
        let counted = self.state.capacity.uncount(timed.clone());
        for number in timed {
            let claim = &mut self.state.claims[number];
            claim.untimed = if claim.untimed == 0 { line.at } else { claim.untimed };
        }
        self.recount(&counted);
        self.state.timed.clear();
    }

    // Events.

    fn event(&mut self, event: &Event, line: &Line) -> Fine {
        let in_tiers = event.tier.is_some_and(|tier| tier != self.tables.words.gpu);
        let kind = match event.kind {
            event::BLOCK_CACHED if in_tiers => event::STORE_FINISHED,
            event::BLOCK_EVICTED | event::BLOCK_LOST if in_tiers => event::HOST_COPY_LOST,
            kind => kind,
        };
        let copies;
        let event = if in_tiers {
            copies = Event { kind, ..event.clone() };
            &copies
        } else {
            event
        };
        if event.restated && !self.state.restating {
            return Ok(());
        }
        if self.state.restating && !event.restated {
            self.restated();
        }
        if self.state.broken.is_some() {
            return self.unknown(event, line.at);
        }
        self.state.count += 1;
        let request = self.request(event)?;
        let claim = event.claim_id.map(|name| self.claim(name, line.at)).transpose()?;
        let binds = claim.is_none_or(|number| self.state.claims[number].binds(event));
        if let Some(number) = claim {
            self.introduce(number, event, line, binds)?;
        }
        let mut effect = std::mem::take(&mut self.effect);
        let mut mine = std::mem::take(&mut self.mine);
        effect.clear();
        mine.clear();
        let done = self.concern(event, line, claim, binds, request, &mut effect, &mut mine);
        (self.effect, self.mine) = (effect, mine);
        done
    }

    #[allow(clippy::too_many_arguments)]
    fn concern(
        &mut self, event: &Event, line: &Line, claim: Option<u32>, binds: bool,
        request: Option<Name>, effect: &mut Effect, mine: &mut Map<u32, (bool, bool)>,
    ) -> Fine {
        if ABOUT_BLOCKS.has(event.kind) && binds {
            let State { pool, objects, capacity, claims, .. } = &mut self.state;
            let (tables, names) = (&*self.tables, &self.names);
            Facts { pool, objects, capacity, claims, tables, names, effect }.take(event, claim)?;
        }
        self.mine(event, claim, effect, binds, mine);
        for (number, touch) in effect.touched.iter() {
            if !touch.gained.is_empty() || !touch.lost.is_empty() {
                self.rank(number);
            }
        }
        let found = Found::default();
        self.contradict(&self.moment(event, request, effect, mine, &found), line)?;
        if event.kind == event::CLAIM_RETIRED {
            for number in mine.keys() {
                if self.state.claims[number].responsible(&self.tables) {
                    self.state.claims[number].pressed = self.is_pressed();
                }
            }
        }
        self.deliver(event, request, effect, mine, &found, line);
        if event.kind == event::PREFIX_REUSED {
            let at = self.moment(event, request, effect, mine, &found);
            at.direct.keys().try_for_each(|number| self.reuse(&at, number))?;
        }
        self.after(event, request, effect, mine, claim, line, binds)
    }

    fn moment<'a>(
        &'a self, event: &'a Event, request: Option<Name>, effect: &'a Effect,
        mine: &'a Map<u32, (bool, bool)>, found: &'a Found,
    ) -> Moment<'a> {
        Moment {
            event,
            state: &self.state,
            tables: &self.tables,
            names: &self.names,
            request,
            direct: &effect.direct,
            touched: &effect.touched,
            mine,
            found,
        }
    }

    /// A claim of soft_priority holds blocks, or none.
    fn rank(&mut self, number: u32) {
        let state = &mut self.state;
        let claim = &state.claims[number];
        if claim.mode != self.tables.soft_priority {
            return;
        }
        let ranked = Ranks::is_ranked(number, &state.claims, &self.tables)
            && state.pool.holds((&state.objects, state.objects.get(claim.object)), claim.extent());
        state.ranks.follow(number, ranked, &state.claims);
    }

    /// Nothing is known of the pool: claims that begin are inconclusive.
    fn unknown(&mut self, event: &Event, at: Place) -> Fine {
        let Some(name) = event.claim_id.filter(|_| TERMS.has(event.kind)) else { return Ok(()) };
        if self.state.ids.contains(name) && event.kind != event::CLAIM_REGISTERED {
            return Ok(());
        }
        let number = self.claim(name, at)?;
        let claim = &self.state.claims[number];
        if claim.mode == 0 && !claim.introduced {
            self.set_mode(number, event.mode, at);
        }
        let claim = &mut self.state.claims[number];
        if claim.binds(event) {
            claim.state_terms(event, &self.tables);
        }
        if !claim.is_final {
            claim.distrust_for(Code::UnknownPool, "nothing is known of the pool", at);
            self.end(number);
        }
        Ok(())
    }

    /// What stands is stated: what restated events alone made due is not owed. What a request in
    /// hand waits for, as a restore that was reported to be required, still is.
    fn restated(&mut self) {
        self.state.restating = false;
        for number in self.alive() {
            let claim = &mut self.state.claims[number];
            let obligations = &self.tables.modes[claim.mode].obligations;
            for (stand, &obligation) in claim.seen.own.stands.iter_mut().zip(obligations) {
                if verdict_of(&self.tables, obligation, stand) == PENDING {
                    (stand.state, stand.exercised) = (0, false);
                }
            }
        }
        self.state.owing.clear();
    }

    /// The request of an event as it was before; scopes of one before it are dropped.
    fn request(&mut self, event: &Event) -> Fine<Option<Name>> {
        let state = &mut self.state;
        let over = event.request_id.is_some_and(|name| state.requests.is_over(name));
        let request = state.requests.of(event, state.observes, &self.tables)?;
        let again = |name: &Name| over && !state.requests.is_over(*name);
        if let Some(name) = event.request_id.filter(again) {
            for number in state.followers.remove(&name).iter().flat_map(Map::keys) {
                state.claims[number].drop_request(name, &self.tables, &self.names);
            }
        }
        Ok(request)
    }

    /// The claim of this id, which is new if there is none.
    fn claim(&mut self, name: Name, at: Place) -> Fine<u32> {
        let state = &mut self.state;
        if let Some(number) = state.ids.get(name) {
            return Ok(*number);
        }
        if state.ids.len() - state.ended.len() >= state.limits.live {
            let text = format!("more than {} claims are in hand", state.limits.live);
            return Err(Contradiction::new(Code::LimitReached, text));
        }
        state.claims.made += 1;
        let object = state.objects.anonymous();
        let mut claim = Claim::new(name, state.claims.made, object, state.period, &self.tables);
        claim.begin(state.default, &self.tables);
        if state.gone.contains(name) {
            claim.distrust_for(Code::IdReused, "a claim of this id ended before", at);
        }
        let number = state.claims.add(claim);
        state.ids.insert(name, number);
        Ok(number)
    }

    // What claims state.

    /// Take what an event states of the claim that it names.
    fn introduce(&mut self, number: u32, event: &Event, line: &Line, binds: bool) -> Fine {
        let tables = self.tables.clone();
        let terms = TERMS.has(event.kind);
        let claim = &mut self.state.claims[number];
        if BEGINS.has(event.kind) && !claim.known && claim.stated_mode.is_none() {
            self.set_mode(number, event.mode, line.at);
        } else if let Some(mode) = event.mode.filter(|_| terms && event.mode != claim.stated_mode) {
            if claim.stated_mode.is_none() && !claim.introduced {
                self.set_mode(number, event.mode, line.at);
            } else {
                claim.other_mode = claim.other_mode.or(event.mode);
                let asked = claim.stated_mode.map_or("None".into(), |mode| self.names.show(mode));
                let text = format!("it asked for {asked}, and {} is stated", self.names.show(mode));
                claim.distrust(Reason::new(Code::ModeContradicts, text, line.at));
            }
        }
        let claim = &mut self.state.claims[number];
        let early = Kinds(tables.reports.0 & !tables.actions.0 & !NO_EARLY.0).has(event.kind);
        if claim.watched(&tables) && early && !claim.introduced {
            let text = "a report names the claim before it is registered";
            claim.distrust_for(Code::NotRegistered, text, line.at);
        }
        claim.named |= early;
        if event.kind == event::CLAIM_EXPIRED && binds {
            self.time_end(number);
        }
        let claim = &mut self.state.claims[number];
        if claim.is_final && event.kind == event::CLAIM_REGISTERED {
            claim.distrust_for(Code::IdReused, "the claim ended before", line.at);
        }
        if !binds || (!terms && claim.knows(event)) {
            return Ok(());
        }
        let before = (claim.object, claim.predicate, claim.extent());
        let new = !claim.introduced && terms;
        if let Some(why) = claim.state_terms(event, &tables) {
            claim.distrust_for(Code::TermsContradict, why, line.at);
        }
        if new {
            self.blind(number, line.at);
        }
        let renamed = self.place_on_object(number, event)?;
        let claim = &mut self.state.claims[number];
        if renamed || before != (claim.object, claim.predicate, claim.extent()) {
            let object = claim.object;
            self.measure(object);
        }
        let claim = &mut self.state.claims[number];
        if terms && claim.entered(&tables) && !claim.is_whole() {
            let text = "the object and the predicate of the claim are not stated";
            claim.distrust_for(Code::TermsMissing, text, line.at);
        }
        self.time(number, event, line);
        Ok(())
    }

    fn set_mode(&mut self, number: u32, stated: Option<Name>, at: Place) {
        let (default, claim) = (self.state.default, &mut self.state.claims[number]);
        claim.stated_mode = stated;
        let mode = stated.and_then(|mode| self.tables.mode_named(mode)).unwrap_or(default);
        if mode != claim.mode {
            claim.begin(mode, &self.tables);
            if claim.named {
                let text = "a report names the claim before it is registered";
                claim.distrust_for(Code::NotRegistered, text, at);
            }
        }
    }

    /// Put a claim on the object that it states; return whether keys have other names now.
    fn place_on_object(&mut self, number: u32, event: &Event) -> Fine<bool> {
        let claim = &self.state.claims[number];
        if claim.is_final {
            return Ok(false);
        }
        self.state.claims[number].placed = true;
        let claim = &self.state.claims[number];
        let mut renamed = false;
        let unnamed = self.state.objects.get(claim.object).object_id.is_none();
        if let Some(id) = claim.stated.object_id.filter(|_| unnamed) {
            self.change_object(number, id)?;
            renamed = true;
        }
        let state = &mut self.state;
        let object = state.claims[number].object;
        let states = TERMS.has(event.kind) && !event.keys.is_empty();
        state.objects.join(object, number);
        let unbound = state.objects.get(object).identity.is_none();
        let counted = if states || (unbound && event.cache_identity.is_some()) {
            state.capacity.uncount(state.objects.sharing(object))
        } else {
            Vec::new()
        };
        let State { objects, pool, .. } = &mut self.state;
        let mut done = objects.bind(object, event, pool, &self.names);
        if states && done.is_ok() {
            let stated = objects.state(object, event, pool, &self.names);
            done = stated.map(|stated| stated || matches!(done, Ok(true)));
        }
        self.recount(&counted);
        Ok(done? || renamed)
    }

    fn recount(&mut self, claims: &[u32]) {
        let State { capacity, claims: all, objects, .. } = &mut self.state;
        claims.iter().for_each(|number| capacity.add(*number, all, objects, &self.tables));
    }

    /// An object of a claim turns out to be one that has a name.
    fn change_object(&mut self, number: u32, id: Name) -> Fine {
        let claim = &self.state.claims[number];
        let about = (id, claim.stated.cache_identity, claim.stated.token_map);
        let found = self.state.objects.find(about);
        if found.len() > 1 {
            let text = format!("two objects are called {}", self.names.show(id));
            return Err(Contradiction::new(Code::ObjectAmbiguous, text));
        }
        let old = claim.object;
        self.state.objects.leave(old, number);
        let new = found.first().copied().unwrap_or_else(|| self.state.objects.add(about));
        let counted = self.state.capacity.uncount(vec![number]);
        self.state.claims[number].object = new;
        self.recount(&counted);
        self.state.objects.move_places(old, new, &mut self.state.pool);
        self.state.objects.forget(old);
        Ok(())
    }

    /// Measure again what the claims hold that are on an object, or on others with a content of it.
    fn measure(&mut self, object: u32) {
        for number in self.state.objects.sharing(object) {
            let (state, at) = (&self.state, &self.tables.at);
            let claim = &state.claims[number];
            let own = state.objects.get(claim.object);
            let lead = fields::lead(state, claim, false);
            let empty = own.contents.is_empty() && own.places.is_empty();
            if lead == claim.facts[at.lead] && empty {
                continue;
            }
            let (stores, restores) = (fields::stores(state, claim), fields::restores(state, claim));
            let copied = claim.predicate.is_some_and(|of| {
                let absent = |key| !state.pool.in_tiers(key);
                !state.pool.needs((&state.objects, own), of.start, of.end(), absent)
            });
            let claim = &mut self.state.claims[number];
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
            self.rank(number);
        }
    }

    /// The duration of a claim runs from its commitment.
    fn time(&mut self, number: u32, event: &Event, line: &Line) {
        let (state, at) = (&mut self.state, &self.tables.at);
        let claim = &mut state.claims[number];
        let Some(duration) = claim.duration.filter(|_| BEGINS.has(event.kind)) else {
            let accepts = event.kind == event::CLAIM_ACCEPTED && event.duration.is_some();
            if accepts && claim.end.is_none() && claim.facts[at.committed] == 1 {
                claim.untimed = if claim.untimed == 0 { line.at } else { claim.untimed };
            }
            return;
        };
        if let Some(now) = state.order.time_ns.filter(|_| !duration.steps) {
            claim.least = i128::from(now).saturating_add(duration.nanoseconds());
        }
        if event.kind != event::CLAIM_COMMITTED {
            return;
        }
        claim.elapsed = false;
        let Some(now) = line.time_ns.filter(|_| !duration.steps) else {
            claim.untimed = line.at;
            return;
        };
        let end = i128::from(now).saturating_add(duration.nanoseconds());
        claim.end = Some(end);
        state.timed.add(number);
        state.ends.push(Reverse((end, state.count, claim.serial, number)));
    }

    // Whom an event concerns.

    /// The claims that an event is about, each with whether it is its own, and is named.
    fn mine(
        &self, event: &Event, claim: Option<u32>, effect: &Effect, binds: bool,
        found: &mut Map<u32, (bool, bool)>,
    ) {
        let (kind, state) = (event.kind, &self.state);
        if let Some(number) = claim.filter(|_| !binds) {
            found.insert(number, (false, true));
            return;
        }
        if ABOUT_BLOCKS.has(kind) {
            let gone = self.tables.gone.has(kind);
            for (number, touch) in effect.touched.iter() {
                if (!gone || !touch.lost.is_empty()) && !self.is_moot(number, event) {
                    found.insert(number, (true, true));
                }
            }
            for number in effect.direct.keys().filter(|_| !gone) {
                if !self.is_moot(number, event) {
                    found.insert(number, (true, true));
                }
            }
            return;
        }
        let Some(number) = claim else { return };
        if self.tables.facts.has(kind) {
            if kind != event::CLAIM_RETIRED || self.has_entry(number) {
                found.insert(number, (true, true));
            }
            return;
        }
        if !self.is_moot(number, event) {
            found.insert(number, (true, true));
        }
        let claim = &state.claims[number];
        if !claim.known && event.object_id.is_some() {
            for other in state.objects.get(claim.object).on.keys() {
                if other != number && state.claims[other].known {
                    found.insert(other, (true, false));
                }
            }
        }
    }

    fn has_entry(&self, number: u32) -> bool {
        let claim = &self.state.claims[number];
        let committed = claim.facts[self.tables.at.committed] == 1;
        claim.responsible(&self.tables) || (!claim.lapses(&self.tables) && committed)
    }

    /// Whether nothing is owed of the claim that the event could be about. Late reports about blocks
    /// and routes of a claim that was only watched may be true of what happened since.
    fn is_moot(&self, number: u32, event: &Event) -> bool {
        let (claim, tables) = (&self.state.claims[number], &self.tables);
        let fact = tables.facts.has(event.kind);
        if !claim.watched(tables) || !claim.over(tables) {
            return claim.is_final && fact;
        }
        if fact {
            return true;
        }
        if tables.kinds[usize::from(event.kind)].route.is_some() {
            let key = (event.request_id, event.kind);
            return !claim.routes.iter().any(|row| row.0 == key && !row.1.is_empty());
        }
        !claim.owes(tables)
    }

    // What contradicts.

    /// Whether a fact contradicts those before it.
    fn contradict(&self, at: &Moment, line: &Line) -> Fine {
        let kind = at.event.kind;
        if !self.tables.facts.has(kind) {
            return Ok(());
        }
        for number in at.mine.keys() {
            if at.direct.contains(number) || !ABOUT_BLOCKS.has(kind) {
                self.assume(at, number, line)?;
            }
        }
        if kind == event::PREFIX_LOOKUP && at.event.held.is_some() {
            at.direct.keys().try_for_each(|number| self.look_up(at, number))?;
        }
        Ok(())
    }

    fn assume(&self, at: &Moment, number: u32, line: &Line) -> Fine {
        let (event, claim, tables) = (at.event, &self.state.claims[number], &self.tables);
        let terms = &tables.modes[claim.mode].kinds[usize::from(event.kind)].assumed;
        for (assumption, node) in tables.assumptions.iter().zip(terms) {
            let observed = self.state.observes.covers(assumption.rests_on);
            if claim.predicate.is_none() || !observed {
                continue;
            }
            if assumption.room && event.footprint.is_none() {
                continue;
            }
            if !event.keys.is_empty() && event.kind == event::STORE_FINISHED {
                continue;
            }
            let inputs = crate::tables::Inputs {
                here: 0,
                threshold: claim.threshold(),
                was: &claim.facts,
                now: &[],
                request_was: &[],
                request: &[],
                own: &[],
            };
            if tables.eval(*node, &inputs, &mut |field| at.value(field, number)) == 0 {
                let text = format!("facts contradict: {}", assumption.broken);
                return Err(Contradiction::new(Code::EntryContradicts, text));
            }
        }
        if event.kind == event::DURATION_ELAPSED && !line.derived.has(event.kind) {
            return self.check_duration(claim, line);
        }
        Ok(())
    }

    /// A duration elapses once it is over by the clock of the stream.
    fn check_duration(&self, claim: &Claim, line: &Line) -> Fine {
        let others = claim.mode != 0 && claim.mode != self.tables.expiring;
        let early = |time: i64| i128::from(time) < claim.least.max(claim.end.unwrap_or(0));
        let why = if claim.introduced && claim.duration.is_none() && others {
            "the duration of a claim elapses that has none"
        } else if claim.elapsed || (line.time_ns.is_none() && claim.end.is_none()) {
            return Ok(());
        } else if line.time_ns.is_none() {
            "the duration elapses, and the line has no time"
        } else if line.time_ns.is_some_and(early) {
            "the duration elapses too early"
        } else {
            return Ok(());
        };
        Err(Contradiction::new(Code::DurationContradicts, format!("facts contradict: {why}")))
    }

    fn is_measured(&self, claim: &Claim) -> bool {
        let observed = self.state.observes.covers(self.tables.gone);
        claim.predicate.is_some() && !claim.over(&self.tables) && observed
    }

    /// A look-up finds what is held, as far as its prompt could use it.
    fn look_up(&self, at: &Moment, number: u32) -> Fine {
        let (event, claim, state) = (at.event, &self.state.claims[number], &self.state);
        if !self.is_measured(claim) {
            return Ok(());
        }
        let (held, found) = (at.lead(claim), event.held.unwrap_or(0));
        let mut why = match event.asked {
            None if found < held => {
                "a look-up finds less than is held, and does not state what it asked for"
            }
            Some(asked) if found < held.min(asked - claim.start()) => {
                "facts contradict: a look-up finds less than is held"
            }
            _ => "",
        };
        if why.is_empty() && found > held && !claim.has_copy() {
            let (object, end) = (state.objects.get(claim.object), claim.extent() as i64);
            let most = state.pool.lead((&state.objects, object), claim.start(), end, true);
            if found > most && state.observes.has(event::BLOCK_CACHED) {
                why = "facts contradict: a look-up finds more than is held";
            }
        }
        if why.is_empty() {
            return Ok(());
        }
        Err(Contradiction::new(Code::LookupContradicts, why))
    }

    /// What is reused is held.
    fn reuse(&self, at: &Moment, number: u32) -> Fine {
        let claim = &self.state.claims[number];
        if !self.is_measured(claim) {
            return Ok(());
        }
        let mut found = claim.threshold();
        if let Some(request) = at.request() {
            let last = claim.id.and_then(|id| request.found.get(id));
            found = found.min(last.copied().unwrap_or(found));
        }
        if at.lead(claim) < found {
            let text = "facts contradict: what is reused is not held";
            return Err(Contradiction::new(Code::ReuseNotHeld, text));
        }
        Ok(())
    }

    // Delivery.

    fn deliver(
        &mut self, event: &Event, request: Option<Name>, effect: &Effect,
        mine: &Map<u32, (bool, bool)>, found: &Found, line: &Line,
    ) {
        let (kind, tables) = (event.kind, self.tables.clone());
        let of_requests = tables.requests.has(kind) || kind == event::BLOCK_CACHED;
        let mut here = event.request_id.filter(|_| of_requests);
        let hands = &self.state.requests.in_hand;
        let unnamed = kind == event::BLOCK_CACHED && event.request_id.is_none() && !event.found;
        if unnamed && hands.len() == 1 {
            here = hands.keys().next();
        }
        let perhaps = unnamed && hands.len() > 1;
        self.moved.clear();
        let mut concerned = std::mem::take(&mut self.concerned);
        concerned.clear();
        concerned.extend(mine.keys());
        let acts = tables.actions.has(kind);
        if acts || CLOSES.has(kind) {
            concerned.extend(self.state.owing.keys());
        }
        if let Some(each) = &here {
            concerned.extend(self.state.followers.get(each).into_iter().flat_map(Map::keys));
        }
        if acts || OPENS_MANY.has(kind) {
            self.pressed(&self.moment(event, request, effect, mine, found), &mut concerned);
        }
        for number in concerned.keys() {
            let here = (here.as_slice(), perhaps);
            self.deliver_to(number, event, request, effect, mine, found, here, line);
        }
        self.concerned = concerned;
    }

    /// The claims that an event of a request may matter to for the sake of capacity.
    fn pressed(&self, at: &Moment, concerned: &mut Set<u32>) {
        let (event, state) = (at.event, &self.state);
        if self.tables.actions.has(event.kind) {
            concerned.extend(state.capacity.claims());
            concerned.extend(at.accused().keys().filter_map(|name| state.ids.get(name).copied()));
            return;
        }
        let again = event.kind == event::REQUEST_ARRIVED && event.restated;
        if !again && at.presses() {
            concerned.extend(state.capacity.claims());
        }
    }

    /// Whether a request in hand is in a standing conflict with the responsible claims.
    fn is_pressed(&self) -> i64 {
        let (requests, total) = (&self.state.requests, self.state.capacity.total(ALWAYS));
        let observed = self.state.observes.has(event::REQUEST_ARRIVED);
        let mut found = if observed { 0 } else { UNKNOWN };
        for request in requests.in_hand.keys().filter_map(|name| requests.live(name)) {
            match (request.needed, request.usable, total) {
                (Some(needed), Some(usable), Some(total)) => {
                    if needed <= usable && usable < total.saturating_add(needed) {
                        return 1;
                    }
                }
                _ => found = UNKNOWN,
            }
        }
        found
    }

    #[allow(clippy::too_many_arguments)]
    fn deliver_to(
        &mut self, number: u32, event: &Event, request: Option<Name>, effect: &Effect,
        mine: &Map<u32, (bool, bool)>, found: &Found, (here, perhaps): (&[Name], bool),
        line: &Line,
    ) {
        let tables = self.tables.clone();
        let (is_mine, named) = mine.get(number).copied().unwrap_or_default();
        let claim = &self.state.claims[number];
        let mut loads = Vec::new();
        let loaded = event.kind == event::LOAD_FINISHED && is_mine;
        if loaded {
            let direct = effect.direct.contains(number);
            if direct {
                loads.extend_from_slice(here);
            }
            if direct || claim.facts[tables.at.host] == 1 {
                let more = claim.waiting.keys().filter(|name| !(direct && here.contains(name)));
                loads.extend(more);
            }
        }
        let belongs = if loaded { &loads[..] } else { here };
        let matters = is_mine
            && claim.is_away(&tables)
            && claim.responsible(&tables)
            && claim.mode == tables.offloadable;
        let unsure: Vec<Name> = if perhaps && matters {
            self.state.requests.in_hand.keys().collect()
        } else {
            Vec::new()
        };
        let ranked = |number: u32| tables.modes[self.state.claims[number].mode].ranked;
        let shows = match event.kind {
            event::PREFIX_LOOKUP => event.held.is_some() || !is_mine,
            event::BLOCK_EVICTED => is_mine || mine.keys().any(ranked),
            _ => true,
        };
        let moves = shows && claim.seen.unclear.is_none();
        let (responsible, size) = (claim.responsible(&tables), claim.size(&tables));
        let owes = self.state.owing.contains(number);
        let mut seen = std::mem::take(&mut self.state.claims[number].seen);
        let mut now = std::mem::take(&mut self.now);
        let moment = self.moment(event, request, effect, mine, found);
        let mut delivery = Delivery::new(&moment, number, belongs, &unsure);
        delivery.place = line.at;
        delivery.moves = moves;
        delivery.exercised = !event.restated;
        delivery.ledger(&mut now);
        if is_mine || named || owes {
            delivery.to_claim(&mut seen, &now);
        }
        for place in 0..seen.requests.len() {
            if is_mine || belongs.contains(&seen.requests[place].0) {
                delivery.to_request(place, &mut seen, &now);
            }
        }
        if is_mine || tables.actions.has(event.kind) || OPENS_MANY.has(event.kind) {
            for &name in belongs.iter().chain(unsure.iter().filter(|name| !belongs.contains(name)))
            {
                if seen.scope(name).is_some() {
                    continue;
                }
                if self.state.requests.is_over(name) && seen.may_forget() {
                    let request = self.names.show(name);
                    let text =
                        format!("request {request} ended, and what it came to is not remembered");
                    let mode = self.state.claims[number].mode;
                    for &each in &tables.modes[mode].obligations {
                        if tables.obligations[usize::from(each)].per_request {
                            let reason = Reason::new(Code::RequestForgotten, text.clone(), line.at);
                            seen.leave_open(each, reason);
                        }
                    }
                    continue;
                }
                delivery.opens(name, &mut seen, &now);
            }
        }
        let (opened, moved) = (std::mem::take(&mut delivery.opened), delivery.moved);
        for name in opened {
            self.state.followers.entry(name).or_default().add(number);
        }
        let claim = &mut self.state.claims[number];
        claim.seen = seen;
        claim.facts.copy_from_slice(&now);
        self.now = now;
        if is_mine && named {
            let trigger = if event.demotes() { event::CLAIM_DEMOTED } else { event.kind };
            claim.state = tables.next_state(claim.state, trigger).unwrap_or(claim.state);
        }
        if moved {
            self.moved.push(number);
        }
        self.counted(number, responsible, size);
        if moved && self.state.claims[number].owes(&tables) {
            self.state.owing.add(number);
        } else if moved {
            self.state.owing.remove(number);
        }
    }

    /// What a claim takes after an event.
    fn counted(&mut self, number: u32, responsible: bool, size: Option<i64>) {
        let State { capacity, claims, objects, count, .. } = &mut self.state;
        let claim = &mut claims[number];
        let now = claim.responsible(&self.tables);
        if now && !responsible {
            claim.took = *count;
        }
        if now != responsible || claim.size(&self.tables) != size {
            capacity.remove(number);
            if now {
                capacity.add(number, claims, objects, &self.tables);
            }
        }
    }

    // What becomes of it.

    #[allow(clippy::too_many_arguments)]
    fn after(
        &mut self, event: &Event, request: Option<Name>, effect: &Effect,
        mine: &Map<u32, (bool, bool)>, named: Option<u32>, line: &Line, binds: bool,
    ) -> Fine {
        for number in mine.keys() {
            self.follow(number, event, effect);
        }
        self.follow_request(event, request, effect);
        if let Some(number) = named.filter(|_| binds) {
            self.follow_entry(number, event);
        }
        if let Some(number) = named.filter(|_| !binds) {
            let kind = &self.tables.kinds[usize::from(event.kind)].name;
            let text = format!("{kind} names the claim with another object, cache or predicate");
            if self.tables.facts.has(event.kind) {
                return Err(Contradiction::new(Code::IdentityContradicts, text));
            }
            self.state.claims[number].distrust_for(Code::IdentityContradicts, &text, line.at);
        }
        let mut moved = std::mem::take(&mut self.concerned);
        moved.clear();
        moved.extend(mine.keys());
        moved.extend(self.moved.iter().copied());
        if let Some(name) = event.request_id.filter(|_| event.kind == event::REQUEST_FINISHED) {
            for number in self.followers(name) {
                for dropped in
                    self.state.claims[number].end_request(name, &self.tables, &self.names)
                {
                    self.unfollow(dropped, number);
                }
                moved.add(number);
            }
        }
        moved.extend(named.into_iter());
        self.state.news.extend(moved.keys());
        for number in moved.keys() {
            let claim = &self.state.claims[number];
            // The end of another may have been the end of its place.
            if claim.id.is_some() && !claim.is_final && claim.settled(&self.tables) {
                self.end(number);
            }
        }
        self.concerned = moved;
        Ok(())
    }

    fn followers(&self, name: Name) -> Vec<u32> {
        self.state.followers.get(&name).into_iter().flat_map(Map::keys).collect()
    }

    fn unfollow(&mut self, name: Name, number: u32) {
        if let Some(followers) = self.state.followers.get_mut(&name) {
            followers.remove(number);
            if followers.is_empty() {
                self.state.followers.remove(&name);
            }
        }
    }

    /// What was computed since the claim was away, who waits for it, and what is still to be
    /// reported of its routes and losses.
    fn follow(&mut self, number: u32, event: &Event, effect: &Effect) {
        let (tables, kind) = (&self.tables, event.kind);
        let claim = &mut self.state.claims[number];
        if let Some(touch) = effect.touched.get(number) {
            if !(touch.gained.is_empty() && touch.lost.is_empty() && touch.brought.is_empty()) {
                let lost = !touch.lost.is_empty();
                if tables.gone.has(kind) && lost && claim.live(tables) {
                    claim.lost.extend(touch.blocks.keys().map(Some));
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
        if tables.routed.has(kind) {
            self.follow_route(number, event);
        }
        let claim = &mut self.state.claims[number];
        if kind == event::CLAIM_BLOCK_LOST {
            if event.block_ids.is_empty() {
                claim.lost.clear();
            }
            event.block_ids.iter().for_each(|block| {
                claim.lost.remove(Some(*block));
            });
        }
        if event.claim_id != claim.id {
            return;
        }
        if kind == event::CLAIM_RESTORED {
            claim.waiting.clear();
        }
        if let Some(name) = event.request_id.filter(|_| kind == event::CLAIM_RESTORE_REQUIRED) {
            claim.waiting.add(name);
        }
    }

    /// Append a fact that is to be reported; a report removes the oldest of them.
    fn follow_route(&mut self, number: u32, event: &Event) {
        let claim = &mut self.state.claims[number];
        let live = claim.live(&self.tables);
        for (report, kind) in self.tables.kinds.iter().enumerate() {
            let Some((fact, field)) = &kind.route else { continue };
            let key = (event.request_id, report as Kind);
            let place = claim.routes.iter().position(|row| row.0 == key);
            if event.kind == *fact && live {
                let value = route_value(event, field, &self.names);
                match place {
                    Some(place) => claim.routes[place].1.push_back(value),
                    None => claim.routes.push((key, [value].into())),
                }
            } else if let Some(place) = place.filter(|_| event.kind == report as Kind) {
                claim.routes[place].1.pop_front();
            }
        }
    }

    fn follow_request(&mut self, event: &Event, request: Option<Name>, effect: &Effect) {
        let (kind, Some(name)) = (event.kind, event.request_id) else { return };
        if kind == event::REQUEST_ARRIVED && request.is_some() {
            self.state.requests.arrive(name, event, self.state.count);
        }
        let finishes = kind == event::REQUEST_FINISHED;
        if finishes || kind == event::REQUEST_REFUSED {
            for number in self.followers(name) {
                let claim = &mut self.state.claims[number];
                claim.waiting.remove(name);
                if finishes {
                    claim.routes.retain(|row| row.0 .0 != Some(name));
                }
            }
        }
        let State { requests, claims, followers, .. } = &mut self.state;
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

    fn follow_entry(&mut self, number: u32, event: &Event) {
        let State { claims, timed, steps_stated, .. } = &mut self.state;
        let claim = &mut claims[number];
        if event.kind == event::DURATION_ELAPSED {
            claim.elapsed = true;
            timed.remove(number);
            *steps_stated |= claim.in_steps();
        }
        if event.kind == event::CLAIM_RETIRED {
            claim.early |= claim.duration.is_some() && !claim.elapsed;
            timed.remove(number);
            let owner = claim.owner.is_some() && event.by == claim.owner;
            claim.retired |= claim.elapsed || owner;
        }
        if TERMS.has(event.kind) || event.kind == event::CLAIM_RETIRED {
            self.rank(number);
        }
    }

    /// Nothing changes the verdict any more but a late report.
    fn end(&mut self, number: u32) {
        // Whether the stream states ends in steps is known when it is over.
        if !self.state.claims[number].in_steps() {
            self.time_end(number);
        }
        let state = &mut self.state;
        let claim = &mut state.claims[number];
        claim.is_final = true;
        claim.copies.clear();
        let (Some(id), object) = (claim.id, claim.object) else { return };
        state.objects.leave(object, number);
        state.capacity.remove(number);
        state.ranks.follow(number, false, &state.claims);
        state.owing.remove(number);
        state.timed.remove(number);
        let followed = state.claims[number].seen.requests.iter();
        for name in followed.map(|row| row.0).collect::<Vec<_>>() {
            self.unfollow(name, number);
        }
        let state = &mut self.state;
        state.ended.insert(id, number);
        state.news.add(number);
        if state.ended.len() > state.limits.ended {
            if let Some((name, oldest)) = state.ended.pop_first() {
                state.ids.remove(name);
                state.gone.add(name);
                if state.gone.len() > state.limits.ids {
                    state.gone.pop_first();
                }
                self.forget(oldest);
            }
        }
    }

    /// A claim is no longer kept; what it came to is written if it is news.
    fn forget(&mut self, number: u32) {
        let verdict = outcome::verdict(self, number);
        self.state.counted[verdict as usize] += 1;
        if self.state.news.remove(number).is_some() {
            let mut line = std::mem::take(&mut self.forgotten);
            outcome::write(self, number, &mut line);
            self.forgotten = line;
        }
        let state = &mut self.state;
        state.capacity.remove(number);
        state.ranks.follow(number, false, &state.claims);
        state.owing.remove(number);
        state.timed.remove(number);
        for (name, _) in std::mem::take(&mut state.claims[number].seen.requests) {
            self.unfollow(name, number);
        }
        let claim = self.state.claims.remove(number);
        self.state.objects.leave(claim.object, number);
        self.state.objects.forget(claim.object);
    }
}
