//! Writes state as bytes and reads it back, and visits the names in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::names::Name;

/// Bytes that are read from the front.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next so many bytes, if there are as many.
    pub fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }
}

/// State that a snapshot holds.
pub trait Store: Sized {
    /// Append it.
    fn put(&self, out: &mut Vec<u8>);
    /// Read it; None if the bytes are damaged.
    fn get(from: &mut Bytes) -> Option<Self>;
    /// Call a function with every name in it.
    fn visit(&self, _found: &mut dyn FnMut(Name)) {}
}

/// Declares a struct and stores its fields in their order.
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$meta])* $vis struct $name { $($(#[$doc])* pub $field: $kind),* }
        impl $crate::store::Store for $name {
            fn put(&self, out: &mut Vec<u8>) { $(self.$field.put(out);)* }
            fn get(from: &mut $crate::store::Bytes) -> Option<Self> {
                Some(Self { $($field: <$kind as $crate::store::Store>::get(from)?),* })
            }
            fn visit(&self, found: &mut dyn FnMut($crate::names::Name)) { $(self.$field.visit(found);)* }
        }
    };
}

macro_rules! whole {
    ($($kind:ty),*) => {$(impl Store for $kind {
        fn put(&self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_le_bytes()); }
        fn get(from: &mut Bytes) -> Option<Self> {
            Some(Self::from_le_bytes(from.take(size_of::<$kind>())?.try_into().ok()?))
        }
    })*};
}
whole!(u8, u16, u32, u64, i32, i64, i128);

/// A whole number or none, in eight bytes: the smallest stands for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maybe(i64);

impl Maybe {
    pub const NONE: Self = Self(i64::MIN);

    pub fn get(self) -> Option<i64> {
        Some(self.0).filter(|_| self != Self::NONE)
    }
}

impl Default for Maybe {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<Option<i64>> for Maybe {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::NONE, Self)
    }
}

impl Store for Maybe {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        i64::get(from).map(Self)
    }
}

impl Store for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Some(u8::get(from)? != 0)
    }
}

impl Store for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        u64::get(from)?.try_into().ok()
    }
}

impl Store for () {
    fn put(&self, _: &mut Vec<u8>) {}
    fn get(_: &mut Bytes) -> Option<Self> {
        Some(())
    }
}

impl Store for Rc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let length = usize::get(from)?;
        std::str::from_utf8(from.take(length)?).ok().map(Rc::from)
    }
}

impl Store for String {
    fn put(&self, out: &mut Vec<u8>) {
        Rc::<str>::from(self.as_str()).put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Some(Rc::<str>::get(from)?.to_string())
    }
}

impl<T: Store> Store for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Some(if bool::get(from)? { Some(T::get(from)?) } else { None })
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        self.iter().for_each(|each| each.visit(found));
    }
}

impl<T: Store> Store for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        T::get(from).map(Box::new)
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        (**self).visit(found);
    }
}

macro_rules! tuple {
    ($($name:ident $place:tt),*) => {impl<$($name: Store),*> Store for ($($name),*) {
        fn put(&self, out: &mut Vec<u8>) { $(self.$place.put(out);)* }
        fn get(from: &mut Bytes) -> Option<Self> { Some(($($name::get(from)?),*)) }
        fn visit(&self, found: &mut dyn FnMut(Name)) { $(self.$place.visit(found);)* }
    }};
}
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);

macro_rules! many {
    ($([$($bound:tt)*] $list:ty),*) => {$(impl<$($bound)*> Store for $list {
        fn put(&self, out: &mut Vec<u8>) {
            self.len().put(out);
            self.iter().for_each(|each| each.put(out));
        }
        fn get(from: &mut Bytes) -> Option<Self> {
            (0..usize::get(from)?).map(|_| T::get(from)).collect()
        }
        fn visit(&self, found: &mut dyn FnMut(Name)) {
            self.iter().for_each(|each| each.visit(found));
        }
    })*};
}
many!(
    [T: Store] Vec<T>,
    [T: Store] Box<[T]>,
    [T: Store] VecDeque<T>,
    [T: Store + Ord] BTreeSet<T>
);

impl<K: Store + Ord, V: Store> Store for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        self.iter().for_each(|(key, value)| {
            key.put(out);
            value.put(out);
        });
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        (0..usize::get(from)?).map(|_| <(K, V)>::get(from)).collect()
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        self.iter().for_each(|(key, value)| {
            key.visit(found);
            value.visit(found);
        });
    }
}
