//! Writes what claims and streams came to as JSON, which Python makes its records from.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::breaks::{Code, Place, Reason};
use crate::claim::{Claim, Found};
use crate::json::quote;
use crate::judge::Judge;
use crate::names::Name;
use crate::record;
use crate::state::News;
use crate::tables::{INCONCLUSIVE, PENDING, SATISFIED, UNEXERCISED, VIOLATED};

/// Whether the mode was kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    Violated,
    Inconclusive,
}

record! {
    /// Claims that are counted and not listed: how many have each verdict by their mode, and on each
    /// obligation by its place; how many were entered, and how many stated no mode and were turned
    /// away.
    #[derive(Default, Clone)]
    pub struct Counts {
        verdicts: BTreeMap<(usize, u8), u64>,
        obligations: BTreeMap<(usize, usize, u8), u64>,
        entered: BTreeMap<usize, u64>,
        away: u64,
    }
}

impl Counts {
    fn note(&mut self, judge: &Judge, number: u32) {
        let (claim, tables) = (&judge.state.run.claims[number], &judge.tables);
        *self.verdicts.entry((claim.mode, verdict(judge, number) as u8)).or_default() += 1;
        *self.entered.entry(claim.mode).or_default() += u64::from(claim.entered(tables));
        let stated = claim.mode != 0 || claim.stated_mode.is_some();
        self.away += u64::from(!stated && is_turned_away(judge, claim));
        for (place, (found, _)) in findings(judge, claim).enumerate() {
            *self.obligations.entry((claim.mode, place, found.verdict)).or_default() += 1;
        }
    }
}

record! {
    /// Claims that are no longer kept: those that are listed, as rows of JSON, and how many are;
    /// and the others, counted.
    #[derive(Default)]
    pub struct Past { rows: Vec<u8>, listed: usize, counts: Counts }
}

impl Past {
    /// List a claim of an earlier period while fewer than the limit are listed, and another one only
    /// if it was not kept; count the others.
    pub fn take(&mut self, judge: &Judge, number: u32, earlier: bool) {
        let (claim, tables) = (&judge.state.run.claims[number], &judge.tables);
        let verdict = verdict(judge, number);
        let judged = claim.entered(tables) && claim.mode != 0;
        let unclear = judged && verdict == Verdict::Inconclusive;
        let troubled = verdict == Verdict::Violated || unclear;
        let limits = judge.asked.limits;
        let most = if earlier { limits.ended } else { limits.troubled };
        let only = &judge.asked.only;
        let named = |id: Name| !only.is_empty() && judge.names.show(id) == *only;
        if (self.listed < most && (earlier || troubled)) || claim.id.is_some_and(named) {
            self.listed += 1;
            self.rows.extend_from_slice(if self.rows.is_empty() { b"" } else { b"," });
            return write(judge, number, &mut self.rows);
        }
        self.counts.note(judge, number);
    }
}

/// Appends a value as JSON.
macro_rules! put {
    ($out:expr, $($arguments:tt)*) => { $out.extend_from_slice(format!($($arguments)*).as_bytes()) };
}

fn text(name: Option<Name>, judge: &Judge, out: &mut Vec<u8>) {
    match name {
        Some(name) => quote(&judge.names.show(name), out),
        None => out.extend_from_slice(b"null"),
    }
}

/// Append items, with commas between them and brackets around.
fn list<T>(
    items: impl Iterator<Item = T>, out: &mut Vec<u8>, mut each: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        out.extend_from_slice(if at == 0 { b"" } else { b"," });
        each(item, out);
    }
    out.push(b']');
}

fn number(number: Option<i64>, out: &mut Vec<u8>) {
    match number {
        Some(number) => put!(out, "{number}"),
        None => out.extend_from_slice(b"null"),
    }
}

fn place(place: Place, out: &mut Vec<u8>) {
    put!(out, ",{},", place.line);
    number(place.sequence(), out);
}

/// Append a reason as its code, text, line and sequence number.
fn reason(reason: &Reason, out: &mut Vec<u8>) {
    quote(reason.code.name(), out);
    out.push(b',');
    quote(&reason.text, out);
    place(reason.at, out);
}

fn reason_row(of: &Reason, out: &mut Vec<u8>) {
    out.push(b'[');
    reason(of, out);
    out.push(b']');
}

/// The rule by which the verdicts of obligations make one.
pub fn verdict(judge: &Judge, number: u32) -> Verdict {
    let claim = &judge.state.run.claims[number];
    let places = 0..claim.seen.own.stands.len();
    let heaviest = places.map(|place| claim.found(place, &judge.tables).0.verdict).max();
    match heaviest {
        Some(VIOLATED) => Verdict::Violated,
        _ if claim.mode == 0 || !claim.entered(&judge.tables) => Verdict::Inconclusive,
        Some(INCONCLUSIVE | PENDING | UNEXERCISED) => Verdict::Inconclusive,
        _ => Verdict::Kept,
    }
}

fn is_turned_away(judge: &Judge, claim: &Claim) -> bool {
    let more = claim.accepted || claim.known || claim.named || !claim.seen.requests.is_empty();
    claim.state == judge.tables.refused && !more
}

/// What each obligation came to; a claim that was not entered shows none as kept.
fn findings<'a>(
    judge: &'a Judge, claim: &'a Claim,
) -> impl Iterator<Item = (Found, Option<&'a Reason>)> {
    let entered = claim.entered(&judge.tables);
    (0..claim.seen.own.stands.len()).map(move |place| {
        let (found, why) = claim.found(place, &judge.tables);
        let unentered = !entered && found.verdict == SATISFIED;
        (if unentered { Found { verdict: UNEXERCISED, ..found } } else { found }, why)
    })
}

/// Append what is new of a stream as a line, if anything is: its name, the breaks by limits, how many
/// claims were forgotten, those that are in hand no more, and those that were moved: all of them, or
/// those of which the verdict stands.
pub fn news(judge: &mut Judge, every: bool, out: &mut Vec<u8>) {
    let state = &judge.state;
    let stands = |number: &u32| {
        every || state.run.claims[*number].is_final || verdict(judge, *number) == Verdict::Violated
    };
    let moved: Vec<u32> = judge.news.moved.keys().filter(stands).collect();
    let (breaks, forgotten) = (state.breaks.len(), state.forgotten);
    if !moved.is_empty()
        || !judge.news.gone.is_empty()
        || (breaks, forgotten) != (judge.news.breaks, judge.news.forgotten)
    {
        out.push(b'[');
        quote(&judge.stream.name, out);
        out.push(b',');
        let is_limit = |code| matches!(code, Code::ClaimsLimit | Code::RequestsLimit);
        let limits = state.breaks.iter().filter(|each| is_limit(each.code));
        list(limits, out, reason_row);
        put!(out, ",{forgotten},[");
        out.extend_from_slice(&judge.news.gone);
        out.extend_from_slice(b"],");
        list(moved.into_iter(), out, |number, out| write(judge, number, out));
        out.extend_from_slice(b"]\n");
    }
    judge.news = News { breaks, forgotten, ..News::default() };
}

/// Append the claims of a stream that are in hand as a line, after its name.
pub fn in_hand(judge: &Judge, out: &mut Vec<u8>) {
    out.push(b'[');
    quote(&judge.stream.name, out);
    out.push(b',');
    list(judge.state.run.ids.iter(), out, |(_, number), out| write(judge, *number, out));
    out.extend_from_slice(b"]\n");
}

/// Append the name of a stream and how many of its claims have not ended, as a line.
pub fn live(judge: &Judge, out: &mut Vec<u8>) {
    let run = &judge.state.run;
    let live = run.ids.iter().filter(|row| !run.claims[*row.1].is_final).count();
    out.push(b'[');
    quote(&judge.stream.name, out);
    put!(out, ",{live}]\n");
}

/// Append one claim: its id, mode, stated modes, state, whether it is entered, final and turned
/// away, its period, and of each obligation the verdict, the rule, the line and its sequence
/// number, and the reason of an inconclusive one.
pub fn write(judge: &Judge, number: u32, out: &mut Vec<u8>) {
    let (claim, tables) = (&judge.state.run.claims[number], &judge.tables);
    out.push(b'[');
    for name in [claim.id, tables.mode_names[claim.mode], claim.stated_mode, claim.other_mode] {
        text(name, judge, out);
        out.push(b',');
    }
    quote(&tables.states[usize::from(claim.state)], out);
    let (entered, turned) = (claim.entered(tables), is_turned_away(judge, claim));
    put!(out, ",{entered},{},{turned},{},", claim.is_final, claim.period);
    list(findings(judge, claim), out, |(found, why), out| {
        put!(out, "[{}", found.verdict);
        if found.verdict != UNEXERCISED {
            put!(out, ",{}", found.rule);
            place(found.at, out);
        }
        if let Some(why) = why {
            out.push(b',');
            reason(why, out);
        }
        out.push(b']');
    });
    out.push(b']');
}

/// Append a stream as a line: its first line, what it came to, and its claims, those that are no
/// longer kept first. Unless `every` claim in hand is listed, those that were kept are counted, but
/// for the first of each mode; `unlisted` says how many, by mode.
pub fn stream(judge: &Judge, every: bool, out: &mut Vec<u8>) {
    let (state, stream, past) = (&judge.state, &judge.stream, &judge.state.past);
    let (mut counts, mut unlisted) = (past.counts.clone(), BTreeMap::<usize, u64>::new());
    let mut listed = Vec::new();
    for number in state.run.ids.iter().map(|row| *row.1) {
        let kept = !every && verdict(judge, number) == Verdict::Kept;
        match unlisted.entry(state.run.claims[number].mode) {
            Entry::Occupied(mut count) if kept => {
                *count.get_mut() += 1;
                counts.note(judge, number);
                continue;
            }
            Entry::Vacant(first) if kept => _ = first.insert(0),
            _ => {}
        }
        listed.push(number);
    }
    let mode = |mode: usize, out: &mut Vec<u8>| text(judge.tables.mode_names[mode], judge, out);
    out.extend_from_slice(b"{\"name\":");
    quote(&stream.name, out);
    out.extend_from_slice(b",\"form\":");
    quote(&stream.form, out);
    out.extend_from_slice(b",\"first\":");
    number(stream.first, out);
    out.extend_from_slice(b",\"last\":");
    number(state.order.sequence, out);
    let (broken, forgotten) = (state.broken.is_some(), state.forgotten);
    put!(out, ",\"period\":{},\"broken\":{broken},\"forgotten\":{forgotten}", state.period);
    out.extend_from_slice(b",\"breaks\":");
    list(state.breaks.iter(), out, reason_row);
    out.extend_from_slice(b",\"left\":");
    match &state.left {
        Some(left) => reason_row(left, out),
        None => out.extend_from_slice(b"null"),
    }
    let ended_well = state.order.closed && !state.order.opened.is_none();
    let claims = state.run.ids.iter().map(|row| &state.run.claims[*row.1]).filter(|_| !ended_well);
    let open = claims.filter(|each| each.entered(&judge.tables) && !each.over(&judge.tables));
    out.extend_from_slice(b",\"open\":");
    let open: BTreeSet<usize> = open.map(|claim| claim.mode).collect();
    list(open.into_iter(), out, mode);
    out.extend_from_slice(b",\"verdicts\":");
    list(counts.verdicts.iter(), out, |((of, verdict), count), out| {
        out.push(b'[');
        mode(*of, out);
        put!(out, ",{verdict},{count}]");
    });
    out.extend_from_slice(b",\"obligations\":");
    list(counts.obligations.iter(), out, |((of, place, verdict), count), out| {
        out.push(b'[');
        mode(*of, out);
        put!(out, ",{place},{verdict},{count}]");
    });
    for (name, by_mode) in [("entered", &counts.entered), ("unlisted", &unlisted)] {
        put!(out, ",\"{name}\":");
        list(by_mode.iter(), out, |(of, count), out| {
            out.push(b'[');
            mode(*of, out);
            put!(out, ",{count}]");
        });
    }
    put!(out, ",\"away\":{},\"claims\":[", counts.away);
    out.extend_from_slice(&past.rows);
    for (at, number) in listed.into_iter().enumerate() {
        out.extend_from_slice(if at == 0 && past.rows.is_empty() { b"" } else { b"," });
        write(judge, number, out);
    }
    out.extend_from_slice(b"]}\n");
}
