//! The C interface. Each function returns a number of 0 or more, or says by one below 0 that it
//! failed; `rc_out` has the bytes that the last call made, or the text of its error.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::core::Core;
use crate::tables::vocabulary;

const FAILED: i64 = -1;
const BUSY: i64 = -2;
const PANICKED: i64 = -3;
/// Bytes that are kept allocated for the next answer.
const SMALL: usize = 4096;

/// What a caller holds. One thread uses it at a time; another is turned away.
pub struct Handle {
    core: Option<Core>,
    busy: AtomicBool,
    out: Vec<u8>,
}

/// Bytes that a caller gives; none for a null pointer.
///
/// # Safety
/// The pointer is null, or to `length` bytes that do not change during the call.
unsafe fn given<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(data, length) }
}

/// Work on a handle; a panic leaves it unusable.
///
/// # Safety
/// The pointer is null, or from `rc_new` and not freed.
unsafe fn with(
    handle: *mut Handle, work: impl FnOnce(&mut Core, &mut Vec<u8>) -> Result<i64, String>,
) -> i64 {
    if handle.is_null() {
        return FAILED;
    }
    // SAFETY: it is alive; this is a shared field that any thread may use.
    if unsafe { &(*handle).busy }.swap(true, Ordering::Acquire) {
        return BUSY;
    }
    // SAFETY: no other thread is past the line above.
    let held = unsafe { &mut *handle };
    held.out.clear();
    held.out.shrink_to(SMALL); // what was long once would stay allocated
    let Handle { core, out, .. } = held;
    let done = core.as_mut().map(|core| catch_unwind(AssertUnwindSafe(|| work(core, out))));
    let code = match done {
        None => PANICKED,
        Some(Ok(Ok(code))) => code,
        Some(Ok(Err(error))) => {
            *out = error.into_bytes();
            FAILED
        }
        Some(Err(_)) => {
            std::mem::forget(core.take()); // to free it might panic as well
            PANICKED
        }
    };
    held.busy.store(false, Ordering::Release);
    code
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "not UTF-8".into())
}

/// The names that a table has numbers for, as JSON that ends with a zero.
#[no_mangle]
pub extern "C" fn rc_vocabulary() -> *const u8 {
    static NAMES: OnceLock<String> = OnceLock::new();
    NAMES.get_or_init(|| vocabulary() + "\0").as_ptr()
}

/// A new core for a table and options, or null if they are not as they must be.
///
/// # Safety
/// Both pointers are to so many bytes.
#[no_mangle]
pub unsafe extern "C" fn rc_new(
    table: *const u8, table_length: usize, options: *const u8, options_length: usize,
) -> *mut Handle {
    // SAFETY: the caller says so.
    let (table, options) = unsafe { (given(table, table_length), given(options, options_length)) };
    match catch_unwind(|| Core::new(table, options)) {
        Ok(Some(core)) => {
            let (core, busy) = (Some(core), AtomicBool::new(false));
            Box::into_raw(Box::new(Handle { core, busy, out: Vec::new() }))
        }
        _ => std::ptr::null_mut(),
    }
}

/// Free a core.
///
/// # Safety
/// The pointer is null, or from `rc_new`, and no call uses it now or later.
#[no_mangle]
pub unsafe extern "C" fn rc_free(handle: *mut Handle) {
    if !handle.is_null() {
        // SAFETY: the caller says so.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// The bytes of the last call, until the next.
///
/// # Safety
/// The handle is from `rc_new`, no other call uses it, and `length` is to a number.
#[no_mangle]
pub unsafe extern "C" fn rc_out(handle: *const Handle, length: *mut usize) -> *const u8 {
    // SAFETY: the caller says so.
    unsafe {
        *length = (*handle).out.len();
        (*handle).out.as_ptr()
    }
}

/// Take whole lines from this number on, up to one that is refused; return the bytes that are done
/// with, and how many lines those are times 2^32. The first begins at a place in the data.
///
/// # Safety
/// The handle is from `rc_new`, and `data` to so many bytes.
#[no_mangle]
pub unsafe extern "C" fn rc_feed(
    handle: *mut Handle, data: *const u8, length: usize, start: usize, number: u64,
) -> i64 {
    // SAFETY: the caller says so.
    unsafe {
        with(handle, |core, _| {
            let block = given(data, length).get(start..).unwrap_or_default();
            if block.len() > i32::MAX as usize {
                return Err("more than 2 GiB at once".into());
            }
            let (done, lines) = core.feed(block, number);
            Ok((lines << 32) as i64 | done as i64)
        })
    }
}

/// Take one line; return 1, or 0 where it is refused. Its length and number are given in the types
/// that need no conversion.
///
/// # Safety
/// The handle is from `rc_new`, and `data` to so many bytes.
#[no_mangle]
pub unsafe extern "C" fn rc_line(
    handle: *mut Handle, data: *const u8, length: i32, number: u64,
) -> i64 {
    // SAFETY: the caller says so.
    unsafe {
        with(handle, |core, _| {
            let line = given(data, usize::try_from(length).unwrap_or(0));
            Ok(i64::from(core.feed(line, number).0 > 0))
        })
    }
}

macro_rules! calls {
    ($($(#[$meta:meta])* $name:ident $work:expr),* $(,)?) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// The handle is from `rc_new`, and `data` to so many bytes.
        #[no_mangle]
        pub unsafe extern "C" fn $name(handle: *mut Handle, data: *const u8, length: usize) -> i64 {
            let work: fn(&mut Core, &[u8]) -> Result<(), String> = $work;
            // SAFETY: the caller says so.
            unsafe {
                with(handle, |core, out| {
                    work(core, given(data, length))?;
                    *out = std::mem::take(&mut core.out);
                    Ok(out.len() as i64)
                })
            }
        }
    )*};
}
calls! {
    /// Take one line that Python read.
    rc_take |core, data| core.take(text(data)?),
    /// Lines may be missing.
    rc_lose |core, data| core.lose(text(data)?),
    /// The streams are over.
    rc_finish |core, _| Ok(core.finish()),
    /// What streams came to, as lines of JSON.
    rc_look |core, data| core.look(text(data)?),
    /// All state as bytes, or that of one stream.
    rc_save |core, data| Ok(core.save(text(data)?)),
    /// Take back state that `rc_save` made.
    rc_load |core, data| core.load(data),
}
