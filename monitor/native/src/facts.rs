//! Takes facts about blocks and copies into the pool, and finds what they did to claims.

use crate::breaks::{contradiction, Code, Fine};
use crate::capacity::Capacity;
use crate::claim::Claims;
use crate::event::{self, Event, Kinds};
use crate::map::{Map, Set};
use crate::names::{Name, Names};
use crate::objects::Objects;
use crate::pool::{Key, Of, Pool};
use crate::tables::Tables;
use crate::texts::MAX_BLOCKS;

/// The kinds of facts about blocks.
pub const ABOUT_BLOCKS: Kinds = Kinds::of(&[
    event::STORE_FINISHED,
    event::HOST_COPY_FOUND,
    event::PREFIX_LOOKUP,
    event::PREFIX_REUSED,
    event::LOAD_FAILED,
    event::REQUEST_ROUTED,
    event::REUSE_SERVED,
    event::BLOCK_EVICTED,
    event::BLOCK_LOST,
    event::BLOCK_CACHED,
    event::LOAD_FINISHED,
    event::HOST_COPY_LOST,
]);

/// What an event did to the blocks of one claim: positions that it gained or lost, or that loads
/// brought; and the blocks of its that are gone, of which another may hold the same.
#[derive(Default, Debug)]
pub struct Touch {
    pub gained: Set<u64>,
    pub lost: Set<u64>,
    pub brought: Set<u64>,
    pub blocks: Set<Name>,
}

/// What a fact means: the claims that it names or means, and what it did to each.
#[derive(Default)]
pub struct Effect {
    pub direct: Set<u32>,
    pub touched: Map<u32, Touch>,
    freed: Vec<(Name, Key)>,
    keys: Vec<Key>,
}

impl Effect {
    pub fn clear(&mut self) {
        self.direct.clear();
        self.touched.clear();
        self.freed.clear();
    }
}

/// The state that a fact is read into. A claim has copies in so many `tiers` at most.
pub struct Facts<'a> {
    pub pool: &'a mut Pool,
    pub objects: &'a mut Objects,
    pub capacity: &'a mut Capacity,
    pub claims: &'a mut Claims,
    pub tables: &'a Tables,
    pub names: &'a Names,
    pub effect: &'a mut Effect,
    pub tiers: usize,
}

fn gone(kind: event::Kind) -> bool {
    kind == event::BLOCK_EVICTED || kind == event::BLOCK_LOST
}

/// The most blocks of a load of which their number alone is stated.
const LOADED: u64 = 1 << 20;

/// Call a function with the claims that may need a key, each with the position: of a group with a
/// window none before the window of the shortest prefix that is enough.
fn needing(
    pool: &Pool, objects: &Objects, claims: &Claims, key: Key, mut each: impl FnMut(u32, u64),
) {
    let group = pool.groups.iter().find(|row| row.0 == key.group && !row.1.full);
    objects.owners(claims, key, |owner, position| {
        let needed = group.is_none_or(|(_, group)| {
            let claim = &claims[owner];
            let end = claim.predicate.map_or(claim.extent() as i64, |predicate| predicate.end());
            position as i64 >= group.first(claim.start(), end)
        });
        if needed {
            each(owner, position);
        }
    });
}

impl Facts<'_> {
    /// Take one fact about blocks, which may name a claim.
    pub fn take(&mut self, event: &Event, claim: Option<u32>) -> Fine {
        let kind = event.kind;
        self.check(event)?;
        let object = match claim {
            Some(claim) => Some(self.claims[claim].object),
            None => self.objects.meant(event, self.pool, self.names)?,
        };
        match (claim, object) {
            (Some(claim), _) => {
                self.effect.direct.add(claim);
            }
            (None, Some(object)) => {
                self.effect.direct.extend(self.objects.get(object).on.iter());
            }
            _ => {}
        }
        let mut keys = std::mem::take(&mut self.effect.keys);
        keys.clear();
        self.keys(event, claim, object, &mut keys)?;
        if object.is_none() && !gone(kind) && kind != event::BLOCK_CACHED {
            self.named_by_blocks(event, &keys)?;
        }
        self.pool.changed.clear();
        match kind {
            event::BLOCK_CACHED => self.cached(event, &keys)?,
            event::LOAD_FINISHED => self.loaded(event, &mut keys)?,
            event::BLOCK_EVICTED | event::BLOCK_LOST => self.gone(event, claim, object, &keys)?,
            event::STORE_FINISHED | event::HOST_COPY_FOUND => self.stored(event, &mut keys)?,
            event::HOST_COPY_LOST => self.copy_lost(event, &keys)?,
            _ => {}
        }
        self.pool.check()?;
        self.touch();
        self.effect.keys = keys;
        Ok(())
    }

    /// Note what changed of the claims that the keys belong to.
    fn touch(&mut self) {
        let (pool, touched) = (&*self.pool, &mut self.effect.touched);
        for &(gpu, key) in &pool.changed {
            let gained = gpu && pool.on_gpu(key);
            needing(pool, self.objects, self.claims, key, |owner, position| {
                let touch = touched.entry(owner);
                if gpu {
                    let set = if gained { &mut touch.gained } else { &mut touch.lost };
                    set.add(position);
                }
            });
        }
        for &(block, key) in &self.effect.freed {
            needing(pool, self.objects, self.claims, key, |owner, _| {
                touched.entry(owner).blocks.add(block);
            });
        }
    }

    /// The fact means the claims that hold the keys or the blocks that it states.
    fn named_by_blocks(&mut self, event: &Event, keys: &[Key]) -> Fine {
        let held = event.block_ids.iter().filter_map(|block| self.pool.held(*block));
        let known: Vec<Key> = keys.iter().copied().chain(held).collect();
        for &key in &known {
            self.objects.owners(self.claims, key, |owner, _| {
                self.effect.direct.add(owner);
            });
        }
        if known.is_empty() && event.tier.is_none() {
            let kind = &self.tables.kinds[usize::from(event.kind)].name;
            return contradiction(
                Code::NothingNamed,
                format!("{kind} names no claim, object or key, and no known block"),
            );
        }
        Ok(())
    }

    /// The keys that a fact states, by their names or by positions of what it is about.
    fn keys(
        &self, event: &Event, claim: Option<u32>, object: Option<u32>, keys: &mut Vec<Key>,
    ) -> Fine {
        let group = event.group.unwrap_or(0);
        if !event.keys.is_empty() {
            let of_object = object.and_then(|object| self.objects.get(object).identity);
            let stated = event.cache_identity.or(of_object);
            let key = |&content: &Name| {
                let identity = stated.or_else(|| self.objects.identity_of(content));
                Key::content(identity, group, content)
            };
            keys.extend(event.keys.iter().map(key));
            return Ok(());
        }
        let Some(object) = object.map(|object| self.objects.get(object)) else { return Ok(()) };
        let key = |at: u64| self.objects.key(object, group, at);
        if !event.positions.is_empty() {
            keys.extend(event.positions.iter().map(|at| key(*at)));
            return Ok(());
        }
        if let (Some(held), Some(claim)) = (event.held, claim) {
            if event.kind == event::LOAD_FINISHED {
                let claim = &self.claims[claim];
                let start = claim.start() as u64;
                let end = (start + held as u64).min(claim.extent());
                if end.saturating_sub(start) > LOADED {
                    return contradiction(
                        Code::UnclearAmount,
                        format!("a load of more than {LOADED} blocks does not state which"),
                    );
                }
                keys.extend((start..end).map(key));
            }
        }
        Ok(())
    }

    /// A fact is about a group that the stream has, and a copy about another tier.
    fn check(&self, event: &Event) -> Fine {
        let group = event.group.unwrap_or(0);
        if !self.pool.groups.iter().any(|row| row.0 == group) {
            let text = format!("group {group} is none of the groups of stream_opened");
            return contradiction(Code::GroupsContradict, text);
        }
        let copy = [event::STORE_FINISHED, event::HOST_COPY_FOUND, event::HOST_COPY_LOST];
        if copy.contains(&event.kind) && event.tier.is_some_and(|tier| self.names.is_gpu(tier)) {
            let kind = &self.tables.kinds[usize::from(event.kind)].name;
            let text = format!("{kind} is about a copy in another tier than the GPU");
            return contradiction(Code::CopyOnGpu, text);
        }
        Ok(())
    }

    fn of_blocks(&self, event: &Event, keys: &mut Vec<Key>) {
        keys.extend(event.block_ids.iter().filter_map(|block| self.pool.held(*block)));
    }

    // The GPU.

    fn cached(&mut self, event: &Event, keys: &[Key]) -> Fine {
        if !keys.is_empty() {
            return self.place(keys, &event.block_ids);
        }
        event.block_ids.iter().try_for_each(|block| self.put(None, Some(*block)))
    }

    fn place(&mut self, keys: &[Key], blocks: &[Name]) -> Fine {
        for (place, key) in keys.iter().enumerate() {
            self.put(Some(*key), blocks.get(place).copied())?;
            self.objects.note_place(*key);
        }
        Ok(())
    }

    /// A block holds a key from now on. If a claim counts on what it held, both are one.
    fn put(&mut self, key: Option<Key>, block: Option<Name>) -> Fine {
        let before = block.and_then(|block| self.pool.held(block));
        if let (Some(before), Some(block)) = (before.filter(|_| before != key), block) {
            let mut counted = false;
            needing(self.pool, self.objects, self.claims, before, |owner, _| {
                counted |= self.claims[owner].live(self.tables);
            });
            if counted {
                return key.map_or(Ok(()), |key| self.unite(before, key, block));
            }
        }
        self.pool.place(before, key, block);
        Ok(())
    }

    fn unite(&mut self, before: Key, key: Key, block: Name) -> Fine {
        let mut claims = Set::default();
        for each in [before, key] {
            if let Of::Object(object) = each.of {
                claims.extend(self.objects.get(object).on.iter());
            }
        }
        let counted = self.capacity.uncount(claims.keys().collect());
        let united = self.objects.unite(before, key, self.pool);
        for number in counted {
            self.capacity.add(number, self.claims, self.objects, self.pool, self.tables);
        }
        let Some(object) = united else {
            let block = self.names.show(block);
            let text = format!("block {block} holds two contents, with no loss between");
            return contradiction(Code::BlockHoldsTwo, format!("facts contradict: {text}"));
        };
        let position = if key.of == Of::Object(object) { key.name } else { before.name };
        for owner in self.objects.get(object).on.iter() {
            if position < self.claims[owner].extent() {
                self.effect.touched.entry(owner).gained.add(position);
            }
        }
        Ok(())
    }

    /// A load brought copies back.
    fn loaded(&mut self, event: &Event, keys: &mut Vec<Key>) -> Fine {
        if keys.is_empty() {
            self.of_blocks(event, keys);
            if keys.len() < event.block_ids.len() {
                keys.clear();
            }
        }
        if keys.is_empty() && event.held != Some(0) {
            self.load_whole()?;
        }
        let copied = self.effect.direct.keys().any(|claim| self.claims[claim].has_copy());
        for key in keys.iter() {
            let mut counts = !self.effect.direct.is_empty();
            self.objects.owners(self.claims, *key, |_, _| counts = true);
            if counts && !self.pool.in_tiers(*key) && !copied {
                return contradiction(
                    Code::CopyNotThere,
                    "facts contradict: a load is of blocks of which no tier has a copy",
                );
            }
        }
        self.place(keys, &event.block_ids)?;
        for key in keys.iter() {
            needing(self.pool, self.objects, self.claims, *key, |owner, position| {
                self.effect.touched.entry(owner).brought.add(position);
            });
        }
        Ok(())
    }

    /// A load does not state what it brought: that is known only of what is there already.
    fn load_whole(&self) -> Fine {
        for claim in self.effect.direct.keys().map(|claim| &self.claims[claim]) {
            if !claim.over(self.tables) && claim.is_away(self.tables) {
                return contradiction(
                    Code::UnclearAmount,
                    "a load does not state which blocks it brought back",
                );
            }
        }
        Ok(())
    }

    /// Blocks of the GPU are gone.
    fn gone(
        &mut self, event: &Event, claim: Option<u32>, object: Option<u32>, keys: &[Key],
    ) -> Fine {
        if event.block_ids.is_empty() && keys.is_empty() {
            self.all_gone(claim, object);
            return Ok(());
        }
        for place in 0..event.block_ids.len().max(keys.len()) {
            let block = event.block_ids.get(place).copied();
            self.free(block, keys.get(place).copied(), object.is_some())?;
        }
        Ok(())
    }

    /// A block is gone. If its content is stated, it is what the block held. With `whose` the event
    /// names the claim or the object that it belonged to.
    fn free(&mut self, block: Option<Name>, key: Option<Key>, whose: bool) -> Fine {
        let Some(block) = block else {
            key.into_iter().for_each(|key| self.pool.free_all(key));
            return Ok(());
        };
        let text = if let Some(held) = self.pool.free(block) {
            self.effect.freed.extend(held.map(|held| (block, held)));
            if key.is_none() || held.is_none() || held == key {
                return Ok(());
            }
            format!("block {} did not hold what is said to be gone", self.names.show(block))
        } else if key.is_some_and(|key| self.pool.free_unnamed(key)) {
            return Ok(());
        } else if whose || self.counts_unnamed() {
            let block = self.names.show(block);
            format!("block {block} is gone, and no event stated that it was held")
        } else {
            return Ok(());
        };
        contradiction(Code::BlockNotHeld, format!("facts contradict: {text}"))
    }

    /// Whether a live claim counts on a block without a known id.
    fn counts_unnamed(&self) -> bool {
        let mut counts = false;
        for key in self.pool.unnamed.keys() {
            needing(self.pool, self.objects, self.claims, key, |owner, _| {
                counts |= self.claims[owner].live(self.tables);
            });
        }
        counts
    }

    /// All blocks of a claim, of an object or of the GPU are gone.
    fn all_gone(&mut self, claim: Option<u32>, object: Option<u32>) {
        let gpu = self.tables.words.gpu;
        let Some(object) = object.map(|object| self.objects.get(object)) else {
            return self.pool.clear(gpu, gpu);
        };
        let most = claim.map_or(MAX_BLOCKS as u64, |claim| self.claims[claim].extent());
        let named = 0..most.min(object.contents.len() as u64);
        let groups = self.pool.groups.iter().map(|row| row.0);
        let mut places: Vec<(u64, u64)> =
            groups.flat_map(|group| named.clone().map(move |at| (group, at))).collect();
        places.extend(object.places.iter().filter(|place| place.1 < most));
        for (group, at) in places {
            self.pool.free_all(self.objects.key(object, group, at));
        }
    }

    // Tiers.

    fn stored(&mut self, event: &Event, keys: &mut Vec<Key>) -> Fine {
        let once = event.kind == event::HOST_COPY_FOUND;
        let tier = event.tier.unwrap_or(self.tables.words.cpu);
        if !event.block_ids.is_empty() && keys.is_empty() {
            if !once {
                self.of_blocks(event, keys);
            }
            self.named_by_keys(event, keys)?;
        }
        if !keys.is_empty() {
            self.add_copies(tier, keys, once);
            return Ok(());
        }
        for claim in self.effect.direct.keys() {
            let copies = &mut self.claims[claim].trail_mut().copies;
            copies.store(tier, once);
            if copies.len() > self.tiers {
                let text = format!("a claim has copies in more than {} tiers", self.tiers);
                return contradiction(Code::BlocksLimit, text);
            }
        }
        Ok(())
    }

    /// Blocks of the GPU name what is stored from them, and no copy that was there before.
    fn named_by_keys(&self, event: &Event, keys: &[Key]) -> Fine {
        if !keys.is_empty() {
            return Ok(());
        }
        let kind = &self.tables.kinds[usize::from(event.kind)].name;
        let text = format!("the blocks of {kind} do not say which content is meant");
        contradiction(Code::NothingNamed, text)
    }

    fn add_copies(&mut self, tier: Name, keys: &[Key], at_least_one: bool) {
        for key in keys {
            self.pool.copy(tier, *key, at_least_one);
            self.objects.note_place(*key);
        }
    }

    fn copy_lost(&mut self, event: &Event, keys: &[Key]) -> Fine {
        let tier = event.tier.unwrap_or(self.tables.words.cpu);
        if !event.block_ids.is_empty() {
            self.named_by_keys(event, keys)?;
        }
        if event.tier.is_some() && keys.is_empty() && self.effect.direct.is_empty() {
            self.tier_lost(tier);
            return Ok(());
        }
        for key in keys {
            self.pool.drop_copy(tier, *key, |name| self.names.show(name))?;
        }
        if !keys.is_empty() {
            return Ok(());
        }
        for claim in self.effect.direct.keys() {
            if !self.claims[claim].trail_mut().copies.lose(tier) {
                return contradiction(
                    Code::CopyNotThere,
                    "facts contradict: a copy is lost that was not there",
                );
            }
        }
        Ok(())
    }

    /// A tier lost all that it had.
    fn tier_lost(&mut self, tier: Name) {
        self.pool.clear(tier, self.tables.words.gpu);
        for claim in self.objects.claims().collect::<Vec<_>>() {
            let Some(trail) = &mut self.claims[claim].trail else { continue };
            if trail.copies.has(tier) {
                self.effect.direct.add(claim);
            }
            trail.copies.clear(tier);
        }
    }
}
