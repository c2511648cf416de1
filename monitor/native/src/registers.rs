//! Holds registers and where observers stand in a scope, in few bytes where all numbers are small.

use crate::breaks::Place;
use crate::record;
use crate::store::{Bytes, Store};
use crate::tables::{Tables, Verdict, PENDING, UNKNOWN};

/// So many registers need no allocation of their own.
const FEW: usize = 15;
/// What stands for an unknown value where values are small.
const UNSURE: i16 = i16::MIN;

/// Registers: whole numbers, or unknown.
#[derive(Clone, PartialEq, Debug)]
pub enum Registers {
    Small(u8, [i16; FEW]),
    Large(Box<[i64]>),
}

impl Default for Registers {
    fn default() -> Self {
        Self::Small(0, [0; FEW])
    }
}

fn large(cell: i16) -> i64 {
    if cell == UNSURE {
        UNKNOWN
    } else {
        cell.into()
    }
}

fn small(value: i64) -> Option<i16> {
    if value == UNKNOWN {
        return Some(UNSURE);
    }
    i16::try_from(value).ok().filter(|small| *small != UNSURE)
}

impl Registers {
    pub fn get(&self, place: usize) -> i64 {
        match self {
            Self::Small(_, cells) => large(cells[place]),
            Self::Large(cells) => cells[place],
        }
    }

    pub fn set(&mut self, place: usize, value: i64) {
        match (&mut *self, small(value)) {
            (Self::Small(_, cells), Some(small)) => cells[place] = small,
            (Self::Small(..), None) => {
                *self = Self::Large(self.iter().collect());
                self.set(place, value);
            }
            (Self::Large(cells), _) => cells[place] = value,
        }
    }

    /// Write all values to the front of a row.
    pub fn copy_to(&self, row: &mut [i64]) {
        match self {
            Self::Small(count, cells) => {
                let cells = &cells[..usize::from(*count)];
                row.iter_mut().zip(cells).for_each(|(value, cell)| *value = large(*cell));
            }
            Self::Large(cells) => row[..cells.len()].copy_from_slice(cells),
        }
    }

    fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        let count = match self {
            Self::Small(count, _) => usize::from(*count),
            Self::Large(cells) => cells.len(),
        };
        (0..count).map(|place| self.get(place))
    }
}

impl FromIterator<i64> for Registers {
    fn from_iter<T: IntoIterator<Item = i64>>(values: T) -> Self {
        let values: Vec<i64> = values.into_iter().collect();
        if values.len() > FEW {
            return Self::Large(values.into());
        }
        let mut made = Self::Small(values.len() as u8, [0; FEW]);
        values.into_iter().enumerate().for_each(|(place, value)| made.set(place, value));
        made
    }
}

impl Store for Registers {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().collect::<Vec<_>>().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Some(Vec::get(from)?.into_iter().collect())
    }
}

record! {
    /// Where an observer stands in one scope: its state, and the line and the rule that last moved
    /// it. An `absent` one does not belong to the scope; one that restated events alone moved is
    /// not `exercised`.
    #[derive(Clone, Copy, Debug)]
    pub struct Stand { state: u8, rule: u8, exercised: bool, absent: bool, at: Place }
}

/// The same where the number of the line and its sequence number are below 2^32 - 1.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    state: u8,
    rule: u8,
    exercised: bool,
    absent: bool,
    line: u32,
    sequence: u32,
}

impl Near {
    fn of(stand: &Stand) -> Option<Self> {
        let Stand { state, rule, exercised, absent, at } = *stand;
        let line = u32::try_from(at.line).ok()?;
        let number = at.sequence();
        let sequence = number.map_or(Some(u32::MAX), |number| u32::try_from(number).ok())?;
        let fits = number.is_none() == (sequence == u32::MAX);
        fits.then_some(Self { state, rule, exercised, absent, line, sequence })
    }

    fn stand(self) -> Stand {
        let Self { state, rule, exercised, absent, line, sequence } = self;
        let sequence = (sequence != u32::MAX).then_some(sequence.into());
        Stand { state, rule, exercised, absent, at: Place::new(line.into(), sequence) }
    }
}

/// Where the observers of a scope stand, by their places in the mode.
#[derive(Clone, Debug)]
pub enum Stands {
    Near(Box<[Near]>),
    Far(Box<[Stand]>),
}

impl Default for Stands {
    fn default() -> Self {
        Self::Near(Box::default())
    }
}

impl Stands {
    pub fn len(&self) -> usize {
        match self {
            Self::Near(rows) => rows.len(),
            Self::Far(rows) => rows.len(),
        }
    }

    pub fn get(&self, place: usize) -> Stand {
        match self {
            Self::Near(rows) => rows[place].stand(),
            Self::Far(rows) => rows[place],
        }
    }

    /// The state of an observer; None for one that is absent.
    pub fn state(&self, place: usize) -> Option<u8> {
        let (state, absent) = match self {
            Self::Near(rows) => (rows[place].state, rows[place].absent),
            Self::Far(rows) => (rows[place].state, rows[place].absent),
        };
        (!absent).then_some(state)
    }

    /// An observer does not belong to the scope.
    fn leave_out(&mut self, place: usize) {
        match self {
            Self::Near(rows) => rows[place].absent = true,
            Self::Far(rows) => rows[place].absent = true,
        }
    }

    pub fn set(&mut self, place: usize, stand: Stand) {
        match (&mut *self, Near::of(&stand)) {
            (Self::Near(rows), Some(near)) => rows[place] = near,
            (Self::Near(_), None) => {
                *self = Self::Far(self.iter().collect());
                self.set(place, stand);
            }
            (Self::Far(rows), _) => rows[place] = stand,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Stand> + '_ {
        (0..self.len()).map(|place| self.get(place))
    }
}

impl FromIterator<Stand> for Stands {
    fn from_iter<T: IntoIterator<Item = Stand>>(stands: T) -> Self {
        let stands: Box<[Stand]> = stands.into_iter().collect();
        let near: Option<Box<[Near]>> = stands.iter().map(Near::of).collect();
        near.map_or(Self::Far(stands), Self::Near)
    }
}

impl Store for Stands {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().collect::<Vec<_>>().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        Some(Vec::get(from)?.into_iter().collect())
    }
}

record! {
    /// The claim itself, or a request of it: where the observers stand, with the registers of all
    /// of them.
    #[derive(Clone, Default, Debug)]
    pub struct Scope { stands: Stands, registers: Registers }
}

/// The verdict of the state of an observer.
pub fn verdict_of(tables: &Tables, obligation: u8, stand: &Stand) -> Verdict {
    tables.obligations[usize::from(obligation)].verdicts[usize::from(stand.state)]
}

impl Scope {
    /// The scope of a request that is followed from now on: its observers stand where the claim's do.
    pub fn of_request(&self, mode: usize, tables: &Tables) -> Self {
        let mut made = self.clone();
        for (place, &number) in tables.modes[mode].obligations.iter().enumerate() {
            if !tables.obligations[usize::from(number)].per_request {
                made.stands.leave_out(place);
            }
        }
        made
    }

    /// Whether anything is owed in it.
    pub fn owes(&self, mode: usize, tables: &Tables) -> bool {
        let mut obligations = tables.modes[mode].obligations.iter().enumerate();
        obligations.any(|(place, &number)| {
            let verdicts = &tables.obligations[usize::from(number)].verdicts;
            let state = self.stands.state(place);
            state.is_some_and(|state| verdicts[usize::from(state)] == PENDING)
        })
    }
}
