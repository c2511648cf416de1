//! Holds what a stream came to so far, and by what it is judged.

use crate::breaks::{Order, Reason};
use crate::digests::Digests;
use crate::event::Kinds;
use crate::map::{Map, Set};
use crate::names::Name;
use crate::outcome::Past;
use crate::record;
use crate::run::Run;

record! {
    /// How much of a stream is kept: claims in hand, ended claims, ids of others, requests, how many
    /// forgotten claims that were not kept are listed, objects without a claim, blocks and copies,
    /// and tiers that have a copy of the whole of a claim.
    #[derive(Clone, Copy, Default)]
    pub struct Limits {
        live: usize,
        ended: usize,
        ids: usize,
        requests: usize,
        troubled: usize,
        objects: usize,
        blocks: usize,
        tiers: usize,
    }
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
        period: u32,
        left: Option<Reason>,
        observes: Kinds,
        told: Kinds,
        gone: Digests,
        ended: Map<Name, u32>,
    }
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
