//! The canonical events and marks, and the strict reader of their lines.

use crate::json::{Cursor, Read};
use crate::names::{Name, Names};
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

/// One fact or report. `names` are its texts, in the order of `TEXTS`.
#[derive(Clone, Default)]
pub struct Event {
    pub kind: Kind,
    pub sequence: Option<i64>,
    pub time_ns: Option<i64>,
    pub claim_id: Option<Name>,
    pub request_id: Option<Name>,
    pub cache_identity: Option<Name>,
    pub object_id: Option<Name>,
    pub predicate: Option<Predicate>,
    pub predicate_id: Option<Name>,
    pub token_map: Option<Name>,
    pub mode: Option<Name>,
    pub owner_scope: Option<Name>,
    pub by: Option<Name>,
    pub duration: Option<Duration>,
    pub priority: Option<i64>,
    pub footprint: Option<i64>,
    pub block_ids: Vec<Name>,
    pub positions: Vec<u64>,
    pub lowest_priority: Option<i128>,
    pub found: bool,
    pub keys: Vec<Name>,
    pub tier: Option<Name>,
    pub group: Option<u64>,
    pub held: Option<i64>,
    pub asked: Option<i64>,
    pub needed: Option<i64>,
    pub usable: Option<i64>,
    pub blocking: Option<Vec<Name>>,
    pub proof: Option<[i64; 5]>,
    pub restore: bool,
    pub outcome: Option<Name>,
    pub outcome_claim_id: Option<Name>,
    pub duplicate: bool,
    pub echo: bool,
    pub from_tier: bool,
    pub restated: bool,
    pub cost: Option<i64>,
    pub worker: Option<Name>,
    pub hit: Option<bool>,
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

/// A line of a stream that is a mark and no event.
#[derive(Clone, Debug)]
pub struct StreamMark {
    pub kind: Mark,
    pub observes: Option<Kinds>,
    pub groups: Vec<(u64, Group)>,
    /// It opens one of several ranks, which are merged before they are judged.
    pub ranked: bool,
}

crate::record! {
    /// A group of caches: which blocks of it a hit needs, all or the last so many.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Group { full: bool, window: i64 }
}

/// What a line holds, besides its place.
pub enum Held {
    Event,
    Mark(StreamMark),
}

const BLOCKS: i128 = 1 << 53;
const PROOF: [&str; 5] = ["resident", "active", "total", "usable", "shortfall"];

macro_rules! fields {
    ($($constant:ident $name:literal),* $(,)?) => {
        /// Fields as the reader numbers them, by which it notes which a line has.
        pub const FIELDS: &[&str] = &[$($name),*];

        /// The place of a field.
        pub fn field(name: &str) -> Option<u8> {
            Some(match name {
                $($name => place::$constant,)*
                _ => return None,
            })
        }

        fields!(@ 0, $($constant)*);
    };
    (@ $number:expr, $($constant:ident)*) => {
        mod place {
            fields!(# 0, $($constant)*);
        }
    };
    (# $number:expr, $first:ident $($rest:ident)*) => {
        pub const $first: u8 = $number;
        fields!(# $number + 1, $($rest)*);
    };
    (# $number:expr,) => {};
}
fields! {
    KIND "kind", STREAM "stream", SEQUENCE "sequence", TIME_NS "time_ns", CLAIM_ID
    "claim_id", REQUEST_ID "request_id", CACHE_IDENTITY "cache_identity", OBJECT_ID
    "object_id", PREDICATE "predicate", PREDICATE_ID "predicate_id", TOKEN_MAP
    "token_map", MODE "mode", OWNER_SCOPE "owner_scope", BY "by", DURATION "duration",
    PRIORITY "priority", FOOTPRINT "footprint", BLOCK_IDS "block_ids", POSITIONS
    "positions", LOWEST_PRIORITY "lowest_priority", FOUND "found", KEYS "keys",
    CONTENT_KEYS "content_keys", TIER "tier", GROUP "group", HELD "held", ASKED "asked",
    NEEDED "needed", USABLE "usable", BLOCKING_CLAIM_IDS "blocking_claim_ids", PROOF
    "proof", RESTORE "restore", OUTCOME "outcome", OUTCOME_CLAIM_ID "outcome_claim_id",
    DUPLICATE "duplicate", ECHO "echo", FROM_TIER "from_tier", RESTATED "restated", COST
    "cost", WORKER "worker", HIT "hit", REASON "reason", CAPACITY "capacity", OBSERVES "observes", RANK "rank", RANKS "ranks",
    ENGINE "engine", GROUPS "groups",
}
const OF_MARKS: &[&str] =
    &["kind", "stream", "sequence", "time_ns", "observes", "rank", "ranks", "engine", "groups"];

/// Reads lines into one event, which it uses again.
#[derive(Default)]
pub struct Reader {
    pub event: Event,
    pub stream: String,
    kind: Option<usize>, // kinds first, then marks
    keys: Vec<Name>,
    old_keys: Vec<Name>,
    observes: Option<Vec<Option<Kind>>>,
    groups: Vec<(u64, Group)>,
    rank: Option<i128>,
    ranks: Option<i128>,
    engine: bool,
    given: u64, // fields that the line has
    other: u64, // those that are other than their default
}

impl Reader {
    /// The event or mark of a line; None if the reader in Python is to say what is wrong with it.
    pub fn line(&mut self, text: &str, names: &mut Names, tables: &Tables) -> Read<Held> {
        let mut cursor = Cursor::new(text);
        let held = self.read(&mut cursor, names, tables, true)?;
        cursor.is_at_end().then_some(held)
    }

    /// The event or mark at a place of a text.
    pub fn read(
        &mut self, cursor: &mut Cursor, names: &mut Names, tables: &Tables, strict: bool,
    ) -> Read<Held> {
        self.clear();
        cursor.object(|cursor, key| {
            let place = field(key)?;
            let bit = 1 << place;
            (self.given & bit == 0).then(|| self.given |= bit)?;
            if !self.value(place, cursor, names, tables)? {
                self.other |= bit;
            }
            Some(())
        })?;
        let kind = self.kind?;
        if let Some(mark) = kind.checked_sub(tables.kinds.len()) {
            return self.mark(mark, tables).map(Held::Mark);
        }
        (self.given & !tables.of_events == 0).then_some(())?;
        self.event.kind = kind as Kind;
        self.event.keys.clear();
        let stated = if self.keys.is_empty() { &self.old_keys } else { &self.keys };
        self.event.keys.extend(stated);
        if strict {
            self.check(tables)?;
        }
        Some(Held::Event)
    }

    fn clear(&mut self) {
        let old = std::mem::take(&mut self.event);
        let (mut block_ids, mut positions, mut keys) = (old.block_ids, old.positions, old.keys);
        block_ids.clear();
        positions.clear();
        keys.clear();
        self.event = Event { block_ids, positions, keys, ..Event::default() };
        self.stream.clear();
        self.keys.clear();
        self.old_keys.clear();
        self.groups.clear();
        self.observes = None;
        (self.kind, self.rank, self.ranks, self.engine) = (None, None, None, false);
        (self.given, self.other) = (0, 0);
    }

    /// Take the value of a field; return whether it is the default.
    fn value(
        &mut self, place: u8, cursor: &mut Cursor, names: &mut Names, tables: &Tables,
    ) -> Read<bool> {
        let event = &mut self.event;
        Some(match place {
            place::CLAIM_ID => set(&mut event.claim_id, name(cursor, names)?),
            place::REQUEST_ID => set(&mut event.request_id, name(cursor, names)?),
            place::CACHE_IDENTITY => set(&mut event.cache_identity, name(cursor, names)?),
            place::OBJECT_ID => set(&mut event.object_id, name(cursor, names)?),
            place::PREDICATE_ID => set(&mut event.predicate_id, name(cursor, names)?),
            place::TOKEN_MAP => set(&mut event.token_map, name(cursor, names)?),
            place::MODE => set(&mut event.mode, name(cursor, names)?),
            place::OWNER_SCOPE => set(&mut event.owner_scope, name(cursor, names)?),
            place::BY => set(&mut event.by, name(cursor, names)?),
            place::FOOTPRINT => set(&mut event.footprint, blocks(cursor)?),
            place::FOUND => raise(&mut event.found, cursor.boolean()?),
            place::TIER => set(&mut event.tier, name(cursor, names)?),
            place::HELD => set(&mut event.held, blocks(cursor)?),
            place::ASKED => set(&mut event.asked, blocks(cursor)?),
            place::NEEDED => set(&mut event.needed, blocks(cursor)?),
            place::USABLE => set(&mut event.usable, blocks(cursor)?),
            place::RESTORE => raise(&mut event.restore, cursor.boolean()?),
            place::OUTCOME => set(&mut event.outcome, name(cursor, names)?),
            place::OUTCOME_CLAIM_ID => set(&mut event.outcome_claim_id, name(cursor, names)?),
            place::DUPLICATE => raise(&mut event.duplicate, cursor.boolean()?),
            place::ECHO => raise(&mut event.echo, cursor.boolean()?),
            place::FROM_TIER => raise(&mut event.from_tier, cursor.boolean()?),
            place::RESTATED => raise(&mut event.restated, cursor.boolean()?),
            place::COST => set(&mut event.cost, blocks(cursor)?),
            place::WORKER => set(&mut event.worker, name(cursor, names)?),
            place::KIND => set(&mut self.kind, Some(tables.kind(&cursor.string()?)?)),
            place::STREAM => {
                let text = cursor.string()?;
                (text.len() <= 1024 || text.chars().count() <= 1024).then_some(())?;
                self.stream.push_str(&text);
                false
            }
            place::SEQUENCE => set(&mut event.sequence, within(cursor, 0)?),
            place::TIME_NS => set(&mut event.time_ns, within(cursor, 0)?),
            place::PRIORITY => set(&mut event.priority, within(cursor, -i64::MAX)?),
            place::LOWEST_PRIORITY => {
                set(&mut event.lowest_priority, number(cursor, i128::MIN, i128::MAX)?)
            }
            place::PREDICATE => set(&mut event.predicate, parsed(cursor, Predicate::parse)?),
            place::DURATION => set(&mut event.duration, parsed(cursor, Duration::parse)?),
            place::GROUP => set(&mut event.group, blocks(cursor)?.map(|n| n as u64)),
            place::BLOCK_IDS => ids(cursor, names, &mut event.block_ids)?,
            place::KEYS => ids(cursor, names, &mut self.keys)?,
            place::CONTENT_KEYS => texts(cursor, names, &mut self.old_keys)?,
            place::POSITIONS => {
                let positions = &mut event.positions;
                cursor.array(|cursor| {
                    positions.push(number(cursor, 0, BLOCKS)?? as u64);
                    Some(())
                })?;
                positions.is_empty()
            }
            place::BLOCKING_CLAIM_IDS => {
                if !cursor.null()? {
                    texts(cursor, names, event.blocking.get_or_insert_default())?;
                }
                event.blocking.is_none()
            }
            place::PROOF => {
                event.proof = sums(cursor)?;
                event.proof.is_none()
            }
            place::REASON => name(cursor, names)?.is_none(),
            place::CAPACITY => sums(cursor)?.is_none(),
            place::HIT => {
                let stated = if cursor.null()? { None } else { Some(cursor.boolean()?) };
                set(&mut event.hit, stated)
            }
            place::OBSERVES => {
                if !cursor.null()? {
                    let listed = self.observes.get_or_insert_default();
                    cursor.array(|cursor| {
                        listed.push(tables.kind(&cursor.string()?).map(|kind| kind as Kind));
                        Some(())
                    })?;
                }
                self.observes.is_none()
            }
            place::RANK => set(&mut self.rank, number(cursor, 0, i128::MAX)?),
            place::RANKS => set(&mut self.ranks, number(cursor, 0, i128::MAX)?),
            place::ENGINE => {
                self.engine = name(cursor, names)?.is_some();
                !self.engine
            }
            place::GROUPS => {
                let groups = &mut self.groups;
                cursor.array(|cursor| {
                    groups.push(group(cursor)?);
                    Some(())
                })?;
                groups.is_empty()
            }
            _ => return None,
        })
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
        let keyed = tables.facts.has(event.kind) && blocks > 0 && !event.keys.is_empty();
        let matched =
            (!placed || event.positions.len() == blocks) && (!keyed || event.keys.len() == blocks);
        (fine && mode && matched && once(&event.block_ids) && once(&event.positions)).then_some(())
    }

    fn mark(&mut self, mark: usize, tables: &Tables) -> Read<StreamMark> {
        (self.given & !tables.of_marks == 0).then_some(())?;
        let kind = [Mark::Opened, Mark::Closed, Mark::Restated][mark];
        let opens = kind == Mark::Opened;
        let observes = match &self.observes {
            None => None,
            Some(_) if !opens => return None,
            Some(kinds) => {
                let kinds: Vec<Kind> = kinds.iter().copied().collect::<Option<_>>()?;
                let set = kinds.iter().all(|&kind| tables.facts.has(kind));
                Some(set.then(|| Kinds::of(&kinds))?)
            }
        };
        match (self.rank, self.ranks) {
            (None, None) => (!self.engine).then_some(())?,
            (Some(rank), Some(ranks)) => {
                (opens && !self.stream.is_empty() && rank < ranks && ranks <= 64).then_some(())?;
            }
            _ => return None,
        }
        let ranked = self.ranks.is_some_and(|ranks| ranks != 1);
        Some(StreamMark { kind, observes, groups: std::mem::take(&mut self.groups), ranked })
    }
}

/// A field of events or of marks that this reader does not know.
pub fn unknown<'a>(events: &[&'a str], marks: &[&'a str]) -> Option<&'a str> {
    let event = events.iter().find(|name| !FIELDS.contains(name));
    event.or(marks.iter().find(|name| !OF_MARKS.contains(name))).copied()
}

fn once<T: Ord + Copy>(values: &[T]) -> bool {
    if values.len() <= 16 {
        return (1..values.len()).all(|at| !values[..at].contains(&values[at]));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

fn number(cursor: &mut Cursor, least: i128, most: i128) -> Read<Option<i128>> {
    if cursor.null()? {
        return Some(None);
    }
    let value = cursor.integer()?;
    (least <= value && value <= most).then_some(Some(value))
}

fn within(cursor: &mut Cursor, least: i64) -> Read<Option<i64>> {
    Some(number(cursor, least.into(), i64::MAX.into())?.map(|value| value as i64))
}

fn parsed<T>(cursor: &mut Cursor, parse: impl FnOnce(&str) -> Option<T>) -> Read<Option<T>> {
    if cursor.null()? {
        return Some(None);
    }
    parse(&cursor.string()?).map(Some)
}

fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    *slot = value;
    slot.is_none()
}

fn raise(slot: &mut bool, value: bool) -> bool {
    *slot = value;
    !value
}

fn blocks(cursor: &mut Cursor) -> Read<Option<i64>> {
    Some(number(cursor, 0, BLOCKS)?.map(|value| value as i64))
}

/// The sums of a capacity proof.
fn sums(cursor: &mut Cursor) -> Read<Option<[i64; 5]>> {
    if cursor.null()? {
        return Some(None);
    }
    let mut sums = [None; 5];
    cursor.object(|cursor, key| {
        let at = PROOF.iter().position(|each| *each == key)?;
        let value = number(cursor, 0, BLOCKS)??;
        sums[at].replace(value as i64).is_none().then_some(())
    })?;
    let [a, b, c, d, e] = sums;
    Some(Some([a?, b?, c?, d?, e?]))
}

fn named(cursor: &mut Cursor, names: &mut Names) -> Read<Name> {
    let text = cursor.string()?;
    let fine = !text.is_empty() && (text.len() <= 1024 || text.chars().count() <= 1024);
    fine.then(|| names.text(&text))
}

fn name(cursor: &mut Cursor, names: &mut Names) -> Read<Option<Name>> {
    if cursor.null()? {
        return Some(None);
    }
    named(cursor, names).map(Some)
}

fn texts(cursor: &mut Cursor, names: &mut Names, out: &mut Vec<Name>) -> Read<bool> {
    cursor.array(|cursor| {
        out.push(named(cursor, names)?);
        Some(())
    })?;
    Some(out.is_empty())
}

fn ids(cursor: &mut Cursor, names: &mut Names, out: &mut Vec<Name>) -> Read<bool> {
    cursor.array(|cursor| {
        out.push(if cursor.peek()? == b'"' {
            named(cursor, names)?
        } else {
            let (negative, digits) = cursor.digits()?;
            (!negative).then(|| names.digits(digits))?
        });
        Some(())
    })?;
    Some(out.is_empty())
}

fn group(cursor: &mut Cursor) -> Read<(u64, Group)> {
    let (mut number_of, mut kind, mut window) = (None, None, None);
    cursor.object(|cursor, key| match key {
        "group" => number_of.replace(number(cursor, 0, BLOCKS)??).is_none().then_some(()),
        "kind" => {
            let text = cursor.string()?.into_owned();
            (!text.is_empty() && text.chars().count() <= 1024).then_some(())?;
            kind.replace(text).is_none().then_some(())
        }
        "window" => window.replace(number(cursor, 0, BLOCKS)??).is_none().then_some(()),
        _ => None,
    })?;
    let kind = kind?;
    let last = if kind == "window" { window.unwrap_or(0) as i64 } else { 1 };
    Some((number_of? as u64, Group { full: kind == "full", window: last }))
}
