//! Decides which of two claims of different priority may lose a block first.

use std::collections::BTreeMap;

use crate::claim::Claims;
use crate::event::Event;
use crate::facts::Touch;
use crate::map::{Hashed, Map, Set};
use crate::names::Name;
use crate::record;
use crate::tables::Tables;

record! {
    /// The claims of soft_priority that hold blocks, by priority. Of an `unsure` one it is unknown
    /// which others it may outlast.
    #[derive(Default)]
    pub struct Ranks { priority: Hashed<u32, i64>, holders: BTreeMap<i64, u64>, unsure: Set<u32> }
}

impl Ranks {
    /// Whether the claim is among those that are ranked while they hold blocks.
    pub fn is_ranked(number: u32, claims: &Claims, tables: &Tables) -> bool {
        let claim = &claims[number];
        claim.mode == tables.named.soft_priority && claim.known && claim.live(tables)
    }

    /// A claim holds blocks of the GPU, or holds none.
    pub fn follow(&mut self, number: u32, ranked: bool, claims: &Claims) {
        let claim = &claims[number];
        if let Some(before) = self.priority.remove(number) {
            if let Some(count) = self.holders.get_mut(&before) {
                *count -= 1;
                if *count == 0 {
                    self.holders.remove(&before);
                }
            }
        }
        self.unsure.remove(number);
        match claim.priority.get() {
            _ if !ranked => {}
            Some(priority) if !claim.disputed => {
                self.priority.insert(number, priority);
                *self.holders.entry(priority).or_default() += 1;
            }
            _ => {
                self.unsure.add(number);
            }
        }
    }

    /// Whether a claim of higher priority holds a block.
    pub fn higher_kept(&self, number: u32, claims: &Claims) -> bool {
        let claim = &claims[number];
        let highest = self.holders.last_key_value().map(|row| *row.0);
        !claim.disputed && highest.is_some_and(|rank| claim.priority.get().unwrap_or(0) < rank)
    }

    /// Whether a block of a claim of lower priority could be evicted instead; None: unknown.
    pub fn lower_available(
        &self, number: u32, claims: &Claims, event: &Event, touched: &Map<u32, Touch>,
        tables: &Tables,
    ) -> Option<bool> {
        let claim = &claims[number];
        let own = claim.priority.get().filter(|_| !claim.disputed)?;
        let mut lower = self.holders.range(..own).map(|row| *row.0);
        let rivals = lower.clone().next().is_some() || !self.unsure.is_empty();
        let Some(lowest) = event.lowest_priority else {
            return if rivals { None } else { Some(false) };
        };
        let losers =
            || touched.iter().filter(|row| !(row.1.lost.is_empty() && row.1.blocks.is_empty()));
        let unsure = losers().any(|(each, _)| {
            let each = &claims[each];
            (each.mode == tables.named.soft_priority && each.priority.get().is_none())
                || each.disputed
        });
        let ranks: Vec<(u32, i64)> = losers()
            .filter(|(each, _)| Self::is_ranked(*each, claims, tables))
            .map(|(each, _)| (each, claims[each].priority.get().unwrap_or(0)))
            .collect();
        let least = i128::from(least(&ranks, touched).unwrap_or(own));
        if i128::from(own) <= lowest {
            return if rivals && (least < lowest || unsure) { None } else { Some(false) };
        }
        if !(rivals || unsure) && least == lowest {
            return Some(false);
        }
        let among = ranks.iter().any(|row| i128::from(row.1) == lowest);
        if among || least <= lowest || unsure {
            return None;
        }
        lower.any(|rank| lowest <= i128::from(rank)).then_some(true)
    }
}

/// The lowest priority of a block that goes: a block has that of the highest of its claims.
fn least(ranks: &[(u32, i64)], touched: &Map<u32, Touch>) -> Option<i64> {
    let mut found = Map::<Name, i64>::default();
    for (claim, rank) in ranks {
        for block in touched.get(*claim).into_iter().flat_map(|touch| touch.blocks.keys()) {
            let before = found.get(block).copied().unwrap_or(*rank);
            found.insert(block, before.max(*rank));
        }
    }
    found.iter().map(|row| *row.1).min()
}
