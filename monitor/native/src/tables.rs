//! Holds what comes from the specification, and evaluates its terms in three values.

use std::rc::Rc;

use crate::event::{self, Kind, Kinds};
use crate::fields;
use crate::map::Index;
use crate::names::{hash, Name, Names};
use crate::record;
use crate::registers::{Registers, NONE};
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

type Node = u32;

/// Declares the operators of terms, with the numbers of their operands.
macro_rules! terms {
    ($($(#[$meta:meta])* $number:literal $name:ident ($($part:ident: $kind:ty),*)),* $(,)?) => {
        /// A term: operands are terms by number, or a list of them by its place and length.
        #[derive(Clone, Copy)]
        pub enum Term { $($name($($kind),*)),* }
        const OPERATORS: &[&str] = &[$(stringify!($name)),*];
        impl Store for Term {
            fn put(&self, _: &mut Vec<u8>) {}
            fn get(from: &mut Bytes) -> Option<Self> {
                Some(match u8::get(from)? {
                    $($number => Term::$name($({ let $part = <$kind>::get(from)?; $part }),*),)*
                    _ => return None,
                })
            }
        }
    };
}
terms! {
    0 Const(value: i64), 1 Field(number: u8), 2 Here(), 3 Threshold(), 4 Was(place: u8),
    5 Now(place: u8), 6 RequestWas(place: u8), 7 Request(place: u8), 8 Own(place: u8),
    9 Not(one: Node), 10 And(start: u32, count: u32), 11 Or(start: u32, count: u32),
    12 Less(left: Node, right: Node), 13 AtMost(left: Node, right: Node),
    14 Equal(left: Node, right: Node), 15 Plus(left: Node, right: Node),
    16 Minus(left: Node, right: Node), 17 If(cond: Node, then: Node, other: Node),
}

/// What a term reads, besides the fields of the event. A claim is `was` and is `now`.
/// The registers of an observer are those of its scope from the place `first` on.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub here: i64,
    pub threshold: i64,
    pub was: &'a Registers,
    pub now: &'a Registers,
    pub request_was: &'a Registers,
    pub request: &'a Registers,
    pub own: &'a Registers,
    pub first: usize,
}

impl<'a> Inputs<'a> {
    /// Of a claim before an event.
    pub fn of(threshold: i64, was: &'a Registers) -> Self {
        let (now, request_was, request, own) = (&NONE, &NONE, &NONE, &NONE);
        Self { here: 0, threshold, was, now, request_was, request, own, first: 0 }
    }
}

record! {
    /// A rule on one kind of event: `sources` are states by bits, `sets` one term for each register.
    pub struct Rule { number: u8, sources: u32, to: u8, when: Node, sets: Option<Vec<Node>> }
}

record! {
    /// An observer, by its place in the mode, on one kind of event.
    pub struct Watch { place: usize, rules: Vec<Rule> }
}

record! {
    /// What an event of one kind does to claims of one mode; `reads` has the fields that it reads.
    pub struct Compiled {
        claim: Vec<(u8, Node)>,
        request: Vec<(u8, Node)>,
        own: Vec<Watch>,
        scoped: Vec<Watch>,
        opens: Node,
        assumed: Vec<Node>,
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
    /// request that arrived before what is known begins; `next` leads from a state by a kind.
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
        terms: Vec<Term>,
        parts: Vec<Node>,
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

    pub fn always_holds(&self, node: Node) -> bool {
        matches!(self.terms[node as usize], Term::Const(1))
    }

    /// The value of a term, `UNKNOWN` unless every value of the unknown inputs gives the same.
    pub fn eval(&self, node: Node, of: &Inputs, field: &mut impl FnMut(u8) -> i64) -> i64 {
        let both = |left: Node, right: Node, field: &mut _, apply: fn(i64, i64) -> i64| {
            let left = self.eval(left, of, field);
            let right = self.eval(right, of, field);
            if left == UNKNOWN || right == UNKNOWN {
                UNKNOWN
            } else {
                apply(left, right)
            }
        };
        match self.terms[node as usize] {
            Term::Const(value) => value,
            Term::Field(number) => field(number),
            Term::Here() => of.here,
            Term::Threshold() => of.threshold,
            Term::Was(place) => of.was.get(place.into()),
            Term::Now(place) => of.now.get(place.into()),
            Term::RequestWas(place) => of.request_was.get(place.into()),
            Term::Request(place) => of.request.get(place.into()),
            Term::Own(place) => of.own.get(of.first + usize::from(place)),
            Term::Not(one) => match self.eval(one, of, field) {
                UNKNOWN => UNKNOWN,
                value => i64::from(value == 0),
            },
            Term::And(start, count) => self.join(start, count, 0, of, field),
            Term::Or(start, count) => self.join(start, count, 1, of, field),
            Term::Less(left, right) => both(left, right, field, |a, b| i64::from(a < b)),
            Term::AtMost(left, right) => both(left, right, field, |a, b| i64::from(a <= b)),
            Term::Equal(left, right) => both(left, right, field, |a, b| i64::from(a == b)),
            Term::Plus(left, right) => both(left, right, field, i64::saturating_add),
            Term::Minus(left, right) => both(left, right, field, i64::saturating_sub),
            Term::If(cond, then, other) => match self.eval(cond, of, field) {
                UNKNOWN => {
                    let then = self.eval(then, of, field);
                    if then == self.eval(other, of, field) {
                        then
                    } else {
                        UNKNOWN
                    }
                }
                0 => self.eval(other, of, field),
                _ => self.eval(then, of, field),
            },
        }
    }

    fn join(
        &self, start: u32, count: u32, decides: i64, of: &Inputs, field: &mut impl FnMut(u8) -> i64,
    ) -> i64 {
        let mut found = 1 - decides;
        for at in start as usize..(start + count) as usize {
            match self.eval(self.parts[at], of, field) {
                UNKNOWN => found = UNKNOWN,
                value if value == decides => return decides,
                _ => {}
            }
        }
        found
    }
}

/// A table that judges share.
pub type Shared = Rc<Tables>;
