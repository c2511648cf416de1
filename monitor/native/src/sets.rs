//! Sets that mostly have one element.

use crate::map::{Hashed, Key, Row, Set};
use crate::names::Name;
use crate::store::{Bytes, Store};

/// Sets by the keys that have any, in no order. Most have one element: the others are apart.
#[derive(Clone, Debug)]
pub struct Sets<K, V> {
    first: Hashed<K, V>,
    more: Hashed<K, Set<V>>,
}

impl<K, V> Default for Sets<K, V> {
    fn default() -> Self {
        Self { first: Hashed::default(), more: Hashed::default() }
    }
}

impl<K: Key, V: Key> Sets<K, V> {
    /// How many keys have any.
    pub fn len(&self) -> usize {
        self.first.len()
    }
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
    /// Whether a key has any.
    pub fn contains(&self, key: K) -> bool {
        self.first.contains(key)
    }
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.first.keys()
    }
    /// The key whose row is at a place.
    pub fn at(&self, row: Row) -> Option<K> {
        self.first.at(row).map(|row| row.0)
    }
    pub fn has(&self, key: K, value: V) -> bool {
        self.of(key).any(|each| each == value)
    }

    /// The set of a key, in the order in which its elements came.
    pub fn of(&self, key: K) -> impl Iterator<Item = V> + '_ {
        self.all(self.first.get(key).map(|first| (key, *first)))
    }
    /// The set of the key whose row is at a place.
    pub fn of_row(&self, row: Row) -> impl Iterator<Item = V> + '_ {
        self.all(self.first.at(row).copied())
    }
    fn all(&self, first: Option<(K, V)>) -> impl Iterator<Item = V> + '_ {
        let more = first.filter(|_| !self.more.is_empty()).and_then(|row| self.more.get(row.0));
        first.map(|row| row.1).into_iter().chain(more.into_iter().flat_map(Set::keys))
    }

    /// Add to the set of a key; return where the row of the key is, and whether the key is new.
    pub fn add(&mut self, key: K, value: V) -> (Row, bool) {
        let (at, new) = self.first.fill(key, || value);
        if self.first.at(Row::of(at)).is_some_and(|row| row.1 != value) {
            self.more.entry(key).add(value);
        }
        (Row::of(at), new)
    }

    /// Remove from the set of a key; return whether it was the last.
    pub fn remove(&mut self, key: K, value: V) -> bool {
        let Some(at) = self.first.place(key) else { return false };
        let (first, more) = (self.first.value(at), self.more.get_mut(key));
        if *first != value {
            more.map(|more| more.remove(value));
        } else if let Some((next, ())) = more.and_then(Set::pop_first) {
            *first = next;
        } else {
            self.first.empty(at, key);
            return true;
        }
        if self.more.get(key).is_some_and(Set::is_empty) {
            self.more.remove(key);
        }
        false
    }

    /// Remove the set of a key.
    pub fn take(&mut self, key: K) -> Vec<V> {
        let all = self.of(key).collect();
        self.first.remove(key);
        self.more.remove(key);
        all
    }
}

impl<K: Key, V: Key> Store for Sets<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        self.first.put(out);
        self.more.put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Some(Self { first: Store::get(from)?, more: Store::get(from)? })
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        self.first.visit(found);
        self.more.visit(found);
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
