//! Writes what claims came to as lines of JSON, which Python makes its records from.

use crate::breaks::Reason;
use crate::claim::Found;
use crate::json::quote;
use crate::judge::Judge;
use crate::names::Name;
use crate::tables::{INCONCLUSIVE, PENDING, SATISFIED, UNEXERCISED, VIOLATED};

/// Whether the mode was kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    Violated,
    Inconclusive,
}

fn digits(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(number.to_string().as_bytes());
}

fn text(name: Option<Name>, judge: &Judge, out: &mut Vec<u8>) {
    match name {
        Some(name) => quote(&judge.names.show(name), out),
        None => out.extend_from_slice(b"null"),
    }
}

/// A reason as its code, text and line.
pub fn reason(reason: &Reason, out: &mut Vec<u8>) {
    quote(reason.code.name(), out);
    out.push(b',');
    quote(&reason.text, out);
    out.push(b',');
    digits(reason.at, out);
}

/// The rule by which the verdicts of obligations make one.
pub fn verdict(judge: &Judge, number: u32) -> Verdict {
    let claim = &judge.state.claims[number];
    let places = 0..claim.seen.own.stands.len();
    let heaviest = places.map(|place| claim.found(place, &judge.tables).0.verdict).max();
    match heaviest {
        Some(VIOLATED) => Verdict::Violated,
        _ if claim.mode == 0 || !claim.entered(&judge.tables) => Verdict::Inconclusive,
        Some(INCONCLUSIVE | PENDING) => Verdict::Inconclusive,
        _ => Verdict::Kept,
    }
}

/// Append one claim: its stream, id, mode, stated modes, state, whether it is entered, final and
/// turned away, its period, and of each obligation the verdict, the line, the rule, and the reason of a doubt.
pub fn write(judge: &Judge, number: u32, out: &mut Vec<u8>) {
    let (claim, tables) = (&judge.state.claims[number], &judge.tables);
    out.push(b'[');
    quote(&judge.stream, out);
    out.push(b',');
    text(claim.id, judge, out);
    out.push(b',');
    text(tables.modes[claim.mode].name, judge, out);
    out.push(b',');
    text(claim.stated_mode, judge, out);
    out.push(b',');
    text(claim.other_mode, judge, out);
    out.push(b',');
    quote(&tables.states[usize::from(claim.state)], out);
    let entered = claim.entered(tables);
    let more = claim.accepted || claim.known || claim.named || !claim.seen.requests.is_empty();
    let turned = claim.state == tables.refused && !more;
    let stood = format!(",{entered},{},{turned},{},[", claim.is_final, claim.period);
    out.extend_from_slice(stood.as_bytes());
    for place in 0..claim.seen.own.stands.len() {
        let (mut found, why) = claim.found(place, tables);
        if !entered && found.verdict == SATISFIED {
            found = Found { verdict: UNEXERCISED, at: 0, ..found };
        }
        out.extend_from_slice(if place == 0 { b"[" } else { b",[" });
        digits(found.verdict.into(), out);
        if found.verdict != UNEXERCISED {
            out.push(b',');
            digits(found.at, out);
            out.push(b',');
            digits(found.rule.into(), out);
        }
        if let Some(why) = why {
            out.push(b',');
            reason(why, out);
        }
        out.push(b']');
    }
    out.extend_from_slice(b"]]\n");
}

/// Append the outcomes of all claims that are kept, those of periods before first.
pub fn all(judge: &Judge, out: &mut Vec<u8>) {
    let now = judge.state.ids.iter().map(|row| *row.1);
    judge.state.past.keys().chain(now).for_each(|number| write(judge, number, out));
}

/// Append the outcomes that changed since the last call and that are violated or final.
pub fn changed(judge: &mut Judge, out: &mut Vec<u8>) {
    out.append(&mut judge.forgotten);
    let news = std::mem::take(&mut judge.state.news);
    for number in news.keys() {
        if judge.state.claims[number].is_final || verdict(judge, number) == Verdict::Violated {
            write(judge, number, out);
        }
    }
}

/// Append what is to be said of a stream as a whole.
pub fn summary(judge: &Judge, out: &mut Vec<u8>) {
    let state = &judge.state;
    let mut counted = [state.counted[0], state.counted[1], state.counted[2]];
    let now = state.ids.iter().map(|row| *row.1);
    now.chain(state.past.keys()).for_each(|n| counted[verdict(judge, n) as usize] += 1);
    out.extend_from_slice(b"{\"stream\":");
    quote(&judge.stream, out);
    let [kept, violated, unclear] = counted;
    let live = state.ids.len() - state.ended.len();
    out.extend_from_slice(
        format!(
            ",\"kept\":{kept},\"violated\":{violated},\"inconclusive\":{unclear},\
             \"live\":{live},\"period\":{},\"broken\":{},\"breaks\":[",
            state.period,
            state.broken.is_some()
        )
        .as_bytes(),
    );
    for (at, each) in state.breaks.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        reason(each, out);
        out.push(b']');
    }
    out.extend_from_slice(b"],\"left\":");
    match &state.left {
        None => out.extend_from_slice(b"null"),
        Some(left) => {
            out.push(b'[');
            reason(left, out);
            out.push(b']');
        }
    }
    out.extend_from_slice(b"}\n");
}
