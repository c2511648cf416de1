//! Judges one stream: takes lines in their order, and says what they come to for each claim.

use std::rc::Rc;

use crate::breaks::{contradiction, Code, Fine, Line, Order, Place, Reason, Step};
use crate::claim::{verdict_of, Claim, BEGINS, TERMS};
use crate::concern::{about, concerned, OPENS_MANY};
use crate::contradictions::{check, check_reuse};
use crate::delivery::Delivery;
use crate::digests::Digests;
use crate::durations;
use crate::event::{self, Event, Group, Kinds, Mark};
use crate::facts::{Effect, Facts, ABOUT_BLOCKS};
use crate::fields::{Found, Moment};
use crate::follow::{follow_claim, follow_entry, follow_request, measure};
use crate::map::{Map, Set};
use crate::names::{Name, Names};
use crate::outcome::{self, Past};
use crate::record;
use crate::registers::Stand;
use crate::run::Run;
use crate::tables::{Shared, PENDING};

const NO_EARLY: Kinds = Kinds::of(&[event::CLAIM_REJECTED, event::CLAIM_ACCEPTED]);

record! {
    /// How much of a stream is kept: claims in hand, ended claims, ids of others, requests, and
    /// how many forgotten claims that were not kept are listed.
    #[derive(Clone, Copy, Default)]
    pub struct Limits { live: usize, ended: usize, ids: usize, requests: usize, troubled: usize }
}

record! {
    /// What a stream is judged by: the mode of claims that state none, and the claim that is listed
    /// whatever is forgotten; `unnamed` is the name of a stream whose lines state none.
    #[derive(Default)]
    pub struct Asked {
        default: usize,
        limits: Limits,
        only: String,
        unnamed: String,
        /// Somebody asks for news after each line.
        watched: bool,
    }
}

record! {
    /// What a stream came to so far. `ended` has the claims of this period that ended last, `gone`
    /// digests of the ids of those before them. `past` has what claims of earlier periods came to,
    /// and claims that were not kept, and counts the others; `forgotten` counts claims that more of
    /// this period pushed out.
    #[derive(Default)]
    pub struct State {
        order: Order,
        run: Run,
        past: Past,
        forgotten: u64,
        breaks: Vec<Reason>,
        broken: Option<Reason>,
        restating: bool,
        period: u64,
        left: Option<Reason>,
        observes: Kinds,
        told: Kinds,
        gone: Digests,
        ended: Map<Name, u32>,
    }
}

/// One stream, and the verdict on each of its claims.
pub struct Judge {
    pub tables: Shared,
    pub names: Names,
    pub asked: Rc<Asked>,
    pub state: State,
    pub stream: Stream,
    effect: Effect,
    mine: Map<u32, (bool, bool)>,
    concerned: Set<u32>,
    /// The claims of which an observer moved.
    moved: Vec<u32>,
    pub news: News,
}

/// What is new since the last look: the claims in hand that lines moved, those that are in hand no
/// more as rows of JSON; and how many breaks and forgotten claims there were then.
#[derive(Default)]
pub struct News {
    pub moved: Set<u32>,
    pub gone: Vec<u8>,
    pub breaks: usize,
    pub forgotten: u64,
}

record! {
    /// The name of a stream, the form of its first line, and the number of that line.
    #[derive(Clone, Default)]
    pub struct Stream { name: String, form: String, first: Option<i64> }
}

impl Judge {
    pub fn new(tables: Shared, asked: Rc<Asked>, stream: Stream, first: Vec<i64>) -> Self {
        let state = State {
            order: Order { first, ..Order::default() },
            observes: tables.sets.facts,
            told: tables.sets.facts,
            run: Run::new(asked.limits.requests),
            ..State::default()
        };
        Self::with(tables, asked, stream, state)
    }

    pub fn with(tables: Shared, asked: Rc<Asked>, stream: Stream, state: State) -> Self {
        Self {
            tables,
            names: Names::default(),
            asked,
            state,
            stream,
            effect: Effect::default(),
            mine: Map::default(),
            concerned: Set::default(),
            moved: Vec::new(),
            news: News::default(),
        }
    }

    /// A run begins: nothing is held, and no request is in hand. Groups stay where a run goes on.
    fn begin(&mut self, goes_on: bool) {
        let Run { claims, ids, count, pool, .. } = std::mem::take(&mut self.state.run);
        self.state.run = Run { claims, ids, count, ..Run::new(self.asked.limits.requests) };
        if goes_on {
            self.state.run.pool.groups = pool.groups;
        }
    }

    // Lines.

    /// The next line of the stream, with its events.
    pub fn take(&mut self, line: &Line, events: &[Event]) {
        match self.state.order.take(line) {
            Step::Fine => {}
            Step::Broken(reason) => self.break_off(reason),
            Step::Begins(reason, closed) => {
                if closed {
                    self.close();
                }
                self.break_off(reason);
                self.start(false);
            }
        }
        self.mark(line);
        if let Err(found) = self.events(line, events) {
            self.break_off(found.at(line.at));
        }
    }

    fn events(&mut self, line: &Line, events: &[Event]) -> Fine {
        if let Some(now) = line.time_ns {
            while let Some(number) = durations::over_by(&mut self.state.run, now) {
                let (kind, claim_id) = (event::DURATION_ELAPSED, self.state.run.claims[number].id);
                // It does not end what is restated around it.
                let restated = self.state.restating;
                self.event(&Event { kind, claim_id, restated, ..Event::default() }, line)?;
            }
        } else if line.mark.is_none() {
            durations::untime(&mut self.state.run, line.at, &self.tables);
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
        self.end_run();
    }

    /// The run is over, and another one follows: its claims keep what they came to.
    fn close(&mut self) {
        self.end_run();
        self.alive().into_iter().for_each(|number| self.end(number));
    }

    /// The run is over, and with it what is restated.
    fn end_run(&mut self) {
        if self.state.restating {
            self.restated();
        }
        if self.state.broken.is_none() {
            self.time_ends();
        }
    }

    /// The run is over, so it is known whether it states ends in steps.
    fn time_ends(&mut self) {
        let all: Vec<u32> = self.state.run.ids.iter().map(|row| *row.1).collect();
        all.into_iter()
            .for_each(|number| durations::distrust(&mut self.state.run, &self.tables, number));
    }

    /// Another run begins after a break; its claims are judged in a period of their own.
    fn start(&mut self, goes_on: bool) {
        self.state.broken = None;
        self.state.period += 1;
        while let Some((name, number)) = self.state.ended.pop_first() {
            self.state.run.ids.remove(name);
            self.forget(number, true);
        }
        self.state.gone.clear();
        self.begin(goes_on);
    }

    fn mark(&mut self, line: &Line) {
        if !line.groups.is_empty() {
            let mut groups = Map::default();
            for (number, group) in &line.groups {
                groups.insert(*number, *group);
            }
            self.regroup(groups.iter().map(|row| (row.0, *row.1)).collect(), line.at);
        }
        if line.mark == Some(Mark::Restated) {
            self.state.restating = self.state.broken.is_some();
            if self.state.restating {
                self.start(true);
            }
        }
        if let Some(observes) = line.observes.filter(|set| !set.covers(self.state.observes)) {
            self.state.observes.0 &= observes.0;
            if line.mark.is_some() {
                self.state.told = self.state.observes;
                self.alive().into_iter().for_each(|number| self.blind(number, line.at));
            }
        }
    }

    /// Take the groups that a mark states; others than before may not hold what stands.
    fn regroup(&mut self, groups: Vec<(u64, Group)>, at: Place) {
        let pool = &self.state.run.pool;
        let same = groups.len() == pool.groups.len()
            && groups.iter().all(|group| pool.groups.contains(group));
        if !same && (pool.holds_anything() || !self.alive().is_empty()) {
            let text = "other groups of caches are stated while claims or copies stand";
            self.break_off(Reason::new(Code::GroupsContradict, text, at));
        }
        self.state.run.pool.groups = groups;
    }

    /// Leave open the obligations that rest on facts which the stream does not observe.
    fn blind(&mut self, number: u32, at: Place) {
        let told = self.state.told;
        if told == self.tables.sets.facts {
            return;
        }
        let claim = &mut self.state.run.claims[number];
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
            let claim = &mut self.state.run.claims[number];
            for &obligation in &self.tables.modes[claim.mode].obligations {
                if only.contains(&self.tables.obligations[usize::from(obligation)].name) {
                    claim.seen.leave_open(obligation, Reason::new(Code::FormOmitsField, why, at));
                }
            }
            if only.is_empty() {
                claim.distrust_for(Code::FormOmits, why, at);
            }
            if self.state.broken.is_some() && !claim.is_final {
                self.end(number);
            }
        }
        Ok(())
    }

    fn alive(&self) -> Vec<u32> {
        let all = self.state.run.ids.iter().map(|row| *row.1);
        all.filter(|number| !self.state.run.claims[*number].is_final).collect()
    }

    /// From here on nothing is concluded, until a run begins.
    pub fn break_off(&mut self, reason: Reason) {
        if self.state.broken.is_some() {
            return;
        }
        self.state.left.get_or_insert_with(|| reason.clone());
        for number in self.alive() {
            self.state.run.claims[number].distrust(reason.clone());
            self.end(number);
        }
        self.time_ends();
        self.state.breaks.push(reason.clone());
        self.state.broken = Some(reason);
        self.state.restating = false;
        self.begin(true);
    }

    // Events.

    fn event(&mut self, event: &Event, line: &Line) -> Fine {
        let in_tiers = event.tier.is_some_and(|tier| !self.names.is_gpu(tier));
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
        self.state.run.count += 1;
        let (observes, tables, names) = (self.state.observes, &self.tables, &self.names);
        let request = self.state.run.begin_request(event, observes, tables, names)?;
        let claim = event.claim_id.map(|name| self.claim(name, line.at)).transpose()?;
        let binds = claim.is_none_or(|number| self.state.run.claims[number].binds(event));
        if let Some(number) = claim {
            self.introduce(number, event, line, binds)?;
            // Facts of the environment are no deeds of the runtime.
            if !binds && self.tables.sets.environment.has(event.kind) {
                return self.contradict(event, number, line.at);
            }
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
            let Run { pool, objects, capacity, claims, .. } = &mut self.state.run;
            let (tables, names) = (&*self.tables, &self.names);
            Facts { pool, objects, capacity, claims, tables, names, effect }.take(event, claim)?;
        }
        about(&self.state.run, &self.tables, event, claim, effect, binds, mine);
        for (number, touch) in effect.touched.iter() {
            if !touch.gained.is_empty() || !touch.lost.is_empty() {
                self.state.run.rank(number, &self.tables);
            }
        }
        let found = Found::default();
        let at = self.moment(event, request, effect, mine, &found);
        check(&at, line, self.state.observes)?;
        if event.kind == event::CLAIM_RETIRED {
            for number in mine.keys() {
                if self.state.run.claims[number].responsible(&self.tables) {
                    self.state.run.claims[number].pressed =
                        self.state.run.is_pressed(self.state.observes);
                }
            }
        }
        self.deliver(event, request, effect, mine, &found, line);
        if event.kind == event::PREFIX_REUSED {
            let at = self.moment(event, request, effect, mine, &found);
            let observes = self.state.observes;
            at.direct.keys().try_for_each(|number| check_reuse(&at, number, observes))?;
        }
        self.after(event, request, effect, mine, claim, line, binds)
    }

    fn moment<'a>(
        &'a self, event: &'a Event, request: Option<Name>, effect: &'a Effect,
        mine: &'a Map<u32, (bool, bool)>, found: &'a Found,
    ) -> Moment<'a> {
        Moment {
            event,
            run: &self.state.run,
            observes: self.state.observes,
            tables: &self.tables,
            names: &self.names,
            request,
            direct: &effect.direct,
            touched: &effect.touched,
            mine,
            found,
        }
    }

    /// Nothing is known of the pool: claims that begin are inconclusive.
    fn unknown(&mut self, event: &Event, at: Place) -> Fine {
        let Some(name) = event.claim_id.filter(|_| TERMS.has(event.kind)) else { return Ok(()) };
        if self.state.run.ids.contains(name) && event.kind != event::CLAIM_REGISTERED {
            return Ok(());
        }
        let number = self.claim(name, at)?;
        let claim = &self.state.run.claims[number];
        if claim.stated_mode.is_none() && !claim.introduced {
            self.set_mode(number, event.mode, at);
        }
        let claim = &mut self.state.run.claims[number];
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
            let claim = &mut self.state.run.claims[number];
            let obligations = &self.tables.modes[claim.mode].obligations;
            for (place, &obligation) in obligations.iter().enumerate() {
                let stand = claim.seen.own.stands.get(place);
                if verdict_of(&self.tables, obligation, &stand) == PENDING {
                    let stand = Stand { state: 0, exercised: false, ..stand };
                    claim.seen.own.stands.set(place, stand);
                }
            }
        }
        self.state.run.owing.clear();
    }

    /// The claim of this id, which is new if there is none.
    fn claim(&mut self, name: Name, at: Place) -> Fine<u32> {
        let state = &mut self.state;
        if let Some(number) = state.run.ids.get(name) {
            return Ok(*number);
        }
        if state.run.ids.len() - state.ended.len() >= self.asked.limits.live {
            return contradiction(
                Code::LimitReached,
                format!("more than {} claims are in hand", self.asked.limits.live),
            );
        }
        state.run.claims.made += 1;
        let object = state.run.objects.anonymous();
        let mut claim = Claim::new(name, state.run.claims.made, object, state.period, &self.tables);
        claim.begin(self.asked.default, &self.tables);
        if self.names.with(name, |id| state.gone.contains(id)) {
            claim.distrust_for(Code::IdReused, "a claim of this id ended before", at);
        }
        let number = state.run.claims.add(claim);
        state.run.ids.insert(name, number);
        Ok(number)
    }

    // What claims state.

    /// Take what an event states of the claim that it names.
    fn introduce(&mut self, number: u32, event: &Event, line: &Line, binds: bool) -> Fine {
        let tables = self.tables.clone();
        let terms = TERMS.has(event.kind);
        let claim = &mut self.state.run.claims[number];
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
        let claim = &mut self.state.run.claims[number];
        let early =
            Kinds(tables.sets.reports.0 & !tables.sets.actions.0 & !NO_EARLY.0).has(event.kind);
        if claim.watched(&tables) && early && !claim.introduced {
            let text = "a report names the claim before it is registered";
            claim.distrust_for(Code::NotRegistered, text, line.at);
        }
        claim.named |= early;
        if event.kind == event::CLAIM_EXPIRED && binds {
            durations::distrust(&mut self.state.run, &self.tables, number);
        }
        let claim = &mut self.state.run.claims[number];
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
        let renamed = self.state.run.place(number, event, &tables, &self.names)?;
        let claim = &mut self.state.run.claims[number];
        if renamed || before != (claim.object, claim.predicate, claim.extent()) {
            let object = claim.object;
            measure(&mut self.state.run, &tables, object);
        }
        let claim = &mut self.state.run.claims[number];
        if terms && claim.entered(&tables) && !claim.is_whole() {
            let text = "the object and the predicate of the claim are not stated";
            claim.distrust_for(Code::TermsMissing, text, line.at);
        }
        let clock = self.state.order.time_ns;
        let counted = self.state.run.capacity.uncount(vec![number]);
        durations::start(&mut self.state.run, &tables, clock, number, event, line);
        self.state.run.recount(&counted, &tables);
        Ok(())
    }

    fn set_mode(&mut self, number: u32, stated: Option<Name>, at: Place) {
        let (default, claim) = (self.asked.default, &mut self.state.run.claims[number]);
        claim.stated_mode = stated;
        let mode = stated.and_then(|mode| self.tables.mode_named(mode)).unwrap_or(default);
        if mode != claim.mode {
            claim.begin(mode, &self.tables);
            if claim.named {
                let text = "a report names the claim before it is registered";
                claim.distrust_for(Code::NotRegistered, text, at);
            }
            if claim.introduced {
                self.blind(number, at);
            }
        }
    }

    // Delivery.

    fn deliver(
        &mut self, event: &Event, request: Option<Name>, effect: &Effect,
        mine: &Map<u32, (bool, bool)>, found: &Found, line: &Line,
    ) {
        let (kind, tables) = (event.kind, self.tables.clone());
        let of_requests = tables.sets.requests.has(kind) || kind == event::BLOCK_CACHED;
        let mut here = event.request_id.filter(|_| of_requests);
        let hands = &self.state.run.requests.in_hand;
        let unnamed = kind == event::BLOCK_CACHED && event.request_id.is_none() && !event.found;
        if unnamed && hands.len() == 1 {
            here = hands.keys().next();
        }
        let perhaps = unnamed && hands.len() > 1;
        self.moved.clear();
        let mut whom = std::mem::take(&mut self.concerned);
        whom.clear();
        concerned(&self.moment(event, request, effect, mine, found), here, &mut whom);
        for number in whom.keys() {
            let here = (here.as_slice(), perhaps);
            self.deliver_to(number, event, request, effect, mine, found, here, line);
        }
        self.concerned = whom;
    }

    #[allow(clippy::too_many_arguments)]
    fn deliver_to(
        &mut self, number: u32, event: &Event, request: Option<Name>, effect: &Effect,
        mine: &Map<u32, (bool, bool)>, found: &Found, (here, perhaps): (&[Name], bool),
        line: &Line,
    ) {
        let tables = self.tables.clone();
        let (is_mine, named) = mine.get(number).copied().unwrap_or_default();
        let claim = &self.state.run.claims[number];
        let mut loads = Vec::new();
        let loaded = event.kind == event::LOAD_FINISHED && is_mine;
        if loaded {
            let direct = effect.direct.contains(number);
            if direct {
                loads.extend_from_slice(here);
            }
            if direct || claim.facts.get(tables.at.host) == 1 {
                let more =
                    claim.trail().waiting.iter().filter(|name| !(direct && here.contains(name)));
                loads.extend(more);
            }
        }
        let belongs = if loaded { &loads[..] } else { here };
        let matters = is_mine
            && claim.is_away(&tables)
            && claim.responsible(&tables)
            && claim.mode == tables.named.offloadable;
        let unsure: Vec<Name> = if perhaps && matters {
            self.state.run.requests.in_hand.keys().collect()
        } else {
            Vec::new()
        };
        let ranked = |number: u32| tables.modes[self.state.run.claims[number].mode].ranked;
        let shows = match event.kind {
            event::PREFIX_LOOKUP => event.held.is_some() || !is_mine,
            event::BLOCK_EVICTED => is_mine || mine.keys().any(ranked),
            _ => true,
        };
        let moves = shows && claim.seen.unclear().is_none();
        let (responsible, size) = (claim.responsible(&tables), claim.size(&tables));
        let owes = self.state.run.owing.contains(number);
        let mut seen = std::mem::take(&mut self.state.run.claims[number].seen);
        let moment = self.moment(event, request, effect, mine, found);
        let mut delivery = Delivery::new(&moment, number, belongs, &unsure);
        delivery.place = line.at;
        delivery.moves = moves;
        delivery.exercised = !event.restated;
        let now = delivery.ledger();
        if is_mine || named || owes {
            delivery.to_claim(&mut seen, &now);
        }
        let reached: Vec<Name> = if is_mine {
            seen.requests.keys().collect()
        } else {
            belongs.iter().copied().filter(|name| seen.requests.contains(*name)).collect()
        };
        reached.into_iter().for_each(|name| delivery.to_request(name, &mut seen, &now));
        if is_mine || tables.sets.actions.has(event.kind) || OPENS_MANY.has(event.kind) {
            for &name in belongs.iter().chain(unsure.iter().filter(|name| !belongs.contains(name)))
            {
                if seen.requests.contains(name) {
                    continue;
                }
                if self.state.run.requests.is_over(name) && seen.may_forget() {
                    let request = self.names.show(name);
                    let text =
                        format!("request {request} ended, and what it came to is not remembered");
                    let mode = self.state.run.claims[number].mode;
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
            self.state.run.followers.entry(name).add(number);
        }
        let claim = &mut self.state.run.claims[number];
        claim.seen = seen;
        claim.facts = now;
        if is_mine && named {
            let trigger = if event.demotes() { event::CLAIM_DEMOTED } else { event.kind };
            claim.state = tables.next_state(claim.state, trigger).unwrap_or(claim.state);
        }
        if moved {
            self.moved.push(number);
        }
        let run = &mut self.state.run;
        run.counted(number, responsible, size, &tables);
        if moved {
            run.owe(number, &tables);
        }
    }

    // What becomes of it.

    #[allow(clippy::too_many_arguments)]
    fn after(
        &mut self, event: &Event, request: Option<Name>, effect: &Effect,
        mine: &Map<u32, (bool, bool)>, named: Option<u32>, line: &Line, binds: bool,
    ) -> Fine {
        let (run, tables) = (&mut self.state.run, &self.tables);
        for number in mine.keys() {
            follow_claim(run, tables, &self.names, number, event, effect);
        }
        follow_request(run, event, request, effect);
        if let Some(number) = named.filter(|_| binds) {
            follow_entry(run, tables, number, event);
        }
        if let Some(number) = named.filter(|_| !binds) {
            self.contradict(event, number, line.at)?;
        }
        let mut moved = std::mem::take(&mut self.concerned);
        moved.clear();
        moved.extend(mine.keys());
        moved.extend(self.moved.iter().copied());
        if let Some(name) = event.request_id.filter(|_| event.kind == event::REQUEST_FINISHED) {
            for number in self.state.run.following(name) {
                for dropped in
                    self.state.run.claims[number].end_request(name, &self.tables, &self.names)
                {
                    self.state.run.unfollow(dropped, number);
                }
                moved.add(number);
            }
        }
        moved.extend(named.into_iter());
        for number in moved.keys() {
            let claim = &self.state.run.claims[number];
            // The end of another may have been the end of its place.
            if claim.id.is_none() {
                continue;
            }
            let ends = !claim.is_final && claim.settled(&self.tables);
            self.note(number);
            if ends {
                self.end(number);
            }
        }
        self.concerned = moved;
        Ok(())
    }

    /// An event names a claim, and does not mean its object.
    fn contradict(&mut self, event: &Event, number: u32, at: Place) -> Fine {
        let kind = &self.tables.kinds[usize::from(event.kind)].name;
        let text = format!("{kind} names the claim with another object, cache or predicate");
        if self.tables.sets.facts.has(event.kind) {
            return contradiction(Code::IdentityContradicts, text);
        }
        self.state.run.claims[number].distrust_for(Code::IdentityContradicts, &text, at);
        Ok(())
    }

    /// A verdict may have changed.
    fn note(&mut self, number: u32) {
        if self.asked.watched {
            self.news.moved.add(number);
        }
    }

    /// Nothing changes the verdict any more but a late report.
    fn end(&mut self, number: u32) {
        // Whether the stream states ends in steps is known when it is over.
        let run = &mut self.state.run;
        if !run.claims[number].in_steps() {
            durations::distrust(run, &self.tables, number);
        }
        run.claims[number].is_final = true;
        run.drop(number);
        self.note(number);
        let Some(id) = self.state.run.claims[number].id else { return };
        let state = &mut self.state;
        state.ended.insert(id, number);
        if state.ended.len() > self.asked.limits.ended {
            if let Some((name, oldest)) = state.ended.pop_first() {
                state.run.ids.remove(name);
                self.names.with(name, |id| state.gone.add(id));
                if state.gone.len() > self.asked.limits.ids {
                    state.gone.pop_first();
                }
                state.forgotten += 1;
                durations::distrust(&mut state.run, &self.tables, oldest);
                self.forget(oldest, false);
            }
        }
    }

    /// A claim is no longer kept: what it came to is listed or counted.
    fn forget(&mut self, number: u32, earlier: bool) {
        let mut past = std::mem::take(&mut self.state.past);
        past.take(self, number, earlier);
        self.state.past = past;
        if self.asked.watched {
            self.news.moved.remove(number);
            let mut gone = std::mem::take(&mut self.news.gone);
            gone.extend_from_slice(if gone.is_empty() { b"" } else { b"," });
            outcome::write(self, number, &mut gone);
            self.news.gone = gone;
        }
        let run = &mut self.state.run;
        run.drop(number);
        let claim = run.claims.remove(number);
        run.objects.forget(claim.object);
    }
}
