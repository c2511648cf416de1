//! Judges one stream: takes lines in their order, and says what they come to for each claim.

use std::rc::Rc;

use crate::breaks::{Code, Fine, Line, Order, Place, Reason, Step};
use crate::concern::about;
use crate::contradictions::{check, check_reuse};
use crate::delivery::deliver;
use crate::durations;
use crate::event::{self, Event, Group, Mark};
use crate::facts::{Effect, Facts, ABOUT_BLOCKS};
use crate::fields::{Found, Given};
use crate::follow::{follow_claim, follow_entry, follow_request};
use crate::map::{Map, Set};
use crate::names::{Name, Names};
use crate::outcome;
use crate::registers::{verdict_of, Stand};
use crate::run::Run;
use crate::state::{Asked, News, State, Stream};
use crate::tables::{Row, Shared, PENDING};

/// One stream, and the verdict on each of its claims.
pub struct Judge {
    pub tables: Shared,
    /// The names of all streams, while a line of this one is taken.
    pub names: Box<Names>,
    pub asked: Rc<Asked>,
    pub state: State,
    pub stream: Stream,
    row: Row,
    meant: Option<Box<Meant>>,
    concerned: Set<u32>,
    /// The claims of which an observer moved.
    moved: Vec<u32>,
    pub news: News,
}

/// What an event means: what it did to blocks and whom it names, and in `mine` the claims that it is
/// about, each with whether it is its own, and is named.
#[derive(Default)]
struct Meant {
    effect: Effect,
    mine: Map<u32, (bool, bool)>,
}

/// An event of a line, with the request and the claim that it names, and whether it means the object
/// of that claim.
struct Named<'a> {
    event: &'a Event,
    line: &'a Line,
    request: Option<Name>,
    claim: Option<u32>,
    binds: bool,
}

impl Judge {
    pub fn new(tables: Shared, asked: Rc<Asked>, stream: Stream, first: Vec<i64>) -> Self {
        let state = State {
            order: Order { first, ..Order::default() },
            observes: tables.sets.facts,
            told: tables.sets.facts,
            run: Run::new(asked.limits),
            ..State::default()
        };
        Self::with(tables, asked, stream, state)
    }

    pub fn with(tables: Shared, asked: Rc<Asked>, stream: Stream, state: State) -> Self {
        let row = Row::new(&tables);
        Self {
            row,
            tables,
            names: Box::default(),
            asked,
            state,
            stream,
            meant: None,
            concerned: Set::default(),
            moved: Vec::new(),
            news: News::default(),
        }
    }

    /// A run begins: nothing is held, and no request is in hand. Groups stay where a run goes on.
    fn begin(&mut self, goes_on: bool) {
        let Run { claims, ids, count, pool, .. } = std::mem::take(&mut self.state.run);
        self.state.run = Run { claims, ids, count, ..Run::new(self.asked.limits) };
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

    pub fn alive(&self) -> Vec<u32> {
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
        let event = if kind == event.kind {
            event
        } else {
            copies = Event { kind, ..event.clone() };
            &copies
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
        let mut meant = self.meant.take().unwrap_or_default();
        meant.effect.clear();
        meant.mine.clear();
        let named = Named { event, line, request, claim, binds };
        let done = self.concern(&named, &mut meant);
        self.meant = Some(meant);
        done
    }

    fn concern(&mut self, named: &Named, meant: &mut Meant) -> Fine {
        let &Named { event, line, request, claim, binds } = named;
        let Meant { effect, mine } = meant;
        if ABOUT_BLOCKS.has(event.kind) && binds {
            let Run { pool, objects, capacity, claims, .. } = &mut self.state.run;
            let (tables, names, tiers) = (&*self.tables, &self.names, self.asked.limits.tiers);
            let mut facts = Facts { pool, objects, capacity, claims, tables, names, effect, tiers };
            facts.take(event, claim)?;
        }
        about(&self.state.run, &self.tables, event, claim, effect, binds, mine);
        for (number, touch) in effect.touched.iter() {
            if !touch.gained.is_empty() || !touch.lost.is_empty() {
                self.state.run.rank(number, &self.tables);
            }
        }
        let (observes, tables, found) = (self.state.observes, &*self.tables, Found::default());
        let names = &self.names;
        let given =
            Given { event, line, observes, tables, names, request, effect, mine, found: &found };
        let run = &mut self.state.run;
        check(&given.in_run(run), &mut self.row)?;
        if event.kind == event::CLAIM_RETIRED {
            for number in mine.keys() {
                if run.claims[number].responsible(tables) {
                    run.claims[number].pressed = run.is_pressed(observes);
                }
            }
        }
        deliver(run, &given, &mut self.row, &mut self.concerned, &mut self.moved);
        if event.kind == event::PREFIX_REUSED {
            let at = given.in_run(run);
            effect.direct.keys().try_for_each(|number| check_reuse(&at, number))?;
        }
        self.after(named, meant)
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

    // What becomes of it.

    fn after(&mut self, named: &Named, meant: &Meant) -> Fine {
        let &Named { event, line, request, claim, binds } = named;
        let Meant { effect, mine } = meant;
        let (run, tables) = (&mut self.state.run, &self.tables);
        for number in mine.keys() {
            follow_claim(run, tables, &self.names, number, event, effect);
        }
        follow_request(run, event, request, effect);
        match claim {
            Some(number) if binds => follow_entry(run, tables, number, event),
            Some(number) => self.contradict(event, number, line.at)?,
            None => {}
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
        moved.extend(claim.into_iter());
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

    /// A verdict may have changed.
    fn note(&mut self, number: u32) {
        if self.asked.watched {
            self.news.moved.add(number);
        }
    }

    /// Nothing changes the verdict any more but a late report.
    pub fn end(&mut self, number: u32) {
        // Whether the stream states ends in steps is known when it is over.
        let run = &mut self.state.run;
        if !run.claims[number].in_steps() {
            durations::distrust(run, &self.tables, number);
        }
        run.claims[number].is_final = true;
        run.claims[number].seen.requests.shrink();
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
