//! Tracks requests: from the first event that names one to its end.

use crate::breaks::{contradiction, Code, Fine};
use crate::event::{self, Event, Kinds};
use crate::map::{Hashed, Map, Set};
use crate::names::Name;
use crate::record;
use crate::tables::Tables;

const REMEMBERED: usize = 4_096;
const USES: Kinds = Kinds::of(&[event::PREFIX_LOOKUP, event::PREFIX_REUSED, event::BLOCK_CACHED]);

record! {
    /// One request. It is in hand from its arrival to its end; None is an unknown number of blocks.
    /// `failed` are the claims of which a load failed for it, `found` the blocks that its last
    /// look-up found, by claim.
    #[derive(Clone, Default)]
    pub struct Request {
        needed: Option<i64>,
        usable: Option<i64>,
        since: u64,
        in_hand: bool,
        failed: Set<Name>,
        found: Map<Name, i64>,
        restated: bool,
    }
}

record! {
    /// The requests of a stream that are not over, and those that ended last.
    #[derive(Default)]
    pub struct Requests {
        most: usize,
        live: Hashed<Name, Request>,
        over: Map<Name, Request>,
        needed: i128,
        unknown: i64,
        in_hand: Set<Name>,
    }
}

impl Request {
    fn first() -> Self {
        Self { needed: Some(0), usable: Some(0), ..Self::default() }
    }
}

impl Requests {
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub fn live_count(&self) -> usize {
        self.live.len()
    }

    /// The request of this id that is not over.
    pub fn live(&self, name: Name) -> Option<&Request> {
        self.live.get(name)
    }

    /// The request of this id, or the last that ended.
    pub fn get(&self, name: Name) -> Option<&Request> {
        self.live.get(name).or_else(|| self.over.get(name))
    }

    pub fn get_mut(&mut self, name: Name) -> Option<&mut Request> {
        self.live.get_mut(name).or_else(|| self.over.get_mut(name))
    }

    /// Whether the last request of this id has ended.
    pub fn is_over(&self, name: Name) -> bool {
        self.over.contains(name)
    }

    /// What the other requests in hand need, all together.
    pub fn needs_of_others(&self, request: Option<&Request>) -> Option<i64> {
        let own = request.filter(|request| request.in_hand);
        let unknown = i64::from(own.is_some_and(|own| own.needed.is_none()));
        let needed = own.map_or(0, |own| own.needed.unwrap_or(0));
        let others = self.needed - i128::from(needed);
        (self.unknown == unknown).then(|| i64::try_from(others).unwrap_or(i64::MAX))
    }

    /// The request that an event names, as it is before the event; a new one where it begins. And
    /// whether one of this id was over, and is not any more.
    pub fn of(
        &mut self, event: &Event, observes: Kinds, tables: &Tables,
    ) -> Fine<(Option<Name>, bool)> {
        let kind = event.kind;
        let Some(name) = event.request_id else { return Ok((None, false)) };
        if !tables.sets.requests.has(kind) && kind != event::BLOCK_CACHED {
            return Ok((None, false));
        }
        let live = self.live.get(name).map(|request| request.in_hand);
        let over = live.is_none() && self.over.contains(name);
        check(event, live == Some(true), over, observes, tables)?;
        if live.is_some() {
            return Ok((Some(name), false));
        }
        if over {
            let again = !event.repeats()
                && !observes.has(event::REQUEST_ARRIVED)
                && (USES.has(kind) || tables.sets.actions.has(kind));
            if !tables.sets.renews.has(kind) && !again {
                return Ok((Some(name), false));
            }
            self.over.remove(name);
        }
        let echoes = tables.sets.actions.has(kind) && event.repeats();
        if kind == event::REQUEST_FINISHED || echoes {
            return Ok((None, over));
        }
        if self.live.len() >= self.most {
            return contradiction(
                Code::RequestsLimit,
                format!("more than {} requests are in hand", self.most),
            );
        }
        self.live.insert(name, Request::first());
        Ok((Some(name), over))
    }

    /// A request is in hand from now on.
    pub fn arrive(&mut self, name: Name, event: &Event, number: u64) {
        self.count(name, -1);
        let Some(request) = self.get_mut(name) else { return };
        (request.needed, request.usable) = (event.needed, event.usable);
        (request.since, request.in_hand) = (number, true);
        request.restated = event.restated;
        self.in_hand.add(name);
        self.count(name, 1);
    }

    /// A request is over; return the id that is forgotten for it, if any.
    pub fn finish(&mut self, name: Name) -> Option<Name> {
        self.count(name, -1);
        let mut request = self.live.remove(name).unwrap_or_else(Request::first);
        self.in_hand.remove(name);
        request.in_hand = false;
        self.over.remove(name);
        self.over.insert(name, request);
        let full = self.over.len() > self.most.min(REMEMBERED);
        full.then(|| self.over.pop_first())?.map(|row| row.0)
    }

    fn count(&mut self, name: Name, sign: i64) {
        if let Some(request) = self.live.get(name).filter(|request| request.in_hand) {
            self.needed += i128::from(sign * request.needed.unwrap_or(0));
            self.unknown += sign * i64::from(request.needed.is_none());
        }
    }
}

/// Whether an event agrees with what is known of its request.
fn check(event: &Event, in_hand: bool, over: bool, observes: Kinds, tables: &Tables) -> Fine {
    let kind = event.kind;
    let arrivals = observes.has(event::REQUEST_ARRIVED);
    let ends = observes.has(event::REQUEST_FINISHED);
    if kind == event::REQUEST_ARRIVED && in_hand && ends {
        return refuse("a request arrives that is still unfinished");
    }
    if kind == event::REQUEST_FINISHED && !in_hand && arrivals {
        return refuse("a request ends that has not arrived or has already ended");
    }
    let acts = tables.sets.actions.has(kind);
    if event.repeats() {
        return Ok(());
    }
    let called = || &tables.kinds[usize::from(kind)].name;
    if over && arrivals && (acts || USES.has(kind)) {
        return refuse(&format!("{} is of a request that is over", called()));
    }
    if acts && !in_hand && arrivals {
        return refuse(&format!("{} is of a request that has not arrived", called()));
    }
    Ok(())
}

fn refuse(text: &str) -> Fine {
    contradiction(Code::RequestContradicts, format!("facts contradict: {text}"))
}
