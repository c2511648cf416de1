//! Watches the order of lines, and names what breaks a stream.

use std::rc::Rc;

use crate::event::{Group, Kinds, Mark};
use crate::record;
use crate::store::{Bytes, Store};

/// Declares the codes with their names, as `spec.stream.codes` has them.
macro_rules! codes {
    ($($code:ident $name:literal),* $(,)?) => {
        /// A reason for which nothing is concluded.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Code { $($code),* }
        const CODES: &[(Code, &str)] = &[$((Code::$code, $name)),*];
    };
}
codes! {
    LinesMissing "LINES_MISSING", OutOfOrder "OUT_OF_ORDER", NotUnderstood "NOT_UNDERSTOOD",
    ClaimsLimit "CLAIMS_LIMIT", StreamCut "STREAM_CUT", NewRun "NEW_RUN",
    RequestsLimit "REQUESTS_LIMIT", TimeBackwards "TIME_BACKWARDS",
    TwoForms "TWO_FORMS", EntryContradicts "ENTRY_CONTRADICTS", BlockHoldsTwo "BLOCK_HOLDS_TWO",
    BlockNotHeld "BLOCK_NOT_HELD", CopyNotThere "COPY_NOT_THERE",
    LookupContradicts "LOOKUP_CONTRADICTS", ReuseNotHeld "REUSE_NOT_HELD",
    RequestContradicts "REQUEST_CONTRADICTS", KeysContradict "KEYS_CONTRADICT",
    IdentityContradicts "IDENTITY_CONTRADICTS", DurationContradicts "DURATION_CONTRADICTS",
    ObjectAmbiguous "OBJECT_AMBIGUOUS", NothingNamed "NOTHING_NAMED",
    UnclearAmount "UNCLEAR_AMOUNT", GroupsContradict "GROUPS_CONTRADICT",
    CopyOnGpu "COPY_ON_GPU", BlocksLimit "BLOCKS_LIMIT", KeysForgotten "KEYS_FORGOTTEN",
    UnknownPool "UNKNOWN_POOL", ModeContradicts "MODE_CONTRADICTS", NotRegistered "NOT_REGISTERED", IdReused "ID_REUSED",
    TermsContradict "TERMS_CONTRADICT", DurationUntimed "DURATION_UNTIMED",
    TermsMissing "TERMS_MISSING", FormOmits "FORM_OMITS", NextStepUnknown "NEXT_STEP_UNKNOWN",
    NotObserved "NOT_OBSERVED", FormOmitsField "FORM_OMITS_FIELD",
    RequestForgotten "REQUEST_FORGOTTEN",
}

impl Code {
    pub fn name(self) -> &'static str {
        CODES[self as usize].1
    }
    pub fn named(name: &str) -> Option<Self> {
        CODES.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

impl Store for Code {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        CODES.get(usize::from(u8::get(from)?)).map(|row| row.0)
    }
}

record! {
    /// The number of a line, and its sequence number where it has one; line 0 is none.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Place { line: u64, sequence: i64 }
}

/// What stands for no sequence number.
const UNNUMBERED: i64 = i64::MIN;

impl Default for Place {
    fn default() -> Self {
        Self::NONE
    }
}

impl Place {
    pub const NONE: Self = Self { line: 0, sequence: UNNUMBERED };

    pub fn new(line: u64, sequence: Option<i64>) -> Self {
        Self { line, sequence: sequence.unwrap_or(UNNUMBERED) }
    }
    pub fn is_none(self) -> bool {
        self.line == 0
    }
    pub fn sequence(self) -> Option<i64> {
        Some(self.sequence).filter(|number| *number != UNNUMBERED)
    }
    /// This one, or another where it is none.
    pub fn or(self, other: Self) -> Self {
        if self.is_none() {
            other
        } else {
            self
        }
    }
}

record! {
    /// Why nothing is concluded from a line on.
    #[derive(Clone, Debug)]
    pub struct Reason { code: Code, text: Rc<str>, at: Place }
}

impl Reason {
    pub fn new(code: Code, text: impl Into<Rc<str>>, at: Place) -> Self {
        Self { code, text: text.into(), at }
    }
}

/// A fact contradicts those before it, so that not all were observed, or not faithfully.
#[derive(Debug)]
pub struct Contradiction {
    pub code: Code,
    pub text: String,
}

impl Contradiction {
    pub fn at(&self, place: Place) -> Reason {
        Reason::new(self.code, self.text.as_str(), place)
    }
}

/// Nothing, or a contradiction.
pub type Fine<T = ()> = Result<T, Box<Contradiction>>;

/// That facts contradict.
pub fn contradiction<T>(code: Code, text: impl Into<String>) -> Fine<T> {
    Err(Box::new(Contradiction { code, text: text.into() }))
}

/// A claim, or all that are alive, of which nothing more is concluded, or nothing of some
/// obligations, with the reason.
pub type Doubt = (Option<String>, Vec<String>, String);

/// One line of a stream, besides its events.
#[derive(Default, Debug)]
pub struct Line {
    pub at: Place,
    pub sequence: Option<i64>,
    pub time_ns: Option<i64>,
    pub skips: bool,
    pub mark: Option<Mark>,
    /// The groups of caches that a mark states.
    pub groups: Vec<(u64, Group)>,
    pub observes: Option<Kinds>,
    pub doubts: Vec<Doubt>,
    pub derived: Kinds,
    pub foreign: bool,
    pub lost: String,
    pub unread: String,
}

record! {
    /// The sequence number and the time of the last line that had them.
    #[derive(Default)]
    pub struct Order {
        first: Vec<i64>,
        sequence: Option<i64>,
        time_ns: Option<i64>,
        opened: Place,
        closed: bool,
        mixed: bool,
    }
}

/// The next line is as expected, or it breaks the stream, or begins a new run: with whether the
/// run before it was closed, and no line between them is missing.
pub enum Step {
    Fine,
    Broken(Reason),
    Begins(Reason, bool),
}

impl Order {
    /// The next line of the stream.
    pub fn take(&mut self, line: &Line) -> Step {
        self.mixed |= line.foreign;
        if self.mixed {
            let text = "two dialects in one stream";
            return Step::Broken(Reason::new(Code::TwoForms, text, line.at));
        }
        let (last, mut then, closed) = (self.sequence, self.time_ns, self.closed);
        let (number, now) = (line.sequence, line.time_ns);
        let opens = line.mark == Some(Mark::Opened);
        let cut = opens && self.is_cut();
        let mut follows = opens && closed;
        if follows {
            then = None; // perhaps it has another clock
        }
        let again = number.is_some_and(|number| last.is_some_and(|last| number <= last));
        let is_first = number.is_some_and(|number| self.first.contains(&number));
        let is_next = |number| last.map_or(is_first, |last: i64| number == last.wrapping_add(1));
        (self.sequence, self.time_ns) = (number.or(last), now.or(then));
        self.closed = line.mark == Some(Mark::Closed);
        let mut wrong = None;
        if cut || (again && is_first) {
            (self.time_ns, self.opened, follows) = (now, Place::default(), true);
        } else if again {
            let text = "sequence numbers of the stream go backwards";
            wrong = Some((Code::OutOfOrder, text.to_string()));
        } else if now.is_some_and(|now| then.is_some_and(|then| now < then)) {
            wrong = Some((Code::TimeBackwards, "times of the stream go backwards".to_string()));
        } else if !line.unread.is_empty() {
            wrong = Some((Code::NotUnderstood, line.unread.clone()));
        } else if !line.lost.is_empty() {
            wrong = Some((Code::LinesMissing, line.lost.clone()));
        } else if let Some(number) = number.filter(|number| !line.skips && !is_next(*number)) {
            let gap = format!("lines are missing before sequence number {number}");
            wrong = Some((Code::LinesMissing, gap));
        }
        if opens {
            self.opened = line.at;
        }
        let closed = closed && wrong.is_none() && line.lost.is_empty() && line.unread.is_empty();
        let reason = |(code, text): (Code, String)| Reason::new(code, text, line.at);
        if follows {
            let run = (Code::NewRun, "another run of the stream begins".into());
            return Step::Begins(reason(wrong.unwrap_or(run)), closed);
        }
        wrong.map_or(Step::Fine, |wrong| Step::Broken(reason(wrong)))
    }

    /// Whether the stream promised an end that is not its last line.
    pub fn is_cut(&self) -> bool {
        !self.opened.is_none() && !self.closed
    }
}
