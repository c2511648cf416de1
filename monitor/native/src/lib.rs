//! The native core of the monitor: what a stream means for each claim, as `spec.stream` has it.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod breaks;
pub mod capacity;
pub mod claim;
pub mod concern;
pub mod contradictions;
pub mod core;
pub mod delivery;
pub mod digests;
pub mod durations;
pub mod event;
pub mod facts;
pub mod ffi;
pub mod fields;
pub mod follow;
pub mod introduce;
pub mod json;
pub mod judge;
pub mod map;
pub mod names;
pub mod objects;
pub mod outcome;
pub mod pool;
pub mod ranks;
pub mod registers;
pub mod request;
pub mod run;
pub mod sets;
pub mod state;
pub mod store;
pub mod tables;
pub mod texts;
