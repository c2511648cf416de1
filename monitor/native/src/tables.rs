//! Holds what comes from the specification, and evaluates its terms in three values.

use std::collections::HashMap;
use std::rc::Rc;

use crate::event::{self, Kind, Kinds, KINDS};
use crate::fields;
use crate::json::{Cursor, Value};
use crate::names::{Name, Names};

/// An unknown value.
pub const UNKNOWN: i64 = i64::MIN;

/// Verdicts by their weight.
pub type Verdict = u8;
pub const UNEXERCISED: Verdict = 0;
pub const SATISFIED: Verdict = 1;
pub const PENDING: Verdict = 2;
pub const INCONCLUSIVE: Verdict = 3;
pub const VIOLATED: Verdict = 4;
const VERDICTS: [&str; 5] = ["unexercised", "satisfied", "pending", "inconclusive", "violated"];

type Node = u32;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Term {
    Const(i64),
    Field(u8),
    Here,
    Threshold,
    Was(u8),
    Now(u8),
    RequestWas(u8),
    Request(u8),
    Own(u8),
    Not(Node),
    And(u32, u16),
    Or(u32, u16),
    Less(Node, Node),
    AtMost(Node, Node),
    Equal(Node, Node),
    Plus(Node, Node),
    Minus(Node, Node),
    If(Node, Node, Node),
}

/// What a term reads, besides the fields of the event. A claim is `was` and is `now`.
pub struct Inputs<'a> {
    pub here: i64,
    pub threshold: i64,
    pub was: &'a [i64],
    pub now: &'a [i64],
    pub request_was: &'a [i64],
    pub request: &'a [i64],
    pub own: &'a [i64],
}

/// A rule on one kind of event: `sources` are states by bits, `sets` one term for each register.
pub struct Rule {
    pub number: u8,
    pub sources: u32,
    pub to: u8,
    pub when: Node,
    pub sets: Option<Vec<Node>>,
}

/// An observer, by its place in the mode, on one kind of event.
pub struct Watch {
    pub place: usize,
    pub rules: Vec<Rule>,
}

/// What an event of one kind does to claims of one mode.
pub struct Compiled {
    pub claim: Vec<(u8, Node)>,
    pub request: Vec<(u8, Node)>,
    pub own: Vec<Watch>,
    pub scoped: Vec<Watch>,
    pub opens: Node,
    pub assumed: Vec<Node>,
    /// The fields of the event that any of them reads, by bits.
    pub reads: u64,
}

pub struct Mode {
    pub name: Option<Name>,
    pub lapses: bool,
    pub watched: bool,
    pub ranked: bool,
    /// Its obligations, by their numbers, and where the registers of each begin.
    pub obligations: Vec<u8>,
    pub offsets: Vec<usize>,
    pub registers: Vec<i64>,
    pub kinds: Vec<Compiled>,
}

pub struct Obligation {
    pub name: String,
    pub verdicts: Vec<Verdict>,
    pub registers: Vec<i64>,
    pub per_request: bool,
    pub facts: Kinds,
}

pub struct Assumption {
    pub rests_on: Kinds,
    pub room: bool,
    pub broken: String,
}

#[derive(Default)]
pub struct OfKind {
    pub name: String,
    pub required: u64,
    /// Of these, one is required, if there are any.
    pub one_of: u64,
    pub strange: u64,
    /// Of a report about a route, the fact that it is about, and the field that both have.
    pub route: Option<(Kind, String)>,
}

/// The places of registers that the judge reads by name.
#[derive(Default)]
pub struct Places {
    pub registered: usize,
    pub committed: usize,
    pub responsible: usize,
    pub lead: usize,
    pub there: usize,
    pub host: usize,
    pub whole: usize,
    pub copied: usize,
    pub footprint: usize,
    pub declared: usize,
    pub seen: usize,
    pub arrived: usize,
    pub held: usize,
    pub needed: usize,
    pub usable: usize,
    pub away: usize,
    /// What is not known of a request that arrived before what is known begins.
    pub unknown: Vec<usize>,
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

pub struct Tables {
    pub kinds: Vec<OfKind>,
    kind_of: HashMap<String, usize>,
    pub facts: Kinds,
    pub reports: Kinds,
    pub actions: Kinds,
    pub gone: Kinds,
    pub requests: Kinds,
    pub renews: Kinds,
    pub routed: Kinds,
    pub of_events: u64,
    pub of_marks: u64,
    pub claim: Vec<i64>,
    pub request: Vec<i64>,
    pub at: Places,
    pub words: Words,
    pub states: Vec<String>,
    pub terminal: u32,
    pub refused: u8,
    next: Vec<Vec<Option<u8>>>, // by state and kind
    pub assumptions: Vec<Assumption>,
    pub obligations: Vec<Obligation>,
    pub modes: Vec<Mode>,
    pub soft_priority: usize,
    pub demotable: usize,
    pub hard_protected: usize,
    pub offloadable: usize,
    pub expiring: usize,
    terms: Vec<Term>,
    parts: Vec<Node>,
    /// Tells a table from others.
    pub digest: u64,
}

/// Reads terms; equal ones are one node.
struct Maker<'a> {
    terms: Vec<Term>,
    parts: Vec<Node>,
    reads: u64,
    nodes: HashMap<Term, Node>,
    lists: HashMap<Vec<Node>, u32>,
    claim: &'a HashMap<&'a str, u8>,
    request: &'a HashMap<&'a str, u8>,
}

impl Maker<'_> {
    fn term(&mut self, value: &Value, own: &HashMap<&str, u8>) -> Result<Node, String> {
        let term = match value {
            Value::Bool(_) | Value::Number(_) => Term::Const(value.number()),
            Value::Text(name) => {
                let term = self.variable(name, own)?;
                if let Term::Field(number) = term {
                    self.reads |= 1 << number;
                }
                term
            }
            _ => {
                let (operator, rest) = value.items().split_first().ok_or("an empty term")?;
                let args: Vec<Node> =
                    rest.iter().map(|each| self.term(each, own)).collect::<Result<_, _>>()?;
                match (operator.text(), &args[..]) {
                    ("not", &[one]) => Term::Not(one),
                    ("and", all) => Term::And(self.list(all), all.len() as u16),
                    ("or", all) => Term::Or(self.list(all), all.len() as u16),
                    ("<", &[left, right]) => Term::Less(left, right),
                    ("<=", &[left, right]) => Term::AtMost(left, right),
                    ("==", &[left, right]) => Term::Equal(left, right),
                    ("+", &[left, right]) => Term::Plus(left, right),
                    ("-", &[left, right]) => Term::Minus(left, right),
                    ("if", &[cond, then, other]) => Term::If(cond, then, other),
                    (operator, _) => return Err(format!("no operator {operator:?}")),
                }
            }
        };
        let terms = &mut self.terms;
        Ok(*self.nodes.entry(term).or_insert_with(|| {
            terms.push(term);
            terms.len() as Node - 1
        }))
    }

    fn list(&mut self, args: &[Node]) -> u32 {
        let parts = &mut self.parts;
        *self.lists.entry(args.to_vec()).or_insert_with(|| {
            parts.extend_from_slice(args);
            (parts.len() - args.len()) as u32
        })
    }

    fn variable(&self, name: &str, own: &HashMap<&str, u8>) -> Result<Term, String> {
        let (scope, rest) = name.split_once('.').unwrap_or((name, ""));
        let place = |registers: &HashMap<&str, u8>| {
            registers.get(rest).copied().ok_or(format!("no register {name}"))
        };
        Ok(match scope {
            "here" => Term::Here,
            "threshold" => Term::Threshold,
            "e" => Term::Field(fields::number(rest).ok_or(format!("no field {name}"))?),
            "w" => Term::Was(place(self.claim)?),
            "n" => Term::Now(place(self.claim)?),
            "r" => Term::RequestWas(place(self.request)?),
            "q" => Term::Request(place(self.request)?),
            "o" => Term::Own(place(own)?),
            _ => return Err(format!("no variable {name}")),
        })
    }
}

fn registers(value: &Value) -> (HashMap<&str, u8>, Vec<i64>) {
    let rows = value.items().iter().enumerate();
    let places = rows.map(|(at, row)| (row.items()[0].text(), at as u8)).collect();
    (places, value.items().iter().map(|row| row.items()[1].number()).collect())
}

impl Tables {
    /// Read a table; an error says what this core does not know.
    pub fn read(text: &str, names: &mut Names) -> Result<Self, String> {
        let value = Cursor::new(text).value().ok_or("the table is no JSON")?;
        let texts = |value: &'_ Value| value.items().iter().map(|v| v.text().to_owned()).collect();
        let listed = |key: &str| value.get(key).items();
        let mut kinds: Vec<OfKind> = KINDS.iter().map(|_| OfKind::default()).collect();
        let mut kind_of: HashMap<String, usize> =
            KINDS.iter().enumerate().map(|(at, name)| ((*name).to_owned(), at)).collect();
        for row in listed("kinds") {
            let name = row.get("name").text();
            if !kind_of.contains_key(name) {
                kind_of.insert(name.to_owned(), kinds.len());
                kinds.push(OfKind::default());
            }
        }
        kind_of.retain(|name, _| listed("kinds").iter().any(|row| row.get("name").text() == name));
        for (at, mark) in listed("marks").iter().enumerate() {
            kind_of.insert(mark.text().to_owned(), kinds.len() + at);
        }
        if kinds.len() > 64 {
            return Err("more than 64 kinds of events".into());
        }
        let bits = |value: &Value| -> Result<u64, String> {
            value.items().iter().try_fold(0, |bits, name| {
                let at = event::field(name.text()).ok_or(format!("no field {}", name.text()))?;
                Ok(bits | 1 << at)
            })
        };
        let set = |value: &Value| -> Result<Kinds, String> {
            value.items().iter().try_fold(Kinds(0), |set, name| {
                let kind = kind_of.get(name.text()).ok_or(format!("no kind {}", name.text()))?;
                Ok(Kinds(set.0 | 1 << kind))
            })
        };
        let mut sets = HashMap::<&str, Kinds>::new();
        let mut routed = Kinds(0);
        for row in listed("kinds") {
            let at = kind_of[row.get("name").text()];
            row.get("sets").items().iter().for_each(|name| {
                sets.entry(name.text()).or_default().0 |= 1 << at;
            });
            let route = row.get("route").items();
            let route = match route {
                [fact, field] => {
                    let fact = kind_of[fact.text()];
                    routed.0 |= 1 << at | 1 << fact;
                    Some((fact as Kind, field.text().to_owned()))
                }
                _ => None,
            };
            let (required, strange) = (bits(row.get("required"))?, bits(row.get("strange"))?);
            let (name, one_of) = (row.get("name").text().into(), bits(row.get("one_of"))?);
            kinds[at] = OfKind { name, required, one_of, strange, route };
        }
        let fields: Vec<&str> = listed("fields").iter().map(Value::text).collect();
        let of_marks: Vec<&str> = listed("mark_fields").iter().map(Value::text).collect();
        if let Some(name) = event::unknown(&fields, &of_marks) {
            return Err(format!("no field {name}"));
        }
        let verdicts: Vec<String> = texts(value.get("verdicts"));
        if verdicts != VERDICTS {
            return Err(format!("other verdicts: {verdicts:?}"));
        }
        let verdict = |name: &Value| {
            let at = VERDICTS.iter().position(|each| *each == name.text());
            at.map(|at| at as Verdict).ok_or(format!("no verdict {}", name.text()))
        };
        let (claim_places, claim) = registers(value.get("claim"));
        let (request_places, request) = registers(value.get("request"));
        let own: Vec<(HashMap<&str, u8>, Obligation)> = listed("obligations")
            .iter()
            .map(|row| {
                let (places, initial) = registers(row.get("registers"));
                let states = row.get("states").items().iter().map(verdict);
                let made = Obligation {
                    name: row.get("name").text().to_owned(),
                    verdicts: states.collect::<Result<_, _>>()?,
                    registers: initial,
                    per_request: row.get("per_request").is_true(),
                    facts: set(row.get("facts"))?,
                };
                Ok((places, made))
            })
            .collect::<Result<_, String>>()?;
        let mut maker = Maker {
            terms: Vec::new(),
            parts: Vec::new(),
            reads: 0,
            nodes: HashMap::new(),
            lists: HashMap::new(),
            claim: &claim_places,
            request: &request_places,
        };
        let mut modes = Vec::new();
        for row in listed("modes") {
            modes.push(mode(row, names, &kinds, &own, &mut maker)?);
        }
        let mode_at = |name: &str| {
            let at = listed("modes").iter().position(|row| row.get("name").text() == name);
            at.ok_or(format!("no mode {name}"))
        };
        let place = |places: &HashMap<&str, u8>, name: &str| {
            places.get(name).map(|at| usize::from(*at)).ok_or(format!("no register {name}"))
        };
        let (c, r) = (&claim_places, &request_places);
        let hidden = ["away", "asks", "loaded", "failed", "broke", "routed", "served"];
        let at = Places {
            registered: place(c, "registered")?,
            committed: place(c, "committed")?,
            responsible: place(c, "responsible")?,
            lead: place(c, "lead")?,
            there: place(c, "there")?,
            host: place(c, "host")?,
            whole: place(c, "whole")?,
            copied: place(c, "copied")?,
            footprint: place(c, "footprint")?,
            declared: place(c, "declared")?,
            seen: place(r, "seen")?,
            arrived: place(r, "arrived")?,
            held: place(r, "held")?,
            needed: place(r, "needed")?,
            usable: place(r, "usable")?,
            away: place(r, "away")?,
            unknown: hidden.iter().map(|name| place(r, name)).collect::<Result<_, _>>()?,
        };
        let states: Vec<String> = texts(value.get("states"));
        let state = |name: &str| {
            let at = states.iter().position(|each| each == name);
            at.map(|at| at as u8).ok_or(format!("no state {name}"))
        };
        let mut next = vec![vec![None; kinds.len()]; states.len()];
        for row in listed("transitions") {
            let [source, trigger, dest] = row.items() else { return Err("a transition".into()) };
            let kind = kind_of.get(trigger.text()).ok_or(format!("no kind {}", trigger.text()))?;
            next[usize::from(state(source.text())?)][*kind] = Some(state(dest.text())?);
        }
        let terminal = listed("terminal")
            .iter()
            .try_fold(0, |bits, name| Ok::<u32, String>(bits | 1 << state(name.text())?))?;
        let assumptions = listed("assumptions").iter().map(|row| {
            Ok::<_, String>(Assumption {
                rests_on: set(row.get("rests_on"))?,
                room: row.get("room").is_true(),
                broken: row.get("broken").text().to_owned(),
            })
        });
        let (refusal, harm) = (names.text("refusal"), names.text("harm"));
        let words = Words {
            runtime: names.text("runtime"),
            gpu: names.text("gpu"),
            cpu: names.text("cpu"),
            refusal,
            harm,
            outcomes: [refusal, names.text("demotion"), names.text("expiry"), harm],
        };
        let of = |name: &str| sets.get(name).copied().unwrap_or_default();
        Ok(Self {
            facts: of("fact"),
            reports: of("report"),
            actions: of("action"),
            gone: of("gone"),
            requests: of("request"),
            renews: of("renews"),
            routed,
            of_events: bits(value.get("fields"))?,
            of_marks: bits(value.get("mark_fields"))?,
            refused: state("refused")?,
            assumptions: assumptions.collect::<Result<_, _>>()?,
            soft_priority: mode_at("soft_priority")?,
            demotable: mode_at("demotable")?,
            hard_protected: mode_at("hard_protected")?,
            offloadable: mode_at("offloadable")?,
            expiring: mode_at("expiring")?,
            digest: crate::names::hash(text.as_bytes(), 0),
            terms: maker.terms,
            parts: maker.parts,
            obligations: own.into_iter().map(|(_, made)| made).collect(),
            kinds,
            kind_of,
            claim,
            request,
            at,
            words,
            states,
            terminal,
            next,
            modes,
        })
    }

    /// The number of a kind, or of a mark after those of all kinds.
    pub fn kind(&self, name: &str) -> Option<usize> {
        self.kind_of.get(name).copied()
    }

    /// Of each obligation of a mode, whether it is not followed for each request.
    pub fn scoped(&self, mode: usize) -> Vec<bool> {
        let obligations = self.modes[mode].obligations.iter();
        obligations.map(|&number| !self.obligations[usize::from(number)].per_request).collect()
    }

    /// The mode of this name.
    pub fn mode_named(&self, name: Name) -> Option<usize> {
        self.modes.iter().position(|mode| mode.name == Some(name))
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
            Term::Here => of.here,
            Term::Threshold => of.threshold,
            Term::Was(place) => of.was[usize::from(place)],
            Term::Now(place) => of.now[usize::from(place)],
            Term::RequestWas(place) => of.request_was[usize::from(place)],
            Term::Request(place) => of.request[usize::from(place)],
            Term::Own(place) => of.own[usize::from(place)],
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
        &self, start: u32, count: u16, decides: i64, of: &Inputs, field: &mut impl FnMut(u8) -> i64,
    ) -> i64 {
        let mut found = 1 - decides;
        for at in start as usize..start as usize + usize::from(count) {
            match self.eval(self.parts[at], of, field) {
                UNKNOWN => found = UNKNOWN,
                value if value == decides => return decides,
                _ => {}
            }
        }
        found
    }
}

fn mode(
    row: &Value, names: &mut Names, kinds: &[OfKind], own: &[(HashMap<&str, u8>, Obligation)],
    maker: &mut Maker,
) -> Result<Mode, String> {
    let name = row.get("name").text();
    let constants = row.get("constants");
    let mut obligations = Vec::new();
    for each in row.get("obligations").items() {
        let at = own.iter().position(|(_, made)| made.name == each.text());
        obligations.push(at.ok_or(format!("no obligation {}", each.text()))? as u8);
    }
    let (mut offsets, mut registers) = (Vec::new(), Vec::new());
    for &number in &obligations {
        offsets.push(registers.len());
        registers.extend(&own[usize::from(number)].1.registers);
    }
    let none = HashMap::new();
    let mut made = Vec::new();
    for kind in kinds {
        let of = row.get("kinds").get(&kind.name);
        let assigned = |key: &str, places: &HashMap<&str, u8>, maker: &mut Maker| {
            let rows = of.get(key).items().iter();
            rows.map(|row| Ok((places[row.items()[0].text()], maker.term(&row.items()[1], &none)?)))
                .collect::<Result<Vec<_>, String>>()
        };
        let watches = |key: &str, maker: &mut Maker| {
            let rows = of.get(key).items().iter();
            rows.map(|row| {
                let place = row.items()[0].number() as usize;
                let registers = &own[usize::from(obligations[place])].0;
                let rules = row.items()[1].items().iter().map(|row| rule(row, registers, maker));
                Ok(Watch { place, rules: rules.collect::<Result<_, String>>()? })
            })
            .collect::<Result<Vec<_>, String>>()
        };
        maker.reads = 0;
        let claim = assigned("claim", maker.claim, maker)?;
        let request = assigned("request", maker.request, maker)?;
        let (own, scoped) = (watches("own", maker)?, watches("scoped", maker)?);
        let opens = maker.term(of.get("opens"), &none).unwrap_or(0);
        let reads = maker.reads;
        let assumed = of.get("assumed").items().iter().map(|each| maker.term(each, &none));
        let assumed = assumed.collect::<Result<_, _>>()?;
        made.push(Compiled { claim, request, own, scoped, opens, assumed, reads });
    }
    Ok(Mode {
        name: (!name.is_empty()).then(|| names.text(name)),
        lapses: constants.get("lapses").is_true(),
        watched: constants.get("watched").is_true(),
        ranked: constants.get("ranked").is_true(),
        obligations,
        offsets,
        registers,
        kinds: made,
    })
}

fn rule(row: &Value, own: &HashMap<&str, u8>, maker: &mut Maker) -> Result<Rule, String> {
    let [number, sources, to, when, sets] = row.items() else { return Err("a rule".into()) };
    let sets = match sets {
        Value::Null => None,
        sets => {
            let terms = sets.items().iter().map(|each| maker.term(each, own));
            Some(terms.collect::<Result<_, _>>()?)
        }
    };
    Ok(Rule {
        number: number.number() as u8,
        sources: sources.items().iter().fold(0, |bits, state| bits | 1 << state.number()),
        to: to.number() as u8,
        when: maker.term(when, own)?,
        sets,
    })
}

/// A table that judges share.
pub type Shared = Rc<Tables>;
