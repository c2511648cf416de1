//! Reads JSON strictly: UTF-8, no number or text that the reader of events in Python refuses.

use std::borrow::Cow;

/// What may be wrong is not told apart: the reader in Python writes the error.
pub type Read<T> = Option<T>;

/// The place in a text.
pub struct Cursor<'a> {
    whole: &'a str,
    text: &'a [u8],
    at: usize,
}

/// Longest whole number that is read, in digits.
const DIGITS: usize = 4300;

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { whole: text, text: text.as_bytes(), at: 0 }
    }

    /// The next byte that is no space, which is not taken.
    pub fn peek(&mut self) -> Read<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Take what follows a member or an item; whether it ends the list.
    fn ends(&mut self, end: u8) -> Read<bool> {
        let byte = self.peek()?;
        self.at += 1;
        (byte == end || byte == b',').then_some(byte == end)
    }

    /// Take this byte, after spaces.
    pub fn expect(&mut self, byte: u8) -> Read<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Whether nothing but spaces is left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Go through the members of an object; `each` takes the value after a key, and refuses keys that
    /// it does not know: those with a backslash are not decoded.
    pub fn object(&mut self, mut each: impl FnMut(&mut Self, &str) -> Read<()>) -> Read<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            self.expect(b'"')?;
            let start = self.at;
            self.at += before(&self.text[start..], |word| having(word, b'"')) + 1;
            let key = self.whole.get(start..self.at - 1)?;
            self.expect(b':')?;
            each(self, key)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    /// Go through the items of an array; `each` takes one.
    pub fn array(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            return self.expect(b']');
        }
        loop {
            each(self)?;
            if self.ends(b']')? {
                return Some(());
            }
        }
    }

    fn word(&mut self, word: &str) -> Read<()> {
        self.peek()?;
        self.text[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Take `null`, if it is next.
    pub fn null(&mut self) -> Read<bool> {
        if self.peek()? != b'n' {
            return Some(false);
        }
        self.word("null").map(|()| true)
    }

    pub fn boolean(&mut self) -> Read<bool> {
        match self.peek()? {
            b't' => self.word("true").map(|()| true),
            _ => self.word("false").map(|()| false),
        }
    }

    /// A whole number: whether it is negative, and its digits without zeros in front.
    pub fn digits(&mut self) -> Read<(bool, &'a [u8])> {
        let negative = self.peek()? == b'-';
        self.at += usize::from(negative);
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        let whole = !matches!(self.text.get(self.at), Some(b'.' | b'e' | b'E'));
        let plain = digits.len() == 1 || *digits.first()? != b'0';
        let fine = whole && plain && digits.len() <= DIGITS;
        fine.then_some((negative && digits != b"0", digits))
    }

    /// A whole number, at least -2^127 and at most 2^127 - 1, which stand for what is beyond.
    pub fn integer(&mut self) -> Read<i128> {
        let (negative, digits) = self.digits()?;
        let bound = if negative { i128::MIN } else { i128::MAX };
        let value = std::str::from_utf8(digits).ok()?.parse::<i128>();
        Some(value.map_or(bound, |value| if negative { -value } else { value }))
    }

    /// A whole number of 64 bits.
    pub fn whole(&mut self) -> Read<i64> {
        let start = self.at;
        let (negative, digits) = self.digits()?;
        if digits.len() > 18 {
            self.at = start;
            return self.integer()?.try_into().ok();
        }
        let value = digits.iter().fold(0i64, |n, d| 10 * n + i64::from(d - b'0'));
        Some(if negative { -value } else { value })
    }

    /// A text.
    pub fn string(&mut self) -> Read<Cow<'a, str>> {
        self.expect(b'"')?;
        let start = self.at;
        self.at += before(&self.text[start..], ends);
        match self.text.get(self.at)? {
            b'"' => {
                self.at += 1;
                self.whole.get(start..self.at - 1).map(Cow::Borrowed)
            }
            b'\\' => self.escaped(start).map(Cow::Owned),
            _ => None,
        }
    }

    fn escaped(&mut self, start: usize) -> Read<String> {
        let mut text = self.text[start..self.at].to_vec();
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(text).ok(),
                b'\\' => {
                    let code = *self.text.get(self.at)?;
                    self.at += 1;
                    let plain = match code {
                        b'"' | b'\\' | b'/' => char::from(code),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.unicode()?,
                        _ => return None,
                    };
                    text.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..=0x1f => return None,
                _ => text.push(byte),
            }
        }
    }

    fn unicode(&mut self) -> Read<char> {
        let high = self.hexadecimal()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        let next = self.text.get(self.at..self.at + 2)?;
        self.at += 2;
        let low = if next == b"\\u" { self.hexadecimal()? } else { 0 };
        let paired = (0xdc00..0xe000).contains(&low);
        paired.then(|| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))?
    }

    fn hexadecimal(&mut self) -> Read<u32> {
        let four = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        four.iter().try_fold(0, |n, digit| Some(16 * n + char::from(*digit).to_digit(16)?))
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bits of bytes that are below a bound. Above the first there may be others.
fn below(word: u64, bound: u64) -> u64 {
    word.wrapping_sub(ONES * bound) & !word & HIGH
}

/// The same, of bytes that are this one.
fn having(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

/// What ends the plain part of a text: a quote, a backslash or a control character.
fn ends(word: u64) -> u64 {
    having(word, b'"') | having(word, b'\\') | below(word, 0x20)
}

/// How many bytes come before the first that is marked, or how many there are; eight at a time.
fn before(text: &[u8], marked: impl Fn(u64) -> u64) -> usize {
    let mut at = 0;
    while let Some(chunk) = text.get(at..at + 8) {
        let found = marked(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = text[at..].iter();
    at + rest.take_while(|byte| marked(u64::from(**byte) | !0xff) & 0x80 == 0).count()
}

/// How many bytes come before the first end of a line, or how many there are.
pub fn line_end(text: &[u8]) -> usize {
    before(text, |word| having(word, b'\n'))
}

/// Append a text as JSON.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0..=0x1f => out.extend(format!("\\u{byte:04x}").bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
