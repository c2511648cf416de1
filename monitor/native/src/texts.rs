//! Parses the texts of predicates and durations, as `spec.claims` does.

use crate::record;

pub const MAX_BLOCKS: i64 = (1 << 31) - 1;

record! {
    /// The positions that a claim needs: so many from the first on.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Predicate { first: u32, count: u32 }
}

record! {
    /// `digits` times ten to the power of `exponent`, in seconds or in steps; no zeros at the end.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Duration { steps: bool, digits: u64, exponent: i32 }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn is_plain_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

impl Predicate {
    /// What a text states; None if it states none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().count() > 128 {
            return None;
        }
        let (name, rest) = text.trim_matches(is_plain_space).split_once('(')?;
        let inside = rest.strip_suffix(')')?;
        if inside.contains(['(', ')']) {
            return None;
        }
        let sizes: Vec<i64> = inside.split(',').map(size).collect::<Option<_>>()?;
        let (start, blocks) = match (name.trim_end_matches(is_plain_space), &sizes[..]) {
            ("leading_prefix_at_least", &[blocks]) => (0, blocks),
            ("contiguous_range", &[start, blocks]) => (start, blocks),
            _ => return None,
        };
        let fine = (1..=MAX_BLOCKS).contains(&blocks) && start + blocks <= MAX_BLOCKS;
        fine.then_some(Self { first: start as u32, count: blocks as u32 })
    }

    pub fn start(self) -> i64 {
        self.first.into()
    }
    pub fn blocks(self) -> i64 {
        self.count.into()
    }
    pub fn end(self) -> i64 {
        self.start() + self.blocks()
    }
}

fn size(text: &str) -> Option<i64> {
    let text = text.trim_matches(is_space);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = text[end..].trim_start_matches(is_space);
    let value: i64 = text[..end]
        .trim_start_matches('0')
        .parse()
        .or_else(|_| (end > 0 && text[..end].bytes().all(|b| b == b'0')).then_some(0).ok_or(()))
        .ok()?;
    (matches!(unit, "" | "block" | "blocks") && value <= MAX_BLOCKS).then_some(value)
}

impl Duration {
    /// What a text states; None if it states none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().count() > 64 {
            return None;
        }
        let text = text.trim_matches(is_space);
        let unit = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic() || "eE".contains(c));
        let unit_at = text.len() - unit.len();
        let (number, unit) = (&text[..unit_at], unit);
        let number = number.trim_end_matches(is_space);
        let steps = match unit {
            "s" | "second" | "seconds" => false,
            "step" | "steps" => true,
            _ => return None,
        };
        let (digits, exponent) = decimal(number)?;
        let (digits, exponent) = if number.bytes().all(|b| b.is_ascii_digit()) {
            (digits, exponent)
        } else {
            let value: f64 = number.parse().ok()?;
            if decimal(&format!("{value:e}"))? != (digits, exponent) {
                return None;
            }
            if value >= 9_223_372_036_854_775_808.0 {
                return None;
            }
            if value.fract() == 0.0 {
                decimal(&(value as u64).to_string())?
            } else {
                (digits, exponent)
            }
        };
        let whole = exponent >= 0;
        let fits = exponent <= 18 && {
            let scale = 10i128.checked_pow(exponent.max(0) as u32)?;
            i128::from(digits) * scale <= i128::from(i64::MAX)
        };
        let exponent = i32::try_from(exponent).ok()?;
        (digits > 0 && fits && (whole || !steps)).then_some(Self { steps, digits, exponent })
    }

    /// Whether it is longer than another; None if one counts steps and the other does not.
    pub fn is_longer(self, other: Self) -> Option<bool> {
        let places = |of: Self| i64::from(of.digits.ilog10());
        let most = places(self).max(places(other));
        let scaled = |of: Self| u128::from(of.digits) * 10u128.pow((most - places(of)) as u32);
        let size = |of: Self| (places(of) + i64::from(of.exponent), scaled(of));
        (self.steps == other.steps).then(|| size(self) > size(other))
    }

    /// The least whole number of nanoseconds that is not shorter.
    pub fn nanoseconds(self) -> i128 {
        let (digits, power) = (i128::from(self.digits), self.exponent + 9);
        match u32::try_from(power) {
            Ok(power) => digits.saturating_mul(10i128.saturating_pow(power)),
            Err(_) => {
                let scale = 10i128.saturating_pow(u32::try_from(-power).unwrap_or(u32::MAX));
                (digits + scale - 1) / scale
            }
        }
    }
}

/// The digits of a number without zeros at its ends, and the exponent of the last of them.
fn decimal(text: &str) -> Option<(u64, i64)> {
    let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let power = power.strip_prefix('+').unwrap_or(power);
    let (sign, power) = power.strip_prefix('-').map_or((1, power), |rest| (-1, rest));
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let all_digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if ![whole, part, power].into_iter().all(all_digits) {
        return None;
    }
    let both = format!("{whole}{part}");
    let digits = both.trim_end_matches('0');
    let power: i64 = power
        .trim_start_matches('0')
        .parse()
        .unwrap_or(if power.bytes().all(|b| b == b'0') { 0 } else { 1 << 40 });
    if digits.trim_start_matches('0').is_empty() {
        return Some((0, 0));
    }
    let exponent = sign * power - part.len() as i64 + (both.len() - digits.len()) as i64;
    digits.trim_start_matches('0').parse().ok().map(|digits| (digits, exponent))
}
