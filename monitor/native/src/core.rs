//! Reads the lines of a file and gives each to the judge of its stream.

use std::collections::HashMap;
use std::rc::Rc;

use crate::breaks::{Doubt, Line};
use crate::event::{Event, Held, Kind, Kinds, Reader};
use crate::json::{Cursor, Read, Value};
use crate::judge::{Judge, Limits, State};
use crate::names::Names;
use crate::outcome;
use crate::store::{Bytes, Store};
use crate::tables::{Shared, Tables};

const LINE_LIMIT: usize = 1 << 20;
const STREAMS: usize = 1 << 16;
const MAGIC: u64 = 0x7265_7369_6465_0001;

/// Why a line was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    No = 0,
    /// It is another dialect, or not as it must be.
    NotTaken = 1,
    TooLong = 2,
    /// It opens one of several ranks.
    Ranked = 3,
    TooManyStreams = 4,
}

/// What all streams of a file have in common, and their judges.
pub struct Core {
    tables: Shared,
    names: Names,
    judges: Vec<Judge>,
    by_stream: HashMap<String, usize>,
    default: usize,
    first: Vec<i64>,
    limits: Limits,
    /// Whether each name of a stream has a judge of its own.
    split: bool,
    reader: Reader,
    /// The number of the last line, how many lines were taken, and how many of them were events.
    pub at: u64,
    pub lines: u64,
    pub events: u64,
    pub refused: Refused,
    pub out: Vec<u8>,
}

impl Core {
    pub fn new(table: &str, options: &str) -> Result<Self, String> {
        let mut names = Names::default();
        let tables = Rc::new(Tables::read(table, &mut names)?);
        names.fix();
        let options = Cursor::new(options).value().ok_or("the options are no JSON")?;
        let limit = |name: &str, usual: usize| match options.get(name) {
            Value::Number(number) => usize::try_from(*number).unwrap_or(usual),
            _ => usual,
        };
        let mode = options.get("mode").text();
        let default = match mode {
            "" => 0,
            mode => tables.mode_named(names.text(mode)).ok_or(format!("no mode {mode}"))?,
        };
        let first = options.get("first").items().iter().map(Value::number).collect::<Vec<_>>();
        Ok(Self {
            tables,
            names,
            judges: Vec::new(),
            by_stream: HashMap::new(),
            default,
            first: if first.is_empty() { vec![0] } else { first },
            limits: Limits {
                live: limit("live", 1_000_000),
                ended: limit("ended", 10_000),
                ids: limit("ids", 1_000_000),
                requests: limit("requests", 1_000_000),
            },
            split: options.get("split").is_true(),
            reader: Reader::default(),
            at: 0,
            lines: 0,
            events: 0,
            refused: Refused::No,
            out: Vec::new(),
        })
    }

    /// Take the lines of a block up to the first that is refused; return how many bytes are done
    /// with. The last line counts if it has an end, or the block `ends` the file.
    pub fn feed(&mut self, block: &[u8], ends: bool) -> usize {
        self.refused = Refused::No;
        let whole = std::str::from_utf8(block).ok();
        let mut done = 0;
        while done < block.len() && self.refused == Refused::No {
            let rest = &block[done..];
            let end = match whole {
                Some(text) => text[done..].find('\n'),
                None => rest.iter().position(|byte| *byte == b'\n'),
            };
            let (line, next) = match end {
                Some(end) => (&rest[..end], end + 1),
                None if ends => (rest, rest.len()),
                None => break,
            };
            self.at += 1;
            if !line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0b) {
                let text = whole.map(|text| &text[done..done + line.len()]);
                let text = text.or_else(|| std::str::from_utf8(line).ok());
                self.refused = match text {
                    _ if line.len() > LINE_LIMIT => Refused::TooLong,
                    Some(text) => self.line(text),
                    None => Refused::NotTaken,
                };
            }
            done += next;
        }
        done
    }

    fn line(&mut self, text: &str) -> Refused {
        let read = self.reader.line(text, &mut self.names, &self.tables);
        let Some(held) = read else { return Refused::NotTaken };
        let at = self.at;
        let event = &self.reader.event;
        let (sequence, time_ns) = (event.sequence, event.time_ns);
        let mut line = Line { at, sequence, time_ns, ..Line::default() };
        let mut events = 1;
        if let Held::Mark(mark) = held {
            if mark.ranked {
                return Refused::Ranked;
            }
            line.observes = mark.observes;
            line.mark = Some(mark);
            events = 0;
        }
        let stream = if self.split { self.reader.stream.as_str() } else { "" };
        let Some(number) = find(&mut self.judges, &mut self.by_stream, stream, || {
            Judge::new(self.tables.clone(), self.default, self.first.clone(), self.limits)
        }) else {
            return Refused::TooManyStreams;
        };
        self.lines += 1;
        self.events += events as u64;
        let judge = &mut self.judges[number];
        std::mem::swap(&mut judge.names, &mut self.names);
        judge.take(&line, &std::slice::from_ref(&self.reader.event)[..events]);
        std::mem::swap(&mut judge.names, &mut self.names);
        self.tidy();
        Refused::No
    }

    /// Take one line of any form, which Python read: an object with the fields of `Line`.
    pub fn take(&mut self, text: &str) -> Result<(), String> {
        let (line, events) = self.packed(text).ok_or("the line is not as it must be")?;
        self.lines += 1;
        self.events += events.len() as u64;
        let Some(number) = find(&mut self.judges, &mut self.by_stream, "", || {
            Judge::new(self.tables.clone(), self.default, self.first.clone(), self.limits)
        }) else {
            return Err("too many streams".into());
        };
        let judge = &mut self.judges[number];
        std::mem::swap(&mut judge.names, &mut self.names);
        judge.take(&line, &events);
        std::mem::swap(&mut judge.names, &mut self.names);
        self.tidy();
        Ok(())
    }

    fn packed(&mut self, text: &str) -> Read<(Line, Vec<Event>)> {
        let (mut line, mut events) = (Line::default(), Vec::<Event>::new());
        let Self { reader, names, tables, .. } = self;
        let mut cursor = Cursor::new(text);
        cursor.object(|cursor, key| {
            match key {
                "at" => line.at = u64::try_from(cursor.integer()?).ok()?,
                "events" => cursor.array(|cursor| {
                    let held = reader.read(cursor, names, tables, false)?;
                    events.push(reader.event.clone());
                    matches!(held, Held::Event).then_some(())
                })?,
                "sequence" => line.sequence = Some(i64::try_from(cursor.integer()?).ok()?),
                "time_ns" => line.time_ns = Some(i64::try_from(cursor.integer()?).ok()?),
                "skips" => line.skips = cursor.boolean()?,
                "mark" => match reader.read(cursor, names, tables, false)? {
                    Held::Mark(mark) => line.mark = Some(mark),
                    Held::Event => return None,
                },
                "observes" => line.observes = Some(kinds(cursor, tables)?),
                "derived" => line.derived = kinds(cursor, tables)?,
                "doubts" => cursor.array(|cursor| {
                    line.doubts.push(doubt(&cursor.value()?));
                    Some(())
                })?,
                "foreign" => line.foreign = cursor.boolean()?,
                "lost" => line.lost = cursor.string()?.into_owned(),
                _ => return None,
            }
            Some(())
        })?;
        (cursor.is_at_end() && line.at > 0).then_some((line, events))
    }

    fn tidy(&mut self) {
        if self.names.is_full() {
            let judges = &self.judges;
            self.names.sweep(|found| judges.iter().for_each(|judge| judge.state.visit(found)));
        }
    }

    /// Call a function with each judge, which has the names meanwhile.
    pub fn each(&mut self, mut work: impl FnMut(&mut Judge, &mut Vec<u8>)) {
        for judge in &mut self.judges {
            std::mem::swap(&mut judge.names, &mut self.names);
            work(judge, &mut self.out);
            std::mem::swap(&mut judge.names, &mut self.names);
        }
    }

    pub fn finish(&mut self) {
        self.each(|judge, _| judge.finish());
    }

    pub fn outcomes(&mut self) {
        self.each(|judge, out| outcome::all(judge, out));
    }

    pub fn drain(&mut self) {
        self.each(outcome::changed);
    }

    pub fn summary(&mut self) {
        self.each(|judge, out| outcome::summary(judge, out));
    }

    /// Append all state as bytes.
    pub fn save(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        (MAGIC, self.tables.digest).put(&mut out);
        self.names.put(&mut out);
        ((self.at, self.lines), self.events).put(&mut out);
        self.judges.len().put(&mut out);
        for judge in &self.judges {
            Rc::<str>::from(judge.stream.as_str()).put(&mut out);
            judge.forgotten.put(&mut out);
            judge.state.put(&mut out);
        }
        self.out = out;
    }

    /// Take back the state of a core that was made with the same table and options.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut from = Bytes(bytes);
        let (magic, digest) = <(u64, u64)>::get(&mut from).ok_or("too short")?;
        if magic != MAGIC || digest != self.tables.digest {
            return Err("made by another version or for another specification".into());
        }
        self.restore(&mut from).filter(|()| from.0.is_empty()).ok_or("damaged".into())
    }

    fn restore(&mut self, from: &mut Bytes) -> Option<()> {
        let names = Names::get(from)?;
        ((self.at, self.lines), self.events) = Store::get(from)?;
        self.judges.clear();
        self.by_stream.clear();
        for number in 0..usize::get(from)? {
            let stream = Rc::<str>::get(from)?.to_string();
            let forgotten = Store::get(from)?;
            let mut judge = Judge::with(self.tables.clone(), State::get(from)?);
            (judge.stream, judge.forgotten) = (stream.clone(), forgotten);
            self.by_stream.insert(stream, number);
            self.judges.push(judge);
        }
        self.names = names;
        Some(())
    }
}

/// The number of the judge of a stream, which is new if there is none.
fn find(
    judges: &mut Vec<Judge>, by_stream: &mut HashMap<String, usize>, stream: &str,
    make: impl FnOnce() -> Judge,
) -> Option<usize> {
    let last = judges.len().wrapping_sub(1);
    if judges.get(last).is_some_and(|judge| judge.stream == stream) {
        return Some(last);
    }
    if let Some(number) = by_stream.get(stream) {
        return Some(*number);
    }
    if judges.len() >= STREAMS {
        return None;
    }
    let mut judge = make();
    judge.stream.push_str(stream);
    judges.push(judge);
    by_stream.insert(stream.to_owned(), judges.len() - 1);
    Some(judges.len() - 1)
}

fn kinds(cursor: &mut Cursor, tables: &Tables) -> Read<Kinds> {
    let mut listed = Vec::new();
    cursor.array(|cursor| {
        listed.push(tables.kind(&cursor.string()?)? as Kind);
        Some(())
    })?;
    Some(Kinds::of(&listed))
}

fn doubt(value: &Value) -> Doubt {
    let [name, only, why] = value.items() else { return Doubt::default() };
    let name = Some(name.text().to_owned()).filter(|name| !name.is_empty());
    let only = only.items().iter().map(|each| each.text().to_owned()).collect();
    (name, only, why.text().to_owned())
}
