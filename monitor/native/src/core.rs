//! Reads the lines of a file and gives each to the judge of its stream.

use std::collections::HashMap;
use std::rc::Rc;

use crate::breaks::{Doubt, Line, Place};
use crate::event::{group, Event, Kinds, Mark, Reader};
use crate::json::{Cursor, Read};
use crate::judge::Judge;
use crate::names::{Name, Names};
use crate::outcome;
use crate::state::{Asked, State, Stream};
use crate::store::{Bytes, Store};
use crate::tables::{Shared, Tables};

const MAGIC: u64 = 0x7265_7369_6465_0007;

/// What all streams of a file have in common, and their judges.
pub struct Core {
    tables: Shared,
    names: Box<Names>,
    judges: Vec<Judge>,
    by_stream: HashMap<String, usize>,
    /// The stream that the last line named, if it did, and the number of its judge.
    last: Option<(Option<Name>, usize)>,
    asked: Rc<Asked>,
    reader: Reader,
    /// The first line that could not be read, and why: what it states is missing from every stream.
    spoiled: Option<(Place, String)>,
    /// How many events of each kind `feed` took.
    pub kinds: Vec<u64>,
    pub out: Vec<u8>,
}

/// A line that Python read, and the stream that it belongs to.
#[derive(Default)]
struct Packed {
    line: Line,
    events: Vec<Event>,
    stream: Stream,
    first: Vec<i64>,
}

impl Core {
    /// A core for a table and options, as `monitor.native.tables` writes both.
    pub fn new(table: &[u8], options: &[u8]) -> Option<Self> {
        let mut names = Box::<Names>::default();
        let tables = Rc::new(Tables::read(table, &mut names)?);
        names.fix();
        Some(Self {
            kinds: vec![0; tables.kinds.len()],
            tables,
            names,
            judges: Vec::new(),
            by_stream: HashMap::new(),
            last: None,
            asked: Rc::new(Asked::get(&mut Bytes(options))?),
            reader: Reader::default(),
            spoiled: None,
            out: Vec::new(),
        })
    }

    /// Take whole lines from this number on, up to the first that is not of a canonical event;
    /// return how many bytes are done with, and how many lines. The last line needs no end.
    pub fn feed(&mut self, block: &[u8], number: u64) -> (usize, u64) {
        let mut cursor = Cursor::new(block);
        let (mut done, mut lines) = (0, 0);
        while done < block.len() {
            if !cursor.blank() && self.line(&mut cursor, number + lines).is_none() {
                self.tidy(); // of the names in it
                break;
            }
            done = cursor.taken();
            lines += 1;
        }
        (done, lines)
    }

    fn line(&mut self, cursor: &mut Cursor, at: u64) -> Read<()> {
        self.reader.line(cursor, &mut self.names, &self.tables)?;
        let event = &self.reader.event;
        let (stated, sequence, time_ns) = (event.stream, event.sequence, event.time_ns);
        let place = Place::new(at, sequence);
        let line = Line { at: place, sequence, time_ns, ..Line::default() };
        self.kinds[usize::from(event.kind)] += 1;
        let number = match self.last {
            Some((stream, number)) if stream == stated => number,
            _ => self.named(stated, sequence),
        };
        let events = std::slice::from_ref(&self.reader.event);
        with_names(&mut self.names, &mut self.judges[number], |judge| judge.take(&line, events));
        self.tidy();
        Some(())
    }

    /// The number of the judge of the stream that a line of `feed` names.
    fn named(&mut self, stated: Option<Name>, first: Option<i64>) -> usize {
        let name = stated.map_or_else(|| self.asked.unnamed.clone(), |name| self.names.show(name));
        let number = self.by_stream.get(&name).copied().unwrap_or_else(|| {
            self.begin(Stream { name, form: "canonical".into(), first }, vec![0])
        });
        self.last = Some((stated, number));
        number
    }

    /// Take one line of any form, which Python read.
    pub fn take(&mut self, text: &str) -> Result<(), String> {
        let packed = self.packed(text).ok_or("the line is not as it must be")?;
        let Packed { mut line, events, stream, first } = packed;
        let form = stream.form.clone();
        let found = self.by_stream.get(&stream.name).copied();
        let number = found.unwrap_or_else(|| self.begin(stream, first));
        line.foreign = form != self.judges[number].stream.form;
        self.give(number, &line, &events);
        self.tidy();
        Ok(())
    }

    fn give(&mut self, number: usize, line: &Line, events: &[Event]) {
        with_names(&mut self.names, &mut self.judges[number], |judge| judge.take(line, events));
    }

    /// Lines may be missing, or one was not understood: of a stream, or of all that there are, and
    /// where the line spoils them of those that begin later.
    pub fn lose(&mut self, text: &str) -> Result<(), String> {
        let (mut line, mut stream, mut spoils) = (Line::default(), None, false);
        let mut cursor = Cursor::new(text.as_bytes());
        let read = cursor.object(|cursor| {
            match cursor.key()? {
                b"at" => line.at.line = u64::try_from(cursor.integer()?).ok()?,
                b"numbered" => line.at.sequence = i64::try_from(cursor.integer()?).ok()?,
                b"stream" => stream = Some(cursor.text()?),
                b"spoils" => spoils = cursor.boolean()?,
                b"unread" => line.unread = cursor.text()?,
                _ => line.lost = cursor.text()?,
            }
            Some(())
        });
        read.ok_or("what is lost is not said as it must be")?;
        if spoils {
            self.spoiled.get_or_insert_with(|| (line.at, line.unread.clone()));
        }
        for number in 0..self.judges.len() {
            if stream.as_ref().is_none_or(|name| *name == self.judges[number].stream.name) {
                self.give(number, &line, &[]);
            }
        }
        Ok(())
    }

    /// Begin a stream, with the numbers that a run of it may begin with; return its number.
    fn begin(&mut self, stream: Stream, first: Vec<i64>) -> usize {
        let number = self.judges.len();
        self.by_stream.insert(stream.name.clone(), number);
        self.judges.push(Judge::new(self.tables.clone(), self.asked.clone(), stream, first));
        if let Some((at, unread)) = self.spoiled.clone() {
            self.give(number, &Line { at, unread, ..Line::default() }, &[]);
        }
        number
    }

    fn packed(&mut self, text: &str) -> Read<Packed> {
        let mut packed = Packed::default();
        let Packed { line, events, stream, first } = &mut packed;
        let Self { reader, names, tables, .. } = self;
        let mut cursor = Cursor::new(text.as_bytes());
        let number = |cursor: &mut Cursor| i64::try_from(cursor.integer()?).ok();
        cursor.object(|cursor| {
            match cursor.key()? {
                b"at" => line.at.line = u64::try_from(cursor.integer()?).ok()?,
                b"numbered" => line.at.sequence = number(cursor)?,
                b"stream" => stream.name = cursor.text()?,
                b"form" => stream.form = cursor.text()?,
                b"first" => cursor.array(|cursor| Some(first.push(number(cursor)?)))?,
                b"events" => cursor.array(|cursor| {
                    reader.read(cursor, names, tables, false)?;
                    Some(events.push(reader.event.clone()))
                })?,
                b"sequence" => line.sequence = Some(number(cursor)?),
                b"time_ns" => line.time_ns = Some(number(cursor)?),
                b"skips" => line.skips = cursor.boolean()?,
                b"mark" => line.mark = Some(Mark::named(&cursor.string()?)?),
                b"groups" => cursor.array(|cursor| Some(line.groups.push(group(cursor)?)))?,
                b"observes" => line.observes = Some(kinds(cursor, tables)?),
                b"derived" => line.derived = kinds(cursor, tables)?,
                b"doubts" => cursor.array(|cursor| Some(line.doubts.push(doubt(cursor)?)))?,
                b"lost" => line.lost = cursor.text()?,
                b"unread" => line.unread = cursor.text()?,
                _ => return None,
            }
            Some(())
        })?;
        packed.stream.first = packed.line.sequence;
        cursor.end()?;
        (packed.line.at.line > 0).then_some(packed)
    }

    fn tidy(&mut self) {
        if self.names.is_full() {
            let judges = &self.judges;
            self.names.sweep(|found| judges.iter().for_each(|judge| judge.state.visit(found)));
            self.forget();
        }
    }

    /// Names may stand for others than they did.
    fn forget(&mut self) {
        self.reader.forget();
        self.last = None;
    }

    /// Call a function with each judge, which has the names meanwhile.
    pub fn each(&mut self, mut work: impl FnMut(&mut Judge, &mut Vec<u8>)) {
        for judge in &mut self.judges {
            with_names(&mut self.names, judge, |judge| work(judge, &mut self.out));
        }
    }

    pub fn finish(&mut self) {
        self.each(|judge, _| judge.finish());
    }

    /// Append a line of JSON for each stream with what is asked for: what it came to, with all its
    /// claims or with few of those that were kept; its claims in hand; what is new of those that were
    /// decided or of all that were moved; or how many claims of it are live, after a line with the
    /// events of each kind.
    pub fn look(&mut self, what: &str) -> Result<(), String> {
        match what {
            "found" => self.each(|judge, out| outcome::stream(judge, true, out)),
            "found but kept" => self.each(|judge, out| outcome::stream(judge, false, out)),
            "in hand" => self.each(|judge, out| outcome::in_hand(judge, out)),
            "decided" => self.each(|judge, out| outcome::news(judge, false, out)),
            "moved" => self.each(|judge, out| outcome::news(judge, true, out)),
            "counts" => {
                let kinds: Vec<String> = self.kinds.iter().map(u64::to_string).collect();
                self.out.extend_from_slice(format!("[{}]\n", kinds.join(",")).as_bytes());
                self.each(|judge, out| outcome::live(judge, out));
            }
            _ => return Err(format!("{what} cannot be asked for")),
        }
        Ok(())
    }

    /// Append all state as bytes, or that of one stream.
    pub fn save(&mut self, only: &str) {
        let mut out = std::mem::take(&mut self.out);
        (MAGIC, self.tables.digest).put(&mut out);
        self.names.put(&mut out);
        self.kinds.put(&mut out);
        self.spoiled.put(&mut out);
        let kept = self.judges.iter().filter(|each| only.is_empty() || each.stream.name == only);
        kept.clone().count().put(&mut out);
        for judge in kept {
            judge.stream.put(&mut out);
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
        self.kinds = Store::get(from)?;
        self.spoiled = Store::get(from)?;
        self.forget();
        self.judges.clear();
        self.by_stream.clear();
        for number in 0..usize::get(from)? {
            let stream = Stream::get(from)?;
            self.by_stream.insert(stream.name.clone(), number);
            let (tables, asked) = (self.tables.clone(), self.asked.clone());
            self.judges.push(Judge::with(tables, asked, stream, State::get(from)?));
        }
        self.names = Box::new(names);
        Some(())
    }
}

/// Call a function with a judge that has the names meanwhile.
fn with_names(names: &mut Box<Names>, judge: &mut Judge, work: impl FnOnce(&mut Judge)) {
    std::mem::swap(&mut judge.names, names);
    work(judge);
    std::mem::swap(&mut judge.names, names);
}

fn kinds(cursor: &mut Cursor, tables: &Tables) -> Read<Kinds> {
    let mut listed = Vec::new();
    cursor.array(|cursor| Some(listed.push(tables.kind(&cursor.string()?)?)))?;
    Some(Kinds::of(&listed))
}

fn doubt(cursor: &mut Cursor) -> Read<Doubt> {
    let (mut claim, mut only, mut why) = (None, Vec::new(), String::new());
    cursor.object(|cursor| {
        match cursor.key()? {
            b"claim" => claim = Some(cursor.text()?),
            b"only" => cursor.array(|cursor| Some(only.push(cursor.text()?)))?,
            _ => why = cursor.text()?,
        }
        Some(())
    })?;
    Some((claim, only, why))
}
