//! Maps and sets that keep the order of insertion, and are small where they hold little.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::names::Name;
use crate::store::{Bytes, Store};

/// A hasher of keys that are small and not chosen by anybody.
#[derive(Default)]
pub struct Fast(u64);

impl Hasher for Fast {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
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
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// A hash map with that hasher.
pub type Hashed<K, V> = HashMap<K, V, BuildHasherDefault<Fast>>;

const FEW: usize = 8;

/// What maps are keyed by.
pub trait Key: Copy + Eq + Hash + Store {}
impl<K: Copy + Eq + Hash + Store> Key for K {}

/// A map that keeps the order of insertion; up to eight entries are looked through.
#[derive(Clone, Debug)]
pub struct Map<K, V> {
    rows: Vec<Option<(K, V)>>,
    places: Option<Box<Hashed<K, u32>>>,
    first: u32, // no row before this one is used
    count: u32,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { rows: Vec::new(), places: None, first: 0, count: 0 }
    }
}

/// A set that keeps the order of insertion.
pub type Set<K> = Map<K, ()>;

impl<K: Key, V> Map<K, V> {
    pub fn len(&self) -> usize {
        self.count as usize
    }
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn place(&self, key: K) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&key).map(|&at| at as usize),
            None => self.rows.iter().position(|row| row.as_ref().is_some_and(|r| r.0 == key)),
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
        if let Some(found) = self.get_mut(key) {
            *found = value;
            return false;
        }
        self.append(key, value);
        true
    }

    fn append(&mut self, key: K, value: V) {
        if self.rows.len() >= FEW && self.rows.len() >= 2 * self.len() {
            self.compact();
        }
        if let Some(places) = &mut self.places {
            places.insert(key, self.rows.len() as u32);
        } else if self.rows.len() >= FEW {
            let rows = self.rows.iter().enumerate();
            let mut places: Hashed<K, u32> =
                rows.filter_map(|(at, row)| Some((row.as_ref()?.0, at as u32))).collect();
            places.insert(key, self.rows.len() as u32);
            self.places = Some(Box::new(places));
        }
        self.rows.push(Some((key, value)));
        self.count += 1;
    }

    fn compact(&mut self) {
        self.rows.retain(Option::is_some);
        self.first = 0;
        if self.rows.len() < FEW {
            self.places = None;
        } else if let Some(places) = &mut self.places {
            let rows = self.rows.iter().enumerate();
            rows.for_each(|(at, row)| {
                row.iter().for_each(|row| {
                    places.insert(row.0, at as u32);
                })
            });
        }
    }

    /// The value of a key, which is new if there is none.
    pub fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        if !self.contains(key) {
            self.append(key, V::default());
        }
        self.get_mut(key).expect("it was inserted")
    }

    pub fn remove(&mut self, key: K) -> Option<V> {
        let at = self.place(key)?;
        if let Some(places) = &mut self.places {
            places.remove(&key);
        }
        self.count -= 1;
        let row = self.rows[at].take();
        if self.count == 0 {
            self.clear();
        }
        row.map(|row| row.1)
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.places = None;
        (self.first, self.count) = (0, 0);
    }

    /// Remove the oldest entry.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        while self.rows.get(self.first as usize).is_some_and(Option::is_none) {
            self.first += 1;
        }
        let key = self.rows.get(self.first as usize)?.as_ref()?.0;
        self.remove(key).map(|value| (key, value))
    }

    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.rows[self.first as usize..].iter().flatten().map(|row| (row.0, &row.1))
    }
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.rows[self.first as usize..].iter().flatten().map(|row| row.0)
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

/// A set of keys that mostly has one or none.
#[derive(Clone, Debug, Default)]
pub enum Few<K> {
    #[default]
    None,
    One(K),
    Many(Box<Set<K>>),
}

impl<K: Key> Few<K> {
    pub fn is_empty(&self) -> bool {
        matches!(self, Few::None)
    }
    pub fn contains(&self, key: K) -> bool {
        match self {
            Few::None => false,
            Few::One(one) => *one == key,
            Few::Many(many) => many.contains(key),
        }
    }
    pub fn add(&mut self, key: K) {
        match self {
            Few::None => *self = Few::One(key),
            Few::One(one) if *one != key => {
                let mut many = Box::<Set<K>>::default();
                many.extend([*one, key].into_iter());
                *self = Few::Many(many);
            }
            Few::One(_) => {}
            Few::Many(many) => {
                many.add(key);
            }
        }
    }
    pub fn remove(&mut self, key: K) {
        match self {
            Few::One(one) if *one == key => *self = Few::None,
            Few::Many(many) => {
                many.remove(key);
                if many.is_empty() {
                    *self = Few::None;
                }
            }
            _ => {}
        }
    }
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        let (one, many) = match self {
            Few::None => (None, None),
            Few::One(one) => (Some(*one), None),
            Few::Many(many) => (None, Some(many.keys())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl<K: Key> Store for Few<K> {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().collect::<Vec<_>>().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let mut made = Self::default();
        Vec::<K>::get(from)?.into_iter().for_each(|key| made.add(key));
        Some(made)
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        self.iter().for_each(|key| key.visit(found));
    }
}
