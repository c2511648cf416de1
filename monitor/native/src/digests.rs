//! Remembers texts by digests of 50 bits, in the order in which they came.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use crate::record;

const BUCKETS: usize = 1 << 10;
const KEPT: usize = 5; // bytes of a digest that a bucket keeps; the bucket itself is the rest
const GROWN: usize = 8; // digests by which a bucket grows

record! {
    /// The digests are keyed by two random numbers, so nobody can choose texts that collide. A text
    /// that never came is taken for one of n with a probability of n / 2^50. `order` has the bucket
    /// of each digest, the oldest first; each bucket keeps its own in that order, too.
    pub struct Digests {
        keys: (u64, u64),
        buckets: Vec<Vec<u8>>,
        order: VecDeque<u16>,
    }
}

impl Default for Digests {
    fn default() -> Self {
        let random = RandomState::new();
        let keys = (random.hash_one(0u8), random.hash_one(1u8));
        Self { keys, buckets: Vec::new(), order: VecDeque::new() }
    }
}

impl Digests {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether this text came, or one with the same digest.
    pub fn contains(&self, text: &[u8]) -> bool {
        let (bucket, kept) = self.digest(text);
        self.buckets.get(bucket).is_some_and(|all| all.chunks_exact(KEPT).any(|each| each == kept))
    }

    /// Remember a text; one that came before keeps its place.
    pub fn add(&mut self, text: &[u8]) {
        if self.contains(text) {
            return;
        }
        let (bucket, kept) = self.digest(text);
        self.buckets.resize_with(BUCKETS, Vec::new);
        let all = &mut self.buckets[bucket];
        if all.len() == all.capacity() {
            all.reserve_exact(GROWN * KEPT);
        }
        all.extend_from_slice(&kept);
        self.order.push_back(bucket as u16);
    }

    /// Forget the text that came first.
    pub fn pop_first(&mut self) {
        let Some(bucket) = self.order.pop_front() else { return };
        if let Some(all) = self.buckets.get_mut(usize::from(bucket)) {
            all.drain(..KEPT.min(all.len()));
        }
    }

    pub fn clear(&mut self) {
        *self = Self { keys: self.keys, buckets: Vec::new(), order: VecDeque::new() };
    }

    /// The bucket of a text, and what is kept there.
    #[allow(deprecated)] // the only hash of the standard library that takes its keys
    fn digest(&self, text: &[u8]) -> (usize, [u8; KEPT]) {
        use std::hash::{Hasher, SipHasher};
        let mut hasher = SipHasher::new_with_keys(self.keys.0, self.keys.1);
        hasher.write(text);
        let bytes = hasher.finish().to_le_bytes();
        let bucket = usize::from(u16::from_le_bytes([bytes[0], bytes[1]])) % BUCKETS;
        (bucket, [bytes[2], bytes[3], bytes[4], bytes[5], bytes[6]])
    }
}
