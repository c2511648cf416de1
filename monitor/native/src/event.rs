//! The canonical events and marks, and the strict reader of their lines.

use std::borrow::Cow;

use crate::json::{Cursor, Read};
use crate::map::Index;
use crate::names::{hash, Name, Names};
use crate::store::{Bytes, Store};
use crate::tables::Tables;
use crate::texts::{Duration, Predicate};

/// The number of a kind of event in the table.
pub type Kind = u8;

/// A set of kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Kinds(pub u64);

impl Kinds {
    pub const fn of(kinds: &[Kind]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < kinds.len() {
            set |= 1 << kinds[at];
            at += 1;
        }
        Self(set)
    }
    pub fn has(self, kind: Kind) -> bool {
        self.0 >> kind & 1 == 1
    }
    pub fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}

impl Store for Kinds {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        u64::get(from).map(Self)
    }
}

macro_rules! kinds {
    ($($constant:ident $name:literal),* $(,)?) => {
        /// The names of the kinds that the judge knows by name.
        pub const KINDS: &[&str] = &[$($name),*];
        kinds!(@ 0, $($constant)*);
    };
    (@ $number:expr, $first:ident $($rest:ident)*) => {
        pub const $first: Kind = $number;
        kinds!(@ $number + 1, $($rest)*);
    };
    (@ $number:expr,) => {};
}
kinds! {
    CLAIM_REGISTERED "claim_registered", CLAIM_COMMITTED "claim_committed",
    CLAIM_RETIRED "claim_retired", DURATION_ELAPSED "duration_elapsed",
    BLOCK_CACHED "block_cached", BLOCK_EVICTED "block_evicted", BLOCK_LOST "block_lost",
    STORE_FINISHED "store_finished", HOST_COPY_FOUND "host_copy_found",
    HOST_COPY_LOST "host_copy_lost", LOAD_FINISHED "load_finished", LOAD_FAILED "load_failed",
    REQUEST_ARRIVED "request_arrived", PREFIX_LOOKUP "prefix_lookup",
    PREFIX_REUSED "prefix_reused", REQUEST_ROUTED "request_routed", REUSE_SERVED "reuse_served",
    REQUEST_FINISHED "request_finished", CLAIM_ACCEPTED "claim_accepted",
    CLAIM_REJECTED "claim_rejected", CLAIM_OFFLOADED "claim_offloaded",
    CLAIM_RESTORE_REQUIRED "claim_restore_required",
    CLAIM_RESTORED "claim_restored", CLAIM_DEMOTED "claim_demoted", CLAIM_EXPIRED "claim_expired",
    CLAIM_BLOCK_LOST "claim_block_lost", REQUEST_REFUSED "request_refused",
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Opened,
    Closed,
    Restated,
}

impl Mark {
    pub fn named(name: &[u8]) -> Read<Self> {
        Some(match name {
            b"stream_opened" => Mark::Opened,
            b"stream_closed" => Mark::Closed,
            b"stream_restated" => Mark::Restated,
            _ => return None,
        })
    }
}

const BLOCKS: i64 = 1 << 53;
/// The most positions that a block of a group covers.
const SPAN: i64 = 1024;
const PROOF: [&str; 5] = ["resident", "active", "total", "usable", "shortfall"];

/// What the value of a field is read from. `recent` is the name that the field had last, if its text
/// had no escape; `likely` is the kind that came last after the kind of the event before.
struct Source<'a, 'b> {
    cursor: &'a mut Cursor<'b>,
    names: &'a mut Names,
    recent: &'a mut Option<Name>,
    likely: &'a mut Kind,
}

/// Declares the fields of an event besides its kind, each with the function that reads it.
macro_rules! fields {
    ($($field:ident: $kind:ty = $read:expr),* $(,)?) => {
        /// One fact or report.
        #[derive(Clone, Default)]
        pub struct Event { pub kind: Kind, $(pub $field: $kind),* }

        /// The names of fields, by which the reader numbers them.
        pub const FIELDS: &[&str] = &["kind", $(stringify!($field)),*];

        /// The same as they mostly lie in a line.
        const KEYS: &[&str] = &["\"kind\":", $(concat!("\"", stringify!($field), "\":")),*];

        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        enum Field { kind, $($field),* }

        const ALL: [Field; FIELDS.len()] = [Field::kind, $(Field::$field),*];

        impl Event {
            /// Set all fields to their defaults; lists keep their memory.
            fn clear(&mut self) {
                self.kind = Kind::default();
                $(self.$field.clear();)*
            }

            /// Read a field; return whether it is other than by default.
            fn read(&mut self, field: Field, from: &mut Source, tables: &Tables) -> Read<bool> {
                match field {
                    Field::kind => self.kind = from.kind(tables)?,
                    $(Field::$field => {
                        let read: fn(&mut $kind, &mut Source) -> Read<()> = $read;
                        read(&mut self.$field, from)?;
                        return Some(self.$field != <$kind>::default());
                    })*
                }
                Some(true)
            }
        }
    };
}
fields! {
    stream: Option<Name> = |slot, from| Some(*slot = from.name()?),
    sequence: Option<i64> = |slot, from| within(slot, from, 0),
    time_ns: Option<i64> = |slot, from| within(slot, from, 0),
    claim_id: Option<Name> = name,
    request_id: Option<Name> = name,
    cache_identity: Option<Name> = name,
    object_id: Option<Name> = name,
    predicate: Option<Predicate> = |slot, from| parsed(slot, from, Predicate::parse),
    predicate_id: Option<Name> = name,
    token_map: Option<Name> = name,
    mode: Option<Name> = name,
    owner_scope: Option<Name> = name,
    by: Option<Name> = name,
    duration: Option<Duration> = |slot, from| parsed(slot, from, Duration::parse),
    priority: Option<i64> = |slot, from| within(slot, from, -i64::MAX),
    footprint: Option<i64> = blocks,
    block_ids: Vec<Name> = ids,
    positions: Vec<u64> = |slot, from| {
        from.cursor.array(|cursor| Some(slot.push(number(cursor, 0, BLOCKS)?? as u64)))
    },
    lowest_priority: Option<i128> = |slot, from| {
        *slot = if from.cursor.null()? { None } else { Some(from.cursor.integer()?) };
        Some(())
    },
    found: bool = flag,
    keys: Vec<Name> = ids,
    content_keys: Vec<Name> = texts,
    tier: Option<Name> = name,
    group: Option<u64> = |slot, from| {
        *slot = number(from.cursor, 0, BLOCKS)?.map(|number| number as u64);
        Some(())
    },
    held: Option<i64> = blocks,
    asked: Option<i64> = blocks,
    needed: Option<i64> = blocks,
    usable: Option<i64> = blocks,
    blocking_claim_ids: Option<Vec<Name>> = |slot, from| match from.cursor.null()? {
        true => Some(()),
        false => texts(slot.get_or_insert_default(), from),
    },
    proof: Option<[i64; 5]> = sums,
    reason: Option<Name> = name,
    capacity: Option<[i64; 5]> = sums,
    restore: bool = flag,
    outcome: Option<Name> = name,
    outcome_claim_id: Option<Name> = name,
    duplicate: bool = flag,
    echo: bool = flag,
    from_tier: bool = flag,
    restated: bool = flag,
    cost: Option<i64> = blocks,
    worker: Option<Name> = name,
    hit: Option<bool> = |slot, from| {
        *slot = if from.cursor.null()? { None } else { Some(from.cursor.boolean()?) };
        Some(())
    },
}

impl Event {
    pub fn repeats(&self) -> bool {
        self.duplicate || self.echo
    }

    /// Whether it reports a demotion: an offload with a caller ends responsibility as well.
    pub fn demotes(&self) -> bool {
        self.kind == CLAIM_DEMOTED || self.kind == CLAIM_OFFLOADED && self.by.is_some()
    }
}

crate::record! {
    /// A group of caches: which blocks of it a hit needs, all or the last so many. A block covers
    /// `span` positions, and is at the last of them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Group { full: bool, window: i64, span: i64 }
}

/// The window of a group of states, of which a hit needs the last one.
const STATE: i64 = -1;

impl Group {
    /// The positions that a hit on positions `start` to `end` needs in this group.
    pub fn needs(&self, start: i64, end: i64) -> impl Iterator<Item = i64> {
        let stop = if self.full { end } else { end - end % self.span };
        (self.first(start, end)..stop).step_by(self.span as usize)
    }

    /// The first of these positions, if there is one.
    pub fn first(&self, start: i64, end: i64) -> i64 {
        let first = start + (-(start + 1)).rem_euclid(self.span);
        if self.full {
            return first;
        }
        let blocks = if self.window == STATE { 1 } else { self.window }.saturating_mul(self.span);
        first.max((end - end % self.span).saturating_sub(blocks) + self.span - 1)
    }

    /// Whether whole blocks cover the positions before this one.
    pub fn ends(&self, end: i64) -> bool {
        end % self.span == 0
    }
}

/// A value that can be set to its default in its place. Lists and texts have the method already.
trait Clear {
    fn clear(&mut self);
}
impl<T> Clear for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }
}
impl Clear for bool {
    fn clear(&mut self) {
        *self = false;
    }
}

/// Reads lines into one event, which it uses again.
pub struct Reader {
    pub event: Event,
    given: u64, // fields that the line has
    other: u64, // those that are other than their default
    fields: Index,
    /// The name that each field had last, if its text had no escape.
    recent: [Option<Name>; FIELDS.len()],
    /// For each kind, the field that came last after each, and the one that came first.
    next: [[Field; FIELDS.len() + 1]; MOST],
    /// For each kind, the one of the event that came last after it.
    likely: [Kind; MOST],
}

/// So many kinds have numbers.
const MOST: usize = Kind::MAX as usize + 1;

impl Default for Reader {
    fn default() -> Self {
        let (recent, next) = ([None; FIELDS.len()], [[Field::kind; FIELDS.len() + 1]; MOST]);
        let (mut fields, hash_of) = (Index::default(), |at: usize| hash(FIELDS[at].as_bytes(), 0));
        (0..FIELDS.len()).for_each(|at| fields.add(at, hash_of(at), hash_of));
        let (event, likely) = (Event::default(), [Kind::default(); MOST]);
        Self { event, given: 0, other: 0, fields, recent, next, likely }
    }
}

impl Reader {
    /// Read a line; None if the reader in Python is to take it, or to say what is wrong with it.
    pub fn line(&mut self, cursor: &mut Cursor, names: &mut Names, tables: &Tables) -> Read<()> {
        self.read(cursor, names, tables, true)?;
        cursor.end()
    }

    /// Read the event at a place of a text.
    pub fn read(
        &mut self, cursor: &mut Cursor, names: &mut Names, tables: &Tables, strict: bool,
    ) -> Read<()> {
        let likely = &mut self.likely[usize::from(self.event.kind)];
        self.event.clear();
        (self.given, self.other) = (0, 0);
        let mut last = FIELDS.len(); // of none
        cursor.object(|cursor| {
            let next = &mut self.next[usize::from(self.event.kind)][last];
            let mut field = *next;
            if !cursor.skip(KEYS[field as usize].as_bytes()) {
                let key = cursor.key()?;
                let is_key = |at: usize| FIELDS[at].as_bytes() == key;
                field = ALL[self.fields.find(hash(key, 0), is_key)?];
                *next = field;
            }
            last = field as usize;
            let bit = 1 << field as u8;
            (self.given & bit == 0).then(|| self.given |= bit)?;
            let recent = &mut self.recent[field as usize];
            let from = &mut Source { cursor, names, recent, likely };
            if self.event.read(field, from, tables)? {
                self.other |= bit;
            }
            Some(())
        })?;
        (self.given & 1 == 1).then_some(())?; // the kind
        if self.event.keys.is_empty() {
            std::mem::swap(&mut self.event.keys, &mut self.event.content_keys);
        }
        if strict {
            self.check(tables)?;
        }
        Some(())
    }

    /// The names that there were may not be there any more.
    pub fn forget(&mut self) {
        self.recent = [None; FIELDS.len()];
    }

    /// What the form cannot state: `monitor.input.dialects.canonical`.
    fn check(&self, tables: &Tables) -> Read<()> {
        let event = &self.event;
        let kind = &tables.kinds[usize::from(event.kind)];
        let some = kind.one_of == 0 || kind.one_of & self.other != 0;
        let fine = some && kind.required & !self.other == 0 && kind.strange & self.other == 0;
        let mode = event.mode.is_none_or(|mode| tables.mode_named(mode).is_some());
        let about = event.claim_id.is_some() || event.object_id.is_some();
        let caches = event.kind == BLOCK_CACHED && about && event.keys.is_empty();
        let blocks = event.block_ids.len();
        let placed = !event.positions.is_empty() || caches;
        let keyed = tables.sets.facts.has(event.kind) && blocks > 0 && !event.keys.is_empty();
        let matched =
            (!placed || event.positions.len() == blocks) && (!keyed || event.keys.len() == blocks);
        (fine && mode && matched && once(&event.block_ids) && once(&event.positions)).then_some(())
    }
}

fn once<T: Ord + Copy>(values: &[T]) -> bool {
    if values.len() <= 16 {
        return (1..values.len()).all(|at| !values[..at].contains(&values[at]));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

fn number(cursor: &mut Cursor, least: i64, most: i64) -> Read<Option<i64>> {
    if cursor.null()? {
        return Some(None);
    }
    let value = cursor.whole()?;
    (least <= value && value <= most).then_some(Some(value))
}

fn within(slot: &mut Option<i64>, from: &mut Source, least: i64) -> Read<()> {
    *slot = number(from.cursor, least, i64::MAX)?;
    Some(())
}

fn blocks(slot: &mut Option<i64>, from: &mut Source) -> Read<()> {
    *slot = number(from.cursor, 0, BLOCKS)?;
    Some(())
}

fn flag(slot: &mut bool, from: &mut Source) -> Read<()> {
    *slot = from.cursor.boolean()?;
    Some(())
}

fn parsed<T>(
    slot: &mut Option<T>, from: &mut Source, parse: impl FnOnce(&str) -> Option<T>,
) -> Read<()> {
    if !from.cursor.null()? {
        *slot = Some(parse(std::str::from_utf8(&from.cursor.string()?).ok()?)?);
    }
    Some(())
}

/// The sums of a capacity proof.
fn sums(slot: &mut Option<[i64; 5]>, from: &mut Source) -> Read<()> {
    if from.cursor.null()? {
        return Some(());
    }
    let mut sums = [None; 5];
    from.cursor.object(|cursor| {
        let key = cursor.key()?;
        let at = PROOF.iter().position(|each| each.as_bytes() == key)?;
        let value = number(cursor, 0, BLOCKS)??;
        sums[at].replace(value).is_none().then_some(())
    })?;
    let [a, b, c, d, e] = sums;
    *slot = Some([a?, b?, c?, d?, e?]);
    Some(())
}

/// The name of a text of at most 1024 characters; None if it is empty.
fn named(text: &[u8], names: &mut Names) -> Read<Option<Name>> {
    let characters = || text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    (text.len() <= 1024 || characters() <= 1024).then_some(())?;
    Some((!text.is_empty()).then(|| names.intern(text)))
}

impl Source<'_, '_> {
    fn kind(&mut self, tables: &Tables) -> Read<Kind> {
        let likely = tables.kinds.get(usize::from(*self.likely));
        if !likely.is_some_and(|kind| self.cursor.same(kind.name.as_bytes())) {
            *self.likely = tables.kind(&self.cursor.string()?)?;
        }
        Some(*self.likely)
    }

    /// The name of a text, or None if it is empty.
    fn name(&mut self) -> Read<Option<Name>> {
        match *self.recent {
            Some(name) if self.cursor.same(self.names.bytes(name)) => Some(Some(name)),
            _ => self.other_name(),
        }
    }

    #[inline(never)]
    fn other_name(&mut self) -> Read<Option<Name>> {
        let text = self.cursor.string()?;
        let name = named(&text, self.names)?;
        if let Cow::Borrowed(_) = text {
            *self.recent = name;
        }
        Some(name)
    }
}

fn name(slot: &mut Option<Name>, from: &mut Source) -> Read<()> {
    if !from.cursor.null()? {
        *slot = Some(from.name()??);
    }
    Some(())
}

fn texts(slot: &mut Vec<Name>, from: &mut Source) -> Read<()> {
    from.cursor.array(|cursor| Some(slot.push(named(&cursor.string()?, from.names)??)))
}

fn ids(slot: &mut Vec<Name>, from: &mut Source) -> Read<()> {
    from.cursor.array(|cursor| {
        if cursor.peek()? == b'"' {
            slot.push(named(&cursor.string()?, from.names)??);
        } else {
            slot.push(from.names.digits(cursor.digits()?));
        }
        Some(())
    })
}

/// A group of caches: its number, its kind, its window, and the positions of a block.
pub fn group(cursor: &mut Cursor) -> Read<(u64, Group)> {
    let (mut at, mut kind, mut window, mut span) = (0, String::new(), 0, 1);
    cursor.object(|cursor| {
        match cursor.key()? {
            b"group" => at = number(cursor, 0, BLOCKS)??,
            b"kind" => kind = cursor.text()?,
            b"window" => window = number(cursor, 0, BLOCKS)?.unwrap_or(0),
            _ => span = number(cursor, 1, SPAN)?.unwrap_or(1),
        }
        Some(())
    })?;
    let window = if kind == "state" { STATE } else { window };
    Some((at as u64, Group { full: kind == "full", window, span }))
}
