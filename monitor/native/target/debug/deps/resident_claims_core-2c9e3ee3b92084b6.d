/work/main/monitor/native/target/debug/deps/resident_claims_core-2c9e3ee3b92084b6.d: src/lib.rs src/breaks.rs src/capacity.rs src/claim.rs src/concern.rs src/contradictions.rs src/core.rs src/delivery.rs src/digests.rs src/durations.rs src/event.rs src/facts.rs src/ffi.rs src/fields.rs src/follow.rs src/introduce.rs src/json.rs src/judge.rs src/map.rs src/names.rs src/objects.rs src/outcome.rs src/pool.rs src/ranks.rs src/registers.rs src/request.rs src/run.rs src/sets.rs src/state.rs src/store.rs src/tables.rs src/texts.rs Cargo.toml

/work/main/monitor/native/target/debug/deps/libresident_claims_core-2c9e3ee3b92084b6.rmeta: src/lib.rs src/breaks.rs src/capacity.rs src/claim.rs src/concern.rs src/contradictions.rs src/core.rs src/delivery.rs src/digests.rs src/durations.rs src/event.rs src/facts.rs src/ffi.rs src/fields.rs src/follow.rs src/introduce.rs src/json.rs src/judge.rs src/map.rs src/names.rs src/objects.rs src/outcome.rs src/pool.rs src/ranks.rs src/registers.rs src/request.rs src/run.rs src/sets.rs src/state.rs src/store.rs src/tables.rs src/texts.rs Cargo.toml

src/lib.rs:
src/breaks.rs:
src/capacity.rs:
src/claim.rs:
src/concern.rs:
src/contradictions.rs:
src/core.rs:
src/delivery.rs:
src/digests.rs:
src/durations.rs:
src/event.rs:
src/facts.rs:
src/ffi.rs:
src/fields.rs:
src/follow.rs:
src/introduce.rs:
src/json.rs:
src/judge.rs:
src/map.rs:
src/names.rs:
src/objects.rs:
src/outcome.rs:
src/pool.rs:
src/ranks.rs:
src/registers.rs:
src/request.rs:
src/run.rs:
src/sets.rs:
src/state.rs:
src/store.rs:
src/tables.rs:
src/texts.rs:
Cargo.toml:

# env-dep:CLIPPY_ARGS=
# env-dep:CLIPPY_CONF_DIR
