//! Holds registers and where observers stand in a scope, in few bytes where all numbers are small.

use crate::breaks::Place;
use crate::claim::NO_RULE;
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
            Self::Small(count, cells) => match row.first_chunk_mut() {
                Some(row) if usize::from(*count) == FEW => *row = cells.map(large),
                _ => row.iter_mut().zip(self.iter()).for_each(|(value, cell)| *value = cell),
            },
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

/// Where the observers of a scope stand, by their places in the mode. They mostly moved together, so
/// the lines that last moved them are listed once: `cells` has a word for each observer, and behind
/// them the lines and sequence numbers, in a word each, or in two if any does not fit in one.
#[derive(Clone, Debug, Default)]
pub struct Stands {
    cells: Box<[u32]>,
    count: u8,
    wide: bool,
}

const EXERCISED: u8 = 1;
const ABSENT: u8 = 2;

/// A number of a line and a sequence number in one word each.
fn near(at: Place) -> Option<[u32; 2]> {
    let number = at.sequence().map_or(Some(u32::MAX), |number| u32::try_from(number).ok())?;
    let fits = at.sequence().is_none() == (number == u32::MAX);
    Some([u32::try_from(at.line).ok().filter(|_| fits)?, number])
}

impl Stands {
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// The words of the observers, and those of the lines that moved them.
    fn parts(&self) -> (&[u32], &[u32]) {
        self.cells.split_at(self.len())
    }

    /// The line of a number from 1 on; 0 is none.
    fn line(&self, number: u8) -> Place {
        let Some(at) = usize::from(number).checked_sub(1) else { return Place::NONE };
        let lines = self.parts().1;
        if self.wide {
            let word = |at: usize| u64::from(lines[at]) | u64::from(lines[at + 1]) << 32;
            return Place { line: word(4 * at), sequence: word(4 * at + 2) as i64 };
        }
        let sequence = Some(lines[2 * at + 1]).filter(|number| *number != u32::MAX);
        Place::new(lines[2 * at].into(), sequence.map(i64::from))
    }

    pub fn get(&self, place: usize) -> Stand {
        let [state, rule, flags, line] = self.cells[place].to_le_bytes();
        let (exercised, absent) = (flags & EXERCISED != 0, flags & ABSENT != 0);
        Stand { state, rule, exercised, absent, at: self.line(line) }
    }

    /// The state of an observer; None for one that is absent.
    pub fn state(&self, place: usize) -> Option<u8> {
        let [state, _, flags, _] = self.cells[place].to_le_bytes();
        (flags & ABSENT == 0).then_some(state)
    }

    pub fn set(&mut self, place: usize, stand: Stand) {
        let line = match near(stand.at).filter(|_| !self.wide) {
            _ if stand.at == Place::NONE => 0,
            Some(words) => self.list(place, words),
            None => {
                let mut stands: Vec<Stand> = self.iter().collect();
                stands[place] = stand;
                *self = stands.into_iter().collect();
                return;
            }
        };
        self.cells[place] = word(&stand, line);
    }

    /// The number of a line that moves an observer now. It replaces one that moved no other last, so
    /// there are no more lines than observers.
    fn list(&mut self, place: usize, words: [u32; 2]) -> u8 {
        let (cells, lines) = self.cells.split_at_mut(self.count.into());
        let known = lines.chunks_exact(2).position(|line| *line == words);
        cells[place] = 0;
        let moved = |line: usize| cells.iter().any(|cell| (cell >> 24) as usize == line + 1);
        let free = || (0..lines.len() / 2).find(|line| !moved(*line));
        let line = known.or_else(free).unwrap_or(lines.len() / 2);
        if 2 * line == lines.len() {
            let mut more = std::mem::take(&mut self.cells).into_vec();
            more.reserve_exact(words.len());
            more.extend(words);
            self.cells = more.into();
        } else {
            lines[2 * line..][..2].copy_from_slice(&words);
        }
        line as u8 + 1
    }

    /// An observer does not belong to the scope. The words of the line that moved it are free again.
    fn leave_out(&mut self, place: usize) {
        self.cells[place] = u32::from_le_bytes([0, NO_RULE, ABSENT, 0]);
    }

    /// So many observers that stand where they begin.
    pub fn first(count: usize) -> Self {
        let at = Place::NONE;
        let first = Stand { state: 0, rule: NO_RULE, exercised: true, absent: false, at };
        Self { cells: vec![word(&first, 0); count].into(), count: count as u8, wide: false }
    }

    pub fn iter(&self) -> impl Iterator<Item = Stand> + '_ {
        (0..self.len()).map(|place| self.get(place))
    }
}

fn word(stand: &Stand, line: u8) -> u32 {
    let flags = u8::from(stand.exercised) * EXERCISED + u8::from(stand.absent) * ABSENT;
    u32::from_le_bytes([stand.state, stand.rule, flags, line])
}

impl FromIterator<Stand> for Stands {
    fn from_iter<T: IntoIterator<Item = Stand>>(stands: T) -> Self {
        let stands: Vec<Stand> = stands.into_iter().collect();
        let mut lines = vec![Place::NONE];
        let mut cells = Vec::with_capacity(2 * stands.len());
        for stand in &stands {
            let known = lines.iter().position(|line| *line == stand.at);
            let line = known.unwrap_or_else(|| {
                lines.push(stand.at);
                lines.len() - 1
            });
            cells.push(word(stand, line as u8));
        }
        let lines = &lines[1..];
        let wide = !lines.iter().all(|line| near(*line).is_some());
        for line in lines {
            match near(*line).filter(|_| !wide) {
                Some(words) => cells.extend(words),
                None => {
                    let numbers = [line.line, line.sequence as u64];
                    cells.extend(numbers.iter().flat_map(|n| [*n as u32, (*n >> 32) as u32]));
                }
            }
        }
        Self { cells: cells.into(), count: stands.len() as u8, wide }
    }
}

impl Store for Stands {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().collect::<Vec<_>>().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let stands = Vec::<Stand>::get(from)?;
        (stands.len() <= usize::from(u8::MAX)).then(|| stands.into_iter().collect())
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
