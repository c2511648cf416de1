//! Holds what comes from the specification, and evaluates its terms in three values.

use std::rc::Rc;

use crate::event::{self, Kind, Kinds};
use crate::fields::{self, Moment};
use crate::map::Index;
use crate::names::{hash, Name, Names};
use crate::record;
use crate::registers::Registers;
use crate::store::{Bytes, Store};

/// An unknown value.
pub const UNKNOWN: i64 = i64::MIN;

/// Verdicts by their weight.
pub type Verdict = u8;
pub const UNEXERCISED: Verdict = 0;
pub const SATISFIED: Verdict = 1;
pub const PENDING: Verdict = 2;
pub const INCONCLUSIVE: Verdict = 3;
pub const VIOLATED: Verdict = 4;
const VERDICTS: &[&str] = &["unexercised", "satisfied", "pending", "inconclusive", "violated"];

/// Where the steps of a term begin.
pub type Start = u16;
/// A place in the row of numbers that steps read and write.
type Slot = u8;

/// Declares the operators of steps, with their operands.
macro_rules! steps {
    ($($(#[$meta:meta])* $number:literal $name:ident ($($part:ident: $kind:ty),*)),* $(,)?) => {
        /// A step of a term: it ends with a number, leads to one of two others by what holds of
        /// numbers, or makes a number and leads to the next.
        #[derive(Clone, Copy)]
        pub enum Step { $($name($($kind),*)),* }
        const OPERATORS: &[&str] = &[$(stringify!($name)),*];
        impl Store for Step {
            fn put(&self, _: &mut Vec<u8>) {}
            fn get(from: &mut Bytes) -> Option<Self> {
                Some(match u8::get(from)? {
                    $($number => Step::$name($({ let $part = <$kind>::get(from)?; $part }),*),)*
                    _ => return None,
                })
            }
        }
    };
}
steps! {
    0 Give(value: Slot),
    1 Holds(one: Slot, then: Start, other: Start),
    2 Less(left: Slot, right: Slot, then: Start, other: Start),
    3 AtMost(left: Slot, right: Slot, then: Start, other: Start),
    4 Equal(left: Slot, right: Slot, then: Start, other: Start),
    5 Plus(to: Slot, left: Slot, right: Slot, next: Start),
    6 Minus(to: Slot, left: Slot, right: Slot, next: Start),
    7 Value(to: Slot, of: Start, next: Start),
}

record! {
    /// A rule on one kind of event: `sources` are states by bits, `sets` one term for each register.
    pub struct Rule { number: u8, sources: u32, to: u8, when: Start, sets: Option<Vec<Start>> }
}

impl Rule {
    /// Whether it may apply in a state.
    pub fn leaves(&self, state: u8) -> bool {
        self.sources >> state & 1 == 1
    }
}

record! {
    /// An observer, by its place in the mode, on one kind of event.
    pub struct Watch { place: usize, rules: Vec<Rule> }
}

record! {
    /// What an event of one kind does to claims of one mode; `reads` has the fields that it reads.
    /// An assumption that such an event cannot break has no term.
    pub struct Compiled {
        claim: Vec<(u8, Start)>,
        request: Vec<(u8, Start)>,
        own: Vec<Watch>,
        scoped: Vec<Watch>,
        opens: Start,
        assumed: Vec<Option<Start>>,
        reads: u64,
    }
}

record! {
    /// A mode: its obligations by their numbers, and where the registers of each begin.
    pub struct Mode {
        text: String,
        watched: bool,
        ranked: bool,
        obligations: Vec<u8>,
        offsets: Vec<usize>,
        registers: Registers,
        kinds: Vec<Compiled>,
    }
}

record! {
    pub struct Obligation {
        name: String,
        verdicts: Vec<Verdict>,
        registers: usize,
        per_request: bool,
        facts: Kinds,
    }
}

record! {
    pub struct Assumption { rests_on: Kinds, room: bool, broken: String }
}

record! {
    /// A kind of event: which fields it requires, all or one of, and which have no meaning on it. A
    /// report about a route has the fact that it is about, and the field that both have.
    pub struct OfKind {
        name: String,
        required: u64,
        one_of: u64,
        strange: u64,
        route: Option<(Kind, String)>,
    }
}

/// Declares registers or modes that the judge knows by name.
macro_rules! places {
    ($(#[$meta:meta])* $struct:ident $names:ident $kind:ty: $($name:ident),*) => {
        record! { $(#[$meta])* #[derive(Clone, Copy)] pub struct $struct { $($name: $kind),* } }
        pub const $names: &[&str] = &[$(stringify!($name)),*];
    };
}
places! {
    /// The places of registers of claims and of requests.
    Places REGISTERS usize: registered, committed, responsible, lead, there, host, whole, copied,
    footprint, declared, seen, arrived, held, needed, usable, away
}
places! {
    Modes MODES usize: soft_priority, demotable, hard_protected, offloadable, expiring
}
places! {
    /// Sets of kinds of events.
    Sets SETS Kinds: facts, environment, reports, actions, gone, requests, renews, routed
}

places! {
    /// Where the row of numbers begins to have what terms read beside fields and constants.
    Slots SLOTS usize: here, threshold, was, now, request_was, request, own
}

/// Names that the judge knows by their text.
pub struct Words {
    pub runtime: Name,
    pub gpu: Name,
    pub cpu: Name,
    pub refusal: Name,
    pub harm: Name,
    pub outcomes: [Name; 4],
}

record! {
    /// A table as `monitor.native.tables` writes it, in this order. `unknown` are the registers of a
    /// request that arrived before what is known begins; `next` leads from a state by a kind; `row`
    /// has the constants of terms.
    pub struct Spec {
        kinds: Vec<OfKind>,
        sets: Sets,
        claim: Registers,
        request: Registers,
        at: Places,
        unknown: Vec<usize>,
        states: Vec<String>,
        terminal: u32,
        refused: u8,
        next: Vec<Vec<Option<u8>>>,
        assumptions: Vec<Assumption>,
        obligations: Vec<Obligation>,
        named: Modes,
        modes: Vec<Mode>,
        slots: Slots,
        row: Vec<(Slot, i64)>,
        steps: Vec<Step>,
    }
}

/// A table that judges share. `modes_by` are the names of its modes; `digest` tells it from others.
pub struct Tables {
    spec: Spec,
    pub words: Words,
    pub mode_names: Vec<Option<Name>>,
    kind_of: Index,
    pub digest: u64,
}

impl std::ops::Deref for Tables {
    type Target = Spec;
    fn deref(&self) -> &Spec {
        &self.spec
    }
}

/// The names that a table has numbers for, as one line of JSON.
pub fn vocabulary() -> String {
    let fields: Vec<&str> = fields::names().collect();
    let lists = [
        ("kinds", event::KINDS),
        ("fields", event::FIELDS),
        ("derived", &fields),
        ("registers", REGISTERS),
        ("modes", MODES),
        ("sets", SETS),
        ("slots", SLOTS),
        ("verdicts", VERDICTS),
        ("operators", OPERATORS),
    ];
    let lists = lists.map(|(name, list)| format!("{name:?}:{list:?}"));
    format!("{{{}}}", lists.join(","))
}

impl Tables {
    /// Read a table.
    pub fn read(bytes: &[u8], names: &mut Names) -> Option<Self> {
        let mut from = Bytes(bytes);
        let spec = Spec::get(&mut from).filter(|_| from.0.is_empty())?;
        let mut kind_of = Index::default();
        let hash_of = |at: usize| hash(spec.kinds[at].name.as_bytes(), 0);
        (0..spec.kinds.len()).for_each(|at| kind_of.add(at, hash_of(at), hash_of));
        let mut named = |mode: &Mode| (!mode.text.is_empty()).then(|| names.text(&mode.text));
        let mode_names = spec.modes.iter().map(&mut named).collect();
        let mut word = |text: &str| names.text(text);
        let (refusal, harm) = (word("refusal"), word("harm"));
        let words = Words {
            runtime: word("runtime"),
            gpu: word("gpu"),
            cpu: word("cpu"),
            refusal,
            harm,
            outcomes: [refusal, word("demotion"), word("expiry"), harm],
        };
        let digest = hash(bytes, 0);
        Some(Self { spec, words, mode_names, kind_of, digest })
    }

    /// The number of a kind.
    pub fn kind(&self, name: &[u8]) -> Option<Kind> {
        let is = |at: usize| self.kinds[at].name.as_bytes() == name;
        let found = self.kind_of.find(hash(name, 0), is);
        found.map(|at| at as Kind)
    }

    pub fn mode_named(&self, name: Name) -> Option<usize> {
        self.mode_names.iter().position(|mode| *mode == Some(name))
    }

    /// Where a report leads from a state of the lifecycle.
    pub fn next_state(&self, state: u8, kind: Kind) -> Option<u8> {
        self.next[usize::from(state)][usize::from(kind)]
    }

    /// The names of kinds, in alphabetical order.
    pub fn listed(&self, kinds: Kinds) -> String {
        let all = self.kinds.iter().enumerate().filter(|(at, _)| kinds.has(*at as Kind));
        let mut listed: Vec<&str> = all.map(|(_, kind)| kind.name.as_str()).collect();
        listed.sort_unstable();
        listed.join(", ")
    }

    /// The value of a term, `UNKNOWN` unless every value of the unknown inputs gives the same.
    pub fn eval(&self, mut at: Start, row: &mut Row, moment: &Moment) -> i64 {
        loop {
            let mut both = |left: Slot, right: Slot, apply: fn(i64, i64) -> i64| {
                let (left, right) = (row.get(left, moment), row.get(right, moment));
                let known = left != UNKNOWN && right != UNKNOWN;
                if known {
                    apply(left, right)
                } else {
                    UNKNOWN
                }
            };
            let (holds, then, other) = match self.steps[usize::from(at)] {
                Step::Give(value) => return row.get(value, moment),
                Step::Holds(one, then, other) => (row.get(one, moment), then, other),
                Step::Less(left, right, then, other) => {
                    (both(left, right, |a, b| i64::from(a < b)), then, other)
                }
                Step::AtMost(left, right, then, other) => {
                    (both(left, right, |a, b| i64::from(a <= b)), then, other)
                }
                Step::Equal(left, right, then, other) => {
                    (both(left, right, |a, b| i64::from(a == b)), then, other)
                }
                Step::Plus(to, left, right, next) => {
                    row.values[usize::from(to)] = both(left, right, i64::saturating_add);
                    at = next;
                    continue;
                }
                Step::Minus(to, left, right, next) => {
                    row.values[usize::from(to)] = both(left, right, i64::saturating_sub);
                    at = next;
                    continue;
                }
                Step::Value(to, of, next) => {
                    row.values[usize::from(to)] = self.eval(of, row, moment);
                    at = next;
                    continue;
                }
            };
            at = match holds {
                0 => other,
                UNKNOWN => {
                    let then = self.eval(then, row, moment);
                    return if then == self.eval(other, row, moment) { then } else { UNKNOWN };
                }
                _ => then,
            };
        }
    }
}

/// The numbers that terms read: the fields of an event as one claim sees it, by their numbers, each
/// computed when it is first asked for; and what `Slots` says.
pub struct Row {
    number: u32,
    asked: u64,
    pub values: [i64; 1 << Slot::BITS],
}

impl Row {
    pub fn new(tables: &Tables) -> Self {
        let mut values = [0; 1 << Slot::BITS];
        tables.row.iter().for_each(|&(slot, value)| values[usize::from(slot)] = value);
        Self { number: 0, asked: 0, values }
    }

    /// The claim is this one from now on. An event is about it or not, and names it or not.
    pub fn begin(
        &mut self, number: u32, (mine, named): (bool, bool), threshold: i64, was: &Registers,
        slots: &Slots,
    ) {
        (self.number, self.asked) = (number, fields::STATED);
        self.values[fields::MINE] = mine.into();
        self.values[fields::NAMED] = named.into();
        self.values[slots.threshold] = threshold;
        was.copy_to(&mut self.values[slots.was..]);
    }

    #[inline]
    pub fn get(&mut self, slot: Slot, moment: &Moment) -> i64 {
        if slot < fields::COUNT && self.asked >> slot & 1 == 0 {
            self.ask(slot, moment);
        }
        self.values[usize::from(slot)]
    }

    #[inline(never)]
    fn ask(&mut self, slot: Slot, moment: &Moment) {
        self.values[usize::from(slot)] = moment.value(slot, self.number);
        self.asked |= 1 << slot;
    }
}

/// A table that judges share.
pub type Shared = Rc<Tables>;
