//! Reads JSON strictly: UTF-8, no number or text that the reader of events in Python refuses.

use std::borrow::Cow;

/// What may be wrong is not told apart: the reader in Python writes the error.
pub type Read<T> = Option<T>;

/// The place in a text of one or more lines, none of which has an end in it.
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// Longest whole number that is read, in digits.
const DIGITS: usize = 4300;

/// So few digits always fit into 64 bits.
const FEW: usize = 19;

impl<'a> Cursor<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// How many bytes were taken.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// Take the rest of a line, if it is blank.
    pub fn blank(&mut self) -> bool {
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c);
        let rest = &self.text[self.at..];
        let spaces = rest.iter().take_while(is_space).count();
        let blank = matches!(rest.get(spaces), Some(b'\n') | None);
        self.at += if blank { rest.len().min(spaces + 1) } else { 0 };
        blank
    }

    /// Take the end of a line, or of the text, after spaces.
    pub fn end(&mut self) -> Read<()> {
        self.peek().map_or(Some(()), |_| self.expect(b'\n'))
    }

    /// The next byte that is no space, which is not taken.
    #[inline]
    pub fn peek(&mut self) -> Read<u8> {
        match *self.text.get(self.at)? {
            ..=b' ' => self.after_spaces(),
            byte => Some(byte),
        }
    }

    #[cold]
    fn after_spaces(&mut self) -> Read<u8> {
        while let b' ' | b'\t' | b'\r' = *self.text.get(self.at)? {
            self.at += 1;
        }
        self.text.get(self.at).copied()
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

    /// Go through the members of an object; `each` takes the key and the value of one.
    pub fn object(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            each(self)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    /// A key, which has no escape.
    pub fn key(&mut self) -> Read<&'a [u8]> {
        let (key, true) = self.plain()? else { return None };
        self.expect(b':').map(|()| key)
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
        self.skip(word.as_bytes()).then_some(())
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

    /// Take a whole number: whether it is negative, where its digits begin, without zeros in front,
    /// and what they make if they are few.
    #[inline]
    fn number(&mut self) -> Read<(bool, usize, u64)> {
        let negative = self.peek()? == b'-';
        self.at += usize::from(negative);
        let (start, mut value) = (self.at, 0u64);
        while let Some(byte @ b'0'..=b'9') = self.text.get(self.at) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        let plain = self.at == start + 1 || self.at > start && self.text[start] != b'0';
        (plain && self.at - start <= DIGITS).then_some((negative, start, value))
    }

    /// The digits of a whole number that is not negative, without zeros in front.
    pub fn digits(&mut self) -> Read<&'a [u8]> {
        let (negative, start, _) = self.number()?;
        let digits = &self.text[start..self.at];
        (!negative || digits == b"0").then_some(digits)
    }

    /// A whole number, at least -2^127 and at most 2^127 - 1, which stand for what is beyond.
    pub fn integer(&mut self) -> Read<i128> {
        let (negative, start, _) = self.number()?;
        let bound = if negative { i128::MIN } else { i128::MAX };
        let value = std::str::from_utf8(&self.text[start..self.at]).ok()?.parse::<i128>();
        Some(value.map_or(bound, |value| if negative { -value } else { value }))
    }

    /// A whole number of 64 bits.
    pub fn whole(&mut self) -> Read<i64> {
        let (negative, start, value) = self.number()?;
        (self.at - start <= FEW).then_some(())?;
        match negative {
            true => 0i64.checked_sub_unsigned(value),
            false => value.try_into().ok(),
        }
    }

    /// Take the plain part with which a text begins, and its end if that comes next.
    fn plain(&mut self) -> Read<(&'a [u8], bool)> {
        self.expect(b'"')?;
        let rest = &self.text[self.at..];
        let (plain, rest) = rest.split_at(plain(rest));
        let ends = *rest.first()? == b'"';
        self.at += plain.len() + usize::from(ends);
        Some((plain, ends))
    }

    /// Take these bytes, if they are next.
    #[inline]
    pub fn skip(&mut self, bytes: &[u8]) -> bool {
        let next = self.text[self.at..].starts_with(bytes);
        self.at += if next { bytes.len() } else { 0 };
        next
    }

    /// Take a text that is this one, without an escape.
    pub fn same(&mut self, text: &[u8]) -> bool {
        let next = self.text.get(self.at..self.at + text.len() + 2);
        let same = matches!(next, Some([b'"', inner @ .., b'"']) if inner == text);
        self.at += if same { text.len() + 2 } else { 0 };
        same
    }

    /// A text, which is borrowed if it is ASCII and has no escape.
    pub fn string(&mut self) -> Read<Cow<'a, [u8]>> {
        match self.plain()? {
            (text, true) => Some(Cow::Borrowed(text)),
            (begin, false) => Some(Cow::Owned(self.escaped(begin)?.into_bytes())),
        }
    }

    /// A text of its own.
    pub fn text(&mut self) -> Read<String> {
        String::from_utf8(self.string()?.into_owned()).ok()
    }

    /// The rest of a text that begins so.
    fn escaped(&mut self, begin: &[u8]) -> Read<String> {
        let mut text = begin.to_vec();
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

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The high bits of bytes that no text has as they are, or that are not ASCII. Above the first of
/// them others may be marked.
fn marked(word: u64) -> u64 {
    let is = |byte: u8| (word ^ eight(byte)).wrapping_sub(eight(1));
    (word.wrapping_sub(eight(b' ')) | is(b'"') | is(b'\\') | word) & eight(0x80)
}

/// How many bytes come before the first that is marked, or how many there are; eight at a time.
fn plain(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some((word, after)) = rest.split_first_chunk() {
        let found = marked(u64::from_le_bytes(*word));
        if found != 0 {
            return text.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    text.len() - rest.len() + short(rest)
}

/// The same of a few bytes.
#[cold]
fn short(text: &[u8]) -> usize {
    text.iter().take_while(|byte| marked(u64::from(**byte)) & 0x80 == 0).count()
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
