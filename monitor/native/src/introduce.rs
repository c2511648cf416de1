//! Introduces claims to a judge: what lines state of them, and what they leave open.

use crate::breaks::{contradiction, Code, Fine, Line, Place, Reason};
use crate::claim::{Claim, BEGINS, TERMS};
use crate::durations;
use crate::event::{self, Event, Kinds};
use crate::follow::measure;
use crate::judge::Judge;
use crate::names::Name;

/// Reports that may come before the registration of a claim.
const NO_EARLY: Kinds = Kinds::of(&[event::CLAIM_REJECTED, event::CLAIM_ACCEPTED]);

impl Judge {
    /// The claim of this id, which is new if there is none.
    pub fn claim(&mut self, name: Name, at: Place) -> Fine<u32> {
        let state = &mut self.state;
        if let Some(number) = state.run.ids.get(name) {
            return Ok(*number);
        }
        if state.run.ids.len() - state.ended.len() >= self.asked.limits.live {
            return contradiction(
                Code::ClaimsLimit,
                format!("more than {} claims are in hand", self.asked.limits.live),
            );
        }
        state.run.claims.made += 1;
        let mut claim = Claim::new(name, state.run.claims.made, state.period, &self.tables);
        claim.begin(self.asked.default, &self.tables);
        if state.gone.len() > 0 && self.names.with(name, |id| state.gone.contains(id)) {
            claim.distrust_for(Code::IdReused, "a claim of this id ended before", at);
        }
        let number = state.run.claims.add(claim);
        state.run.ids.insert(name, number);
        Ok(number)
    }

    /// Take what an event states of the claim that it names.
    pub fn introduce(&mut self, number: u32, event: &Event, line: &Line, binds: bool) -> Fine {
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
        let objects = &self.state.run.objects;
        let claim = &mut self.state.run.claims[number];
        let needed = claim.stop().max(claim.footprint.get().unwrap_or(0));
        if objects.forgot_keys && !objects.get(claim.object).has_keys(needed) {
            let text = "its keys are not stated, and keys of an object were forgotten";
            claim.distrust_for(Code::KeysForgotten, text, line.at);
        }
        if terms && claim.entered(&tables) && !claim.is_whole() {
            let text = "the object and the predicate of the claim are not stated";
            claim.distrust_for(Code::TermsMissing, text, line.at);
        }
        let (run, clock) = (&mut self.state.run, self.state.order.time_ns);
        let size = run.claims[number].size(&tables);
        durations::start(run, &tables, clock, number, event, line);
        if run.claims[number].size(&tables) != size {
            let counted = run.capacity.uncount(vec![number]);
            run.recount(&counted, &tables);
        }
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

    /// An event names a claim, and does not mean its object.
    pub fn contradict(&mut self, event: &Event, number: u32, at: Place) -> Fine {
        let kind = &self.tables.kinds[usize::from(event.kind)].name;
        let text = format!("{kind} names the claim with another object, cache or predicate");
        if self.tables.sets.facts.has(event.kind) {
            return contradiction(Code::IdentityContradicts, text);
        }
        self.state.run.claims[number].distrust_for(Code::IdentityContradicts, &text, at);
        Ok(())
    }

    /// Nothing is known of the pool: claims that begin are inconclusive.
    pub fn unknown(&mut self, event: &Event, at: Place) -> Fine {
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

    /// Leave open the obligations that rest on facts which the stream does not observe.
    pub fn blind(&mut self, number: u32, at: Place) {
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
    pub fn doubt(&mut self, name: Option<&str>, only: &[String], why: &str, at: Place) -> Fine {
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
}
