//! Counts the blocks that responsible claims take, each block once.
//!
//! A claim takes the keys of its first positions, as many as it declared; in a pool of several
//! groups, what a hit at the end of its predicate needs in each. Positions of an object whose
//! content is not stated are counted as spans, or leave unknown what is taken of several groups.
//! What claims took that were responsible since some event is found from the whole by leaving out
//! the later claims.

use std::collections::BTreeSet;

use crate::claim::Claims;
use crate::map::{Map, Row, Set};
use crate::objects::Objects;
use crate::pool::{Key, Pool};
use crate::record;
use crate::sets::Sets;
use crate::tables::Tables;

record! {
    /// What one claim takes: keys, by their places among those that have owners; the end of the
    /// span behind them, and since which event.
    pub struct Size { keys: Box<[Row]>, end: i64, took: u64, object: u32 }
}

record! {
    /// The blocks that claims take: who takes each key, and by object the claims that take blocks
    /// behind its stated contents, of which there are `spanned` in all.
    #[derive(Default)]
    pub struct Capacity {
        sizes: Map<u32, Size>,
        owners: Sets<Key, u32>,
        spans: Sets<u32, u32>,
        spanned: i64,
        unknown: Map<u32, u64>,
        by_took: BTreeSet<(u64, u32)>,
    }
}

impl Size {
    /// The end of the keys, where the span begins.
    fn start(&self) -> i64 {
        self.keys.len() as i64
    }
}

/// What the claims that an action names would free, in blocks, and what each of them adds to it.
#[derive(Default)]
pub struct Blame {
    pub named: Set<u32>,
    freed: i64,
    shares: Map<u32, i64>,
    /// The two smallest shares above nothing, and whose the smallest is.
    least: [i64; 2],
    of_least: Option<u32>,
}

impl Blame {
    /// What the others free without this one.
    pub fn rest(&self, claim: u32) -> i64 {
        self.freed - self.share(claim)
    }
    pub fn share(&self, claim: u32) -> i64 {
        self.shares.get(claim).copied().unwrap_or(0)
    }
    /// The smallest share, above nothing, of another one; 0 for none.
    pub fn least(&self, claim: u32) -> i64 {
        self.least[usize::from(self.of_least == Some(claim))]
    }
}

/// Every claim counts.
pub const ALWAYS: u64 = u64::MAX;

impl Capacity {
    pub fn contains(&self, claim: u32) -> bool {
        self.sizes.contains(claim) || self.unknown.contains(claim)
    }

    pub fn claims(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.keys().chain(self.unknown.keys())
    }

    /// Whether it is unknown how many blocks some claim takes.
    pub fn is_unknown(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Take claims out while their keys or sizes change; return those that were in.
    pub fn uncount(&mut self, mut claims: Vec<u32>) -> Vec<u32> {
        claims.retain(|number| self.contains(*number));
        claims.iter().for_each(|number| self.remove(*number));
        claims
    }

    /// A claim takes its blocks.
    pub fn add(
        &mut self, number: u32, claims: &Claims, objects: &Objects, pool: &Pool, tables: &Tables,
    ) {
        let claim = &claims[number];
        let (object, one) = (objects.get(claim.object), pool.has_one_cache());
        let size = claim.size(tables).unwrap_or(-1);
        let named = if one { object.named() } else { object.contents.len() as i64 };
        let needed = if one { size.min(named) } else { claim.stop() };
        let mut keys = vec![];
        if size > 0 && needed <= named {
            pool.needs((objects, object), 0, needed, |key| {
                keys.push(key);
                true
            });
        }
        if size < 0 || (!one && keys.len() as i64 != size) {
            self.unknown.insert(number, claim.took);
            return;
        }
        let keys = keys.iter().map(|key| self.owners.add(*key, number).0).collect();
        let size = Size { keys, end: size, took: claim.took, object: claim.object };
        let behind = size.start() < size.end;
        self.sizes.insert(number, size);
        self.by_took.insert((claim.took, number));
        if behind {
            self.span(claim.object, |spans| _ = spans.add(claim.object, number));
        }
    }

    /// A claim takes no blocks any more.
    pub fn remove(&mut self, number: u32) {
        self.unknown.remove(number);
        let Some(size) = self.sizes.get(number) else { return };
        let object = size.object;
        if size.start() < size.end {
            self.span(object, |spans| _ = spans.remove(object, number));
        }
        let Some(size) = self.sizes.remove(number) else { return };
        self.by_took.remove(&(size.took, number));
        for row in &size.keys {
            self.owners.at(*row).map(|key| self.owners.remove(key, number));
        }
    }

    /// Change which claims take blocks behind the stated contents of an object.
    fn span(&mut self, object: u32, change: impl FnOnce(&mut Sets<u32, u32>)) {
        self.spanned -= self.behind(object, ALWAYS);
        change(&mut self.spans);
        self.spanned += self.behind(object, ALWAYS);
    }

    /// The blocks behind the stated contents of an object that claims take which took them by then.
    fn behind(&self, object: u32, until: u64) -> i64 {
        let sizes = self.spans.of(object).filter_map(|each| self.sizes.get(each));
        let (least, most) = sizes
            .filter(|size| size.took <= until)
            .fold((i64::MAX, 0), |(a, b), s| (a.min(s.start()), b.max(s.end)));
        (most - least).max(0)
    }

    /// Blocks of all claims that took them by then, each once; None if a size is unknown.
    pub fn total(&self, until: u64) -> Option<i64> {
        if self.unknown.iter().any(|(_, took)| *took <= until) {
            return None;
        }
        let mut total = self.owners.len() as i64 + self.spanned;
        if until == ALWAYS {
            return Some(total);
        }
        let is_late = |each: u32| self.sizes.get(each).is_some_and(|size| size.took > until);
        let mut spans = Set::default();
        for &(_, claim) in self.by_took.range((until + 1, 0)..) {
            let Some(size) = self.sizes.get(claim) else { continue };
            if size.start() < size.end && spans.add(size.object) {
                total -= self.behind(size.object, ALWAYS) - self.behind(size.object, until);
            }
            for key in &size.keys {
                let mut owners = self.owners.of_row(*key);
                let first = owners.next() == Some(claim) && owners.all(is_late);
                total -= i64::from(first);
            }
        }
        Some(total)
    }

    /// Call a function with the cells of one claim: so many blocks that the same claims take.
    fn cells(&self, number: u32, mut each: impl FnMut(i64, &mut dyn Iterator<Item = u32>)) {
        let Some(size) = self.sizes.get(number) else { return };
        size.keys.iter().for_each(|key| each(1, &mut self.owners.of_row(*key)));
        let start = size.start();
        if start == size.end {
            return;
        }
        let on = || self.spans.of(size.object);
        if on().nth(1).is_none() {
            return each(size.end - start, &mut std::iter::once(number));
        }
        let of = |claim: u32| self.sizes.get(claim).map_or((0, 0), |s| (s.start(), s.end));
        let own = start..=size.end;
        let edges = on().flat_map(|claim| <[i64; 2]>::from(of(claim)));
        let edges: BTreeSet<i64> = edges.filter(|edge| own.contains(edge)).collect();
        for (low, high) in edges.iter().zip(edges.iter().skip(1)) {
            let takes = |claim: &u32| of(*claim).0 <= *low && *high <= of(*claim).1;
            each(high - low, &mut on().filter(takes));
        }
    }

    /// Blocks that only this claim takes, of the claims that took them by then.
    pub fn alone(&self, claim: u32, until: u64) -> i64 {
        let mut alone = 0;
        let early = |each: u32| {
            until == ALWAYS || self.sizes.get(each).is_some_and(|size| size.took <= until)
        };
        if early(claim) {
            self.cells(claim, |blocks, owners| {
                let shared = owners.filter(|each| *each != claim && early(*each)).count() > 0;
                alone += if shared { 0 } else { blocks };
            });
        }
        alone
    }

    /// Blocks that the claim takes, by itself or with others, if it took them by then.
    pub fn size(&self, claim: u32, until: u64) -> i64 {
        self.sizes.get(claim).filter(|size| size.took <= until).map_or(0, |size| size.end)
    }

    /// Blocks of the claim that others take too, of whom one is not among the named.
    pub fn beside(&self, claim: u32, named: &Set<u32>) -> i64 {
        let mut beside = 0;
        self.cells(claim, |blocks, owners| {
            let other = owners.filter(|o| *o != claim && !named.contains(*o)).count() > 0;
            beside += if other { blocks } else { 0 };
        });
        beside
    }

    /// What these claims would free all together.
    pub fn blame(&self, named: Set<u32>) -> Blame {
        let mut made = Blame::default();
        for claim in named.keys() {
            made.shares.insert(claim, 0);
        }
        let (shares, freed) = (&mut made.shares, &mut made.freed);
        for claim in named.keys() {
            self.cells(claim, |blocks, owners| {
                let owners: Vec<u32> = owners.collect();
                if owners[0] == claim && owners.iter().all(|owner| named.contains(*owner)) {
                    *freed += blocks;
                    owners.iter().for_each(|owner| *shares.entry(*owner) += blocks);
                }
            });
        }
        for (claim, &share) in made.shares.iter().filter(|row| *row.1 > 0) {
            if made.of_least.is_none() || share < made.least[0] {
                made.least = [share, made.least[0]];
                made.of_least = Some(claim);
            } else if made.least[1] == 0 || share < made.least[1] {
                made.least[1] = share;
            }
        }
        made.named = named;
        made
    }
}
