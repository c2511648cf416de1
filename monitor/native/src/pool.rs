//! Tracks which content is held where: blocks and copies of keys by tier. It knows no claims.

use crate::breaks::{contradiction, Code, Fine};
use crate::event::Group;
use crate::map::{Hashed, Row, Set};
use crate::names::Name;
use crate::objects::{Object, Objects};
use crate::record;
use crate::sets::Sets;
use crate::store::{Bytes, Store};

/// An object, and the objects that it may have keys of.
type On<'a> = (&'a Objects, &'a Object);

/// What names a key: a cache identity, or an object by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Of {
    Nobody,
    Identity(Name),
    Object(u32),
}

/// The content of one logical block in one group: `name` is the raw name of a content key, or a
/// position of an object. It is packed, since each block that is held has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(Rust, packed(4))]
pub struct Key {
    pub of: Of,
    pub group: u64,
    pub name: u64,
}

impl Key {
    pub fn content(identity: Option<Name>, group: u64, content: Name) -> Self {
        let of = identity.map_or(Of::Nobody, Of::Identity);
        Self { of, group, name: u64::from(content.raw()) }
    }
    pub fn position(object: u32, group: u64, position: u64) -> Self {
        Self { of: Of::Object(object), group, name: position }
    }
}

impl Store for Key {
    fn put(&self, out: &mut Vec<u8>) {
        let (tag, value) = match self.of {
            Of::Nobody => (0u8, 0),
            Of::Identity(name) => (1, name.raw()),
            Of::Object(number) => (2, number),
        };
        (tag, value).put(out);
        (self.group, self.name).put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let of = match <(u8, u32)>::get(from)? {
            (0, _) => Of::Nobody,
            (1, raw) => Of::Identity(Name::from_raw(raw)?),
            (_, number) => Of::Object(number),
        };
        let (group, name) = Store::get(from)?;
        Some(Self { of, group, name })
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        if let Of::Identity(name) = self.of {
            found(name);
        }
        if !matches!(self.of, Of::Object(_)) {
            Name::from_raw(self.name as u32).into_iter().for_each(found);
        }
    }
}

record! {
    /// How many copies each tier has, of those that have any.
    #[derive(Default)]
    pub struct Tiers { rows: Vec<(Name, u64)> }
}

impl Tiers {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    pub fn has(&self, tier: Name) -> bool {
        self.rows.iter().any(|row| row.0 == tier)
    }

    /// A tier has so many more; whether it had none.
    pub fn add(&mut self, tier: Name, count: u64) -> bool {
        let row = self.rows.iter_mut().find(|row| row.0 == tier);
        let new = row.is_none();
        match row {
            Some(row) => row.1 += count,
            None => self.rows.push((tier, count)),
        }
        new
    }

    /// A tier has one more copy, or at least one; whether it had none.
    pub fn store(&mut self, tier: Name, at_least_one: bool) -> bool {
        !(at_least_one && self.has(tier)) && self.add(tier, 1)
    }

    /// A tier has one copy less; whether it had one.
    pub fn lose(&mut self, tier: Name) -> bool {
        let Some(at) = self.rows.iter().position(|row| row.0 == tier) else { return false };
        self.rows[at].1 -= 1;
        if self.rows[at].1 == 0 {
            self.rows.remove(at);
        }
        true
    }

    /// A tier has none.
    pub fn clear(&mut self, tier: Name) {
        self.rows.retain(|row| row.0 != tier);
    }
}

record! {
    /// The blocks of the GPU and the copies in all other tiers, by key: blocks by their ids (None is
    /// one without an id), and how many copies each tier has. `blocks` has where each block's key
    /// is; None is a block of which the content is not known. `changed` has the keys whose copies
    /// changed since it was last emptied, with whether that was on the GPU. `copied` counts the keys
    /// of which a tier has copies, of each tier; `most` blocks and copies are followed.
    #[derive(Default)]
    pub struct Pool {
        groups: Vec<(u64, Group)>,
        blocks: Hashed<Name, Option<Row>>,
        keys: Sets<Key, Option<Name>>,
        tiers: Hashed<Key, Tiers>,
        unnamed: Set<Key>,
        changed: Vec<(bool, Key)>,
        copied: usize,
        most: usize,
    }
}

impl Pool {
    pub fn new(groups: Vec<(u64, Group)>, most: usize) -> Self {
        Self { groups, most, ..Self::default() }
    }

    /// No more blocks and copies are known than are followed; copies of one key in one tier are one.
    pub fn check(&self) -> Fine {
        if self.blocks.len() + self.unnamed.len() + self.copied > self.most {
            let text = format!("more than {} blocks and copies are held", self.most);
            return contradiction(Code::BlocksLimit, text);
        }
        Ok(())
    }

    /// Whether a block holds the key.
    pub fn on_gpu(&self, key: Key) -> bool {
        self.keys.contains(key)
    }

    /// Whether a tier other than the GPU has a copy of the key.
    pub fn in_tiers(&self, key: Key) -> bool {
        self.tiers.contains(key)
    }

    /// Whether a block holds the key, or a tier has a copy of it.
    pub fn anywhere(&self, key: Key) -> bool {
        self.on_gpu(key) || self.in_tiers(key)
    }

    /// Whether a block is known, or a tier holds a copy.
    pub fn holds_anything(&self) -> bool {
        !(self.keys.is_empty() && self.tiers.is_empty() && self.blocks.is_empty())
    }

    /// The key that a block holds, if it is known.
    pub fn held(&self, block: Name) -> Option<Key> {
        let row = self.blocks.get(block).copied()??;
        self.keys.at(row)
    }

    /// A block of the GPU, which held the key `before`, holds this from now on.
    pub fn place(&mut self, before: Option<Key>, key: Option<Key>, block: Option<Name>) {
        if before.is_some() && before == key {
            return;
        }
        if let Some(held) = before {
            self.release(held, block);
        }
        if let Some(key) = key {
            if self.hold(key, block) {
                self.changed.push((true, key));
            }
        } else if let Some(block) = block {
            self.blocks.insert(block, None);
        }
    }

    /// A block holds a key; return whether none did before.
    fn hold(&mut self, key: Key, block: Option<Name>) -> bool {
        let (row, new) = self.keys.add(key, block);
        match block {
            None => {
                self.unnamed.add(key);
            }
            Some(block) => self.blocks.insert(block, Some(row)),
        }
        new
    }

    /// A block of the GPU holds nothing any more; return what it held, or None if it is not
    /// known.
    pub fn free(&mut self, block: Name) -> Option<Option<Key>> {
        let key = self.blocks.remove(block)?.and_then(|row| self.keys.at(row));
        if let Some(key) = key {
            self.release(key, Some(block));
        }
        Some(key)
    }

    /// The same of the block without an id that holds a key; whether there is one.
    pub fn free_unnamed(&mut self, key: Key) -> bool {
        let found = self.unnamed.contains(key);
        if found {
            self.release(key, None);
        }
        found
    }

    /// No block of the GPU holds the key any more.
    pub fn free_all(&mut self, key: Key) {
        for block in self.keys.of(key).collect::<Vec<_>>() {
            if let Some(block) = block {
                self.blocks.remove(block);
            }
            self.release(key, block);
        }
    }

    fn release(&mut self, key: Key, block: Option<Name>) {
        if self.keys.remove(key, block) {
            self.changed.push((true, key));
        }
        if block.is_none() {
            self.unnamed.remove(key);
        }
    }

    /// A tier has one more copy of the key, or at least one.
    pub fn copy(&mut self, tier: Name, key: Key, at_least_one: bool) {
        self.copied += usize::from(self.tiers.entry(key).store(tier, at_least_one));
        self.changed.push((false, key));
    }

    /// A tier has one copy of the key less.
    pub fn drop_copy(&mut self, tier: Name, key: Key, shown: impl Fn(Name) -> String) -> Fine {
        if !self.tiers.get_mut(key).is_some_and(|tiers| tiers.lose(tier)) {
            let text = format!("the tier {} loses a copy that it did not have", shown(tier));
            return contradiction(Code::CopyNotThere, text);
        }
        self.copied -= usize::from(!self.tiers.entry(key).has(tier));
        self.tidy(key);
        Ok(())
    }

    /// The copies of a key in the tiers changed.
    fn tidy(&mut self, key: Key) {
        if self.tiers.get(key).is_some_and(Tiers::is_empty) {
            self.tiers.remove(key);
        }
        self.changed.push((false, key));
    }

    /// A tier holds nothing any more.
    pub fn clear(&mut self, tier: Name, gpu: Name) {
        if tier == gpu {
            let keys = std::mem::take(&mut self.keys);
            self.changed.extend(keys.keys().map(|key| (true, key)));
            self.blocks = Hashed::default();
            self.unnamed.clear();
        }
        let has = self.tiers.iter().filter(|row| row.1.has(tier));
        for key in has.map(|row| row.0).collect::<Vec<_>>() {
            self.tiers.entry(key).clear(tier);
            self.copied -= 1;
            self.tidy(key);
        }
    }

    /// Move what is known of keys to their new names, which is neither gain nor loss.
    pub fn rename(&mut self, renamed: &[(Key, Key)]) {
        for &(old, new) in renamed.iter().filter(|row| row.0 != row.1) {
            self.unnamed.remove(old);
            for block in self.keys.take(old) {
                self.hold(new, block);
            }
            for (tier, count) in self.tiers.remove(old).into_iter().flat_map(|tiers| tiers.rows) {
                self.copied -= usize::from(!self.tiers.entry(new).add(tier, count));
            }
        }
    }

    /// Whether there is one group of caches, of which a hit needs every block.
    pub fn has_one_cache(&self) -> bool {
        matches!(&self.groups[..], [(0, group)] if group.full && group.span == 1)
    }

    /// The longest prefix from `start`, at most to `end`, that a hit could use on the GPU; with
    /// `tiers`, in all tiers together.
    pub fn lead(&self, (objects, object): On, start: i64, end: i64, tiers: bool) -> i64 {
        let held = |group: u64, at: i64| {
            let key = objects.key(object, group, at as u64);
            self.on_gpu(key) || (tiers && self.in_tiers(key))
        };
        if self.has_one_cache() {
            return (start..end).take_while(|at| held(0, *at)).count() as i64;
        }
        let end = end.min(object.known());
        let mut most = start;
        if !self.groups.iter().any(|(_, group)| group.full) {
            most = end.max(start);
        }
        let there = |(n, g): &(u64, Group), at| !(g.full && g.ends(at + 1)) || held(*n, at);
        while most < end && self.groups.iter().all(|row| there(row, most)) {
            most += 1;
        }
        if self.groups.iter().all(|(_, group)| group.full && group.span == 1) {
            return most - start;
        }
        let whole = |end: i64| {
            self.groups
                .iter()
                .all(|(n, g)| g.ends(end) && (g.full || g.needs(start, end).all(|at| held(*n, at))))
        };
        (1..=most - start).rev().find(|length| whole(start + length)).unwrap_or(0)
    }

    /// Whether something is so of every key that a hit on these positions of an object needs.
    pub fn needs(
        &self, (objects, object): On, start: i64, end: i64, mut is_so: impl FnMut(Key) -> bool,
    ) -> bool {
        self.groups.iter().all(|(number, group)| {
            group.needs(start, end).all(|at| is_so(objects.key(object, *number, at as u64)))
        })
    }

    /// Whether another tier has a copy of a key that a hit on these positions needs. Of positions
    /// of which nothing was stated none has one.
    pub fn has_copy(&self, (objects, object): On, start: i64, end: i64) -> bool {
        let known = object.known();
        self.groups.iter().any(|(number, group)| {
            let mut stated = group.needs(start, end).take_while(|at| *at < known);
            stated.any(|at| self.in_tiers(objects.key(object, *number, at as u64)))
        })
    }

    /// How many blocks a hit on these positions needs, in all groups.
    pub fn size(&self, start: i64, end: i64) -> i64 {
        self.groups.iter().map(|(_, group)| group.needs(start, end).size_hint().0 as i64).sum()
    }

    /// Whether a block of the GPU holds a key of the first positions of an object.
    pub fn holds(&self, (objects, object): On, extent: u64) -> bool {
        let end = extent.min(object.contents.len() as u64);
        let own = object.places.iter().map(|row| row.1).filter(|at| *at < extent);
        let on_gpu = |at| self.groups.iter().any(|(n, _)| self.on_gpu(objects.key(object, *n, at)));
        (0..end).any(on_gpu) || own.into_iter().any(on_gpu)
    }
}
