//! Maps and sets that are small: tables of row numbers over lists of rows.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroU32;
use std::sync::OnceLock;

use crate::names::Name;
use crate::store::{Bytes, Store};

/// A fast hasher of keys that are small. A stream chooses numbers of blocks and positions, so it
/// begins with a random number: nobody can choose keys that collide.
struct Fast(u64);

/// The halves of a product of 128 bits in one.
pub fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

impl Hasher for Fast {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = fold(self.0 ^ value, 0x9e37_79b9_7f4a_7c15);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// What maps are keyed by.
pub trait Key: Copy + Eq + Hash + Store {}
impl<K: Copy + Eq + Hash + Store> Key for K {}

fn hash<K: Key>(key: &K) -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let mut hasher = Fast(*SEED.get_or_init(|| RandomState::new().hash_one(0u8)));
    key.hash(&mut hasher);
    hasher.finish()
}

/// Finds the rows of a list by the hashes of their keys. It holds numbers of rows alone, so the list
/// answers what key a row has.
#[derive(Clone, Debug, Default)]
pub struct Index {
    slots: Box<[u32]>,
    used: u32,
    first: u32, // no row before this one is used
}

const FREE: u32 = u32::MAX;

impl Index {
    /// The first slot from that of a hash on which is free, or has a row that is the one; and what
    /// it has.
    fn slot(&self, hash: u64, mut is: impl FnMut(usize) -> bool) -> (usize, u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize;
        loop {
            let row = self.slots[at & mask];
            if row == FREE || is(row as usize) {
                return (at & mask, row);
            }
            at = at.wrapping_add(1);
        }
    }

    /// The row that is the one, among those of this hash.
    pub fn find(&self, hash: u64, is: impl FnMut(usize) -> bool) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let (_, row) = self.slot(hash, is);
        (row != FREE).then_some(row as usize)
    }

    /// Add a row that is not in; the hashes of the others are asked for where it grows.
    pub fn add(&mut self, row: usize, hash: u64, hash_of: impl Fn(usize) -> u64) {
        self.used += 1;
        if 8 * self.used as usize > 5 * self.slots.len() {
            let size = (2 * self.slots.len()).max(2 * FEW);
            let old = std::mem::replace(&mut self.slots, vec![FREE; size].into());
            for row in old.iter().filter(|row| **row != FREE) {
                let (at, _) = self.slot(hash_of(*row as usize), |_| false);
                self.slots[at] = *row;
            }
        }
        let (at, _) = self.slot(hash, |_| false);
        self.slots[at] = u32::try_from(row).expect("fewer than 2^32 rows");
    }

    /// Remove a row that is in, and close the gap among those that were moved past it.
    pub fn remove(&mut self, row: usize, hash: u64, hash_of: impl Fn(usize) -> u64) {
        let mask = self.slots.len() - 1;
        let (mut gap, _) = self.slot(hash, |each| each == row);
        let mut at = gap;
        self.used -= 1;
        loop {
            self.slots[gap] = FREE;
            loop {
                at = (at + 1) & mask;
                if self.slots[at] == FREE {
                    return;
                }
                let home = hash_of(self.slots[at] as usize) as usize & mask;
                if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                    break;
                }
            }
            self.slots[gap] = self.slots[at];
            gap = at;
        }
    }
}

/// The hash of a row, of those that are in use.
fn hash_in<K: Key, V>(rows: &[Option<(K, V)>]) -> impl Fn(usize) -> u64 + '_ {
    |row| rows[row].as_ref().map_or(0, |row| hash(&row.0))
}

const FEW: usize = 8;

/// A map that keeps the order of insertion; up to eight rows are looked through. An empty one has
/// no rows.
#[derive(Clone, Debug)]
pub struct Map<K, V> {
    rows: Vec<Option<(K, V)>>,
    index: Option<Box<Index>>,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { rows: Vec::new(), index: None }
    }
}

/// A set that keeps the order of insertion.
pub type Set<K> = Map<K, ()>;

impl<K: Key, V> Map<K, V> {
    pub fn len(&self) -> usize {
        let counted = || self.rows.iter().flatten().count();
        self.index.as_ref().map_or_else(counted, |index| index.used as usize)
    }
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    fn used(&self) -> &[Option<(K, V)>] {
        &self.rows[self.index.as_ref().map_or(0, |index| index.first as usize)..]
    }

    /// Where the row of a key is.
    pub fn place(&self, key: K) -> Option<usize> {
        let is = |row: &Option<(K, V)>| row.as_ref().is_some_and(|row| row.0 == key);
        match &self.index {
            Some(index) => index.find(hash(&key), |at| is(&self.rows[at])),
            None => self.rows.iter().position(is),
        }
    }

    pub fn contains(&self, key: K) -> bool {
        self.place(key).is_some()
    }
    pub fn get(&self, key: K) -> Option<&V> {
        self.rows[self.place(key)?].as_ref().map(|row| &row.1)
    }
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let at = self.place(key)?;
        self.rows[at].as_mut().map(|row| &mut row.1)
    }

    /// Insert it at the end, or in the place that the key has; true if the key is new.
    pub fn insert(&mut self, key: K, value: V) -> bool {
        let found = self.place(key);
        match found {
            Some(at) => self.rows[at] = Some((key, value)),
            None => _ = self.append(key, value),
        }
        found.is_none()
    }

    fn append(&mut self, key: K, value: V) -> usize {
        if self.rows.len() >= FEW && self.rows.len() >= 2 * self.len() {
            self.rows.retain(Option::is_some);
            self.index = None;
        }
        let at = self.rows.len();
        self.fill(at, key, value);
        at
    }

    /// Put a new key into a row that is not used.
    fn fill(&mut self, at: usize, key: K, value: V) {
        let row = Some((key, value));
        if at == self.rows.len() {
            self.rows.push(row);
        } else {
            self.rows[at] = row;
        }
        if self.rows.len() > FEW {
            self.list(at);
        }
    }

    /// Add a row to the index, or all rows that are used to a new one.
    fn list(&mut self, at: usize) {
        let hash_of = hash_in(&self.rows);
        if let Some(index) = &mut self.index {
            return index.add(at, hash_of(at), hash_of);
        }
        let mut index = Index::default();
        let used = (0..self.rows.len()).filter(|at| self.rows[*at].is_some());
        used.for_each(|at| index.add(at, hash_of(at), &hash_of));
        self.index = Some(Box::new(index));
    }

    /// The value of a key, which is new if there is none.
    pub fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.place(key).unwrap_or_else(|| self.append(key, V::default()));
        &mut self.rows[at].as_mut().expect("it is in").1
    }

    /// Keep no more memory than its rows need.
    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    pub fn remove(&mut self, key: K) -> Option<V> {
        self.place(key).map(|at| self.empty(at, key))
    }

    /// Empty the row of a key.
    fn empty(&mut self, at: usize, key: K) -> V {
        if let Some(index) = &mut self.index {
            index.remove(at, hash(&key), hash_in(&self.rows));
        }
        let row = self.rows[at].take().expect("it is in");
        if self.len() == 0 {
            self.clear();
        }
        row.1
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.index = None;
    }

    /// Remove the oldest entry.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let free = self.used().iter().take_while(|row| row.is_none()).count() as u32;
        if let Some(index) = &mut self.index {
            index.first += free;
        }
        let key = self.keys().next()?;
        self.remove(key).map(|value| (key, value))
    }

    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.used().iter().flatten().map(|row| (row.0, &row.1))
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut V)> {
        self.rows.iter_mut().flatten().map(|row| (row.0, &mut row.1))
    }
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.used().iter().flatten().map(|row| row.0)
    }
}

/// The place of a row of a hash map, for as long as its key is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(NonZeroU32);

impl Row {
    pub fn of(row: usize) -> Self {
        let number = u32::try_from(row + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 rows"))
    }
    fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Store for Row {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.get().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        NonZeroU32::new(u32::get(from)?).map(Self)
    }
}

/// A map in no order. A row stays where it is as long as its key is in, and is used again then.
#[derive(Clone, Debug)]
pub struct Hashed<K, V> {
    map: Map<K, V>,
    free: Vec<u32>,
}

impl<K, V> Default for Hashed<K, V> {
    fn default() -> Self {
        Self { map: Map::default(), free: Vec::new() }
    }
}

impl<K, V> std::ops::Deref for Hashed<K, V> {
    type Target = Map<K, V>;
    fn deref(&self) -> &Map<K, V> {
        &self.map
    }
}

impl<K: Key, V> Hashed<K, V> {
    /// The key and the value at a place.
    pub fn at(&self, row: Row) -> Option<&(K, V)> {
        self.rows.get(row.place())?.as_ref()
    }
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.map.get_mut(key)
    }

    /// Where the row of a key is, which is filled if there is none; true if it was.
    pub fn fill(&mut self, key: K, value: impl FnOnce() -> V) -> (usize, bool) {
        if let Some(at) = self.place(key) {
            return (at, false);
        }
        (self.add(key, value()), true)
    }

    /// Add a key that is not in; return where its row is.
    fn add(&mut self, key: K, value: V) -> usize {
        let at = self.free.pop().map_or(self.rows.len(), |row| row as usize);
        self.map.fill(at, key, value);
        at
    }

    /// The value of the row at a place.
    pub fn value(&mut self, at: usize) -> &mut V {
        &mut self.map.rows[at].as_mut().expect("it is in").1
    }

    pub fn insert(&mut self, key: K, value: V) {
        match self.place(key) {
            Some(at) => *self.value(at) = value,
            None => _ = self.add(key, value),
        }
    }

    /// The value of a key, which is new if there is none.
    pub fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.fill(key, V::default).0;
        self.value(at)
    }

    pub fn remove(&mut self, key: K) -> Option<V> {
        self.place(key).map(|at| self.empty(at, key))
    }

    /// Empty the row of a key.
    pub fn empty(&mut self, at: usize, key: K) -> V {
        let value = self.map.empty(at, key);
        self.free.push(at as u32);
        if self.is_empty() {
            self.free.clear();
        }
        value
    }
}

impl<K: Key, V: Store> Store for Hashed<K, V> {
    /// Rows keep their places.
    fn put(&self, out: &mut Vec<u8>) {
        self.rows.put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let mut made = Self::default();
        let rows: Vec<Option<(K, V)>> = Store::get(from)?;
        made.map.rows.resize_with(rows.len(), || None);
        for (at, row) in rows.into_iter().enumerate() {
            match row {
                Some((key, value)) => made.map.fill(at, key, value),
                None => made.free.push(at as u32),
            }
        }
        Some(made)
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        self.map.visit(found);
    }
}

impl<K: Key> Set<K> {
    pub fn add(&mut self, key: K) -> bool {
        self.insert(key, ())
    }
    pub fn extend(&mut self, keys: impl Iterator<Item = K>) {
        keys.for_each(|key| {
            self.insert(key, ());
        });
    }
}

impl<K: Key, V: Store> Store for Map<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        self.iter().for_each(|(key, value)| {
            key.put(out);
            value.put(out);
        });
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let mut made = Self::default();
        for _ in 0..usize::get(from)? {
            made.insert(K::get(from)?, V::get(from)?);
        }
        Some(made)
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        self.iter().for_each(|(key, value)| {
            key.visit(found);
            value.visit(found);
        });
    }
}
