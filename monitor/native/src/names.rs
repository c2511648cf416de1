//! Interns texts and large numbers: a name is a number of 32 bits. Names that nothing holds are
//! freed from time to time.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;

use crate::map::{fold, Index};
use crate::store::{Bytes, Store};

/// A text, or a whole number. Numbers below 2^31 are in the name itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(NonZeroU32);

const NUMBER: u32 = 1 << 31;
const MARK: u8 = 0xff; // begins the digits of a number that is interned; no UTF-8 has it
const FEW: usize = 1 << 12; // names that are not swept

impl Name {
    fn of(raw: u32) -> Self {
        Self(NonZeroU32::new(raw).expect("a name is never 0"))
    }
    /// The number that stands for it where 0 stands for none.
    pub fn raw(self) -> u32 {
        self.0.get()
    }
    /// The name that `raw` stands for; None for 0.
    pub fn from_raw(raw: u32) -> Option<Self> {
        NonZeroU32::new(raw).map(Self)
    }
}

impl Store for Name {
    fn put(&self, out: &mut Vec<u8>) {
        self.raw().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Self::from_raw(u32::get(from)?)
    }
    fn visit(&self, found: &mut dyn FnMut(Name)) {
        found(*self);
    }
}

/// The texts of names, one after another, with an index to find them by.
pub struct Names {
    bytes: Vec<u8>,
    texts: Vec<Option<Text>>,
    index: Index,
    free: Vec<u32>,
    fixed: usize,
    sweep_at: usize,
    seed: u64,
}

/// Where the text of a name is, in two numbers that need no padding.
#[derive(Clone, Copy)]
struct Text {
    length: NonZeroU32,
    start: [u32; 2],
}

impl Text {
    fn of(bytes: &[u8], all: &mut Vec<u8>) -> Self {
        let start = all.len() as u64;
        all.extend_from_slice(bytes);
        let length = u32::try_from(bytes.len() + 1).ok().and_then(NonZeroU32::new);
        let length = length.expect("a text is shorter than 4 GiB");
        Self { length, start: [start as u32, (start >> 32) as u32] }
    }
    fn place(self) -> std::ops::Range<usize> {
        let start = (u64::from(self.start[1]) << 32 | u64::from(self.start[0])) as usize;
        start..start + self.length.get() as usize - 1
    }
}

impl Default for Names {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            texts: vec![None],
            index: Index::default(),
            free: Vec::new(),
            fixed: 1,
            sweep_at: FEW,
            seed: RandomState::new().hash_one(0u8),
        }
    }
}

/// A fast hash of bytes.
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk() {
        state = fold(state ^ u64::from_le_bytes(*word), 0x2d35_8dcc_aa6c_78a5);
        rest = after;
    }
    let last = match bytes.last_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    fold(state ^ last, 0x8bb8_4b93_962e_acc9)
}

impl Names {
    /// The name of a text.
    pub fn text(&mut self, text: &str) -> Name {
        self.intern(text.as_bytes())
    }

    /// The name of a whole number, of which the decimal digits are given without zeros in front.
    pub fn digits(&mut self, digits: &[u8]) -> Name {
        if digits.len() < 10 {
            return self.number(digits.iter().fold(0, |n, d| 10 * n + u64::from(d - b'0')));
        }
        let marked = [&[MARK], digits].concat();
        self.intern(&marked)
    }

    /// The name of a whole number.
    pub fn number(&mut self, number: u64) -> Name {
        match u32::try_from(number) {
            Ok(small) if number < 1_000_000_000 => Name::of(NUMBER | small),
            _ => self.digits(number.to_string().as_bytes()),
        }
    }

    /// The number that a name of a number has; 2^64 - 1 for larger ones.
    pub fn value(&self, name: Name) -> u64 {
        if name.raw() & NUMBER != 0 {
            return u64::from(name.raw() & !NUMBER);
        }
        std::str::from_utf8(&self.bytes(name)[1..]).map_or(0, |t| t.parse().unwrap_or(u64::MAX))
    }

    /// The text of a name, or the digits of a number.
    pub fn show(&self, name: Name) -> String {
        if name.raw() & NUMBER != 0 {
            return (name.raw() & !NUMBER).to_string();
        }
        let bytes = self.bytes(name);
        let plain = if bytes.first() == Some(&MARK) { &bytes[1..] } else { bytes };
        String::from_utf8_lossy(plain).into_owned()
    }

    /// Whether it names the tier of the GPU.
    pub fn is_gpu(&self, tier: Name) -> bool {
        self.with(tier, |text| text.eq_ignore_ascii_case(b"gpu"))
    }

    /// Call a function with the bytes of a text.
    pub fn with<T>(&self, name: Name, work: impl FnOnce(&[u8]) -> T) -> T {
        if name.raw() & NUMBER != 0 {
            work(self.show(name).as_bytes())
        } else {
            work(self.bytes(name))
        }
    }

    /// Keep all names that there are now.
    pub fn fix(&mut self) {
        self.fixed = self.texts.len();
    }

    /// The bytes of a text; none for what is no name any more.
    pub fn bytes(&self, name: Name) -> &[u8] {
        let text = self.texts.get(name.raw() as usize).copied().flatten();
        text.map_or(&[], |text| &self.bytes[text.place()])
    }

    /// The hash of the text of a row.
    fn hash_in<'a>(
        texts: &'a [Option<Text>], bytes: &'a [u8], seed: u64,
    ) -> impl Fn(usize) -> u64 + 'a {
        move |row| texts[row].map_or(0, |text| hash(&bytes[text.place()], seed))
    }

    /// The name of a text in UTF-8.
    pub fn intern(&mut self, bytes: &[u8]) -> Name {
        let hash = hash(bytes, self.seed);
        let found = self.index.find(hash, |row| self.bytes(Name::of(row as u32)) == bytes);
        if let Some(row) = found {
            return Name::of(row as u32);
        }
        let row = self.free.pop().unwrap_or_else(|| {
            self.texts.push(None);
            self.texts.len() as u32 - 1
        });
        assert!(row < NUMBER, "too many names");
        self.texts[row as usize] = Some(Text::of(bytes, &mut self.bytes));
        self.index.add(row as usize, hash, Self::hash_in(&self.texts, &self.bytes, self.seed));
        Name::of(row)
    }

    /// Whether many names were made since the last sweep.
    pub fn is_full(&self) -> bool {
        self.texts.len() - self.free.len() > self.sweep_at
    }

    /// Free every name that `visit` does not call its argument with.
    pub fn sweep(&mut self, visit: impl FnOnce(&mut dyn FnMut(Name))) {
        let mut held = vec![false; self.texts.len()];
        held[..self.fixed].fill(true);
        visit(&mut |name| {
            if name.raw() & NUMBER == 0 {
                held[name.raw() as usize] = true;
            }
        });
        for (text, _) in self.texts.iter_mut().zip(held).filter(|row| !row.1) {
            *text = None;
        }
        self.rebuild();
        self.sweep_at = (2 * (self.texts.len() - self.free.len())).max(FEW);
    }

    /// Keep the bytes of the texts alone, and index them.
    fn rebuild(&mut self) {
        let old = std::mem::take(&mut self.bytes);
        let used = self.texts.iter_mut().flatten();
        used.for_each(|text| *text = Text::of(&old[text.place()], &mut self.bytes));
        self.index = Index::default();
        self.free.clear();
        for row in 1..self.texts.len() {
            let hash_of = Self::hash_in(&self.texts, &self.bytes, self.seed);
            match self.texts[row] {
                Some(_) => self.index.add(row, hash_of(row), hash_of),
                None => self.free.push(row as u32),
            }
        }
    }
}

impl Store for Names {
    fn put(&self, out: &mut Vec<u8>) {
        (self.fixed, self.sweep_at).put(out);
        self.texts.len().put(out);
        for text in &self.texts {
            text.map(|text| self.bytes[text.place()].to_vec()).put(out);
        }
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let (fixed, sweep_at) = <(usize, usize)>::get(from)?;
        let mut made = Self { texts: Vec::new(), fixed, sweep_at, ..Self::default() };
        for _ in 0..usize::get(from)? {
            let text: Option<Vec<u8>> = Store::get(from)?;
            made.texts.push(text.map(|text| Text::of(&text, &mut made.bytes)));
        }
        (1..=made.texts.len()).contains(&fixed).then(|| made.rebuild())?;
        Some(made)
    }
}
