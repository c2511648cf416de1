(define-fun Inv
  ((was.registered Bool)
    (was.committed Bool)
    (was.responsible Bool)
    (was.footprint Int)
    (was.lead Int)
    (was.there Bool)
    (was.host Bool)
    (was.whole Bool)
    (was.copied Bool)
    (was.ended_by Int)
    (was.losses Int)
    (was.failures Int)
    (was.declared Int)
    (was.unreported Bool)
    (was.offloaded Bool)
    (was.rest Int)
    (was.rest_since_arrival Int)
    (was.other Bool)
    (was.new_loss Bool)
    (req_was.seen Bool)
    (req_was.arrived Bool)
    (req_was.held Bool)
    (req_was.needed Int)
    (req_was.usable Int)
    (req_was.away Bool)
    (req_was.asks Bool)
    (req_was.loaded Bool)
    (req_was.failed Bool)
    (req_was.broke Bool)
    (req_was.routed Bool)
    (req_was.cost Int)
    (req_was.worker Int)
    (req_was.served Bool)
    (req_was.hit Bool)
    (believed.responsible Bool)
    (believed.useful Bool)
    (believed.harms Int)
    (believed.acted Bool)
    (believed.restored Bool)
    (believed.answered Bool)
    (believed.cost_told Bool)
    (believed.cost Int)
    (believed.worker_told Bool)
    (believed.worker Int)
    (believed.hit_told Bool)
    (believed.hit Bool)
    (state.claim_identity Int)
    (state.offload_restorability Int)
    (state.ordered_lifecycle_events Int)
    (own.ordered_lifecycle_events.stage Int)
    (c.threshold Int))
  Bool
  (and
    (and
      (or
        (not (<= own.ordered_lifecycle_events.stage 0))
        (not (>= state.ordered_lifecycle_events 2)))
      (or req_was.away (not (<= (+ was.lead (* c.threshold (- 1))) (- 1))) (not req_was.seen))
      (or req_was.broke (not req_was.failed))
      (or was.committed (not req_was.routed))
      (or was.copied (not req_was.loaded))
      (or was.there (not (>= (+ was.lead (* c.threshold (- 1))) 0)))
      (or was.whole (not (>= (+ was.lead (* c.threshold (- 1))) 0)))
      (or was.whole (not req_was.loaded))
      (or
        believed.restored
        (not (= state.offload_restorability 2))
        (not (>= state.ordered_lifecycle_events 2))
        (not req_was.loaded)
        (not was.responsible))
      (or
        believed.restored
        req_was.held
        (not (= state.offload_restorability 2))
        (not req_was.arrived)
        (not was.responsible))
      (or
        believed.restored
        (not (<= state.ordered_lifecycle_events 0))
        (not (= state.offload_restorability 2)))
      (or
        believed.restored
        (not (= (+ state.offload_restorability (* state.ordered_lifecycle_events (- 1))) 0))
        (not (>= state.ordered_lifecycle_events 2))
        (not was.responsible)))
    (and
      (=> (= state.offload_restorability 1) req_was.seen)
      (=>
        (or false false)
        (not
          (or
            (= own.ordered_lifecycle_events.stage 5)
            (= own.ordered_lifecycle_events.stage 6)
            (= own.ordered_lifecycle_events.stage 7))))
      (=> false (< was.lead c.threshold))
      (=> false (= own.ordered_lifecycle_events.stage 0))
      (=>
        false
        (and was.registered (or was.responsible (and false was.registered (not was.committed)))))
      (=> false (or was.new_loss (not false)))
      (=> false req_was.arrived)
      (=> false req_was.seen)
      (=> false req_was.served)
      (=>
        false
        (and
          was.registered
          (<= c.threshold was.lead)
          (or was.responsible (and false was.registered (not was.committed)))))
      (=> req_was.arrived req_was.seen)
      (=> req_was.failed req_was.seen)
      (=> was.committed was.registered)
      (=> was.responsible was.committed)
      (=>
        (or
          (= own.ordered_lifecycle_events.stage 5)
          (= own.ordered_lifecycle_events.stage 6)
          (= own.ordered_lifecycle_events.stage 7))
        (not was.responsible))
      (and (=> false req_was.failed) (=> false req_was.failed))
      (and (=> false req_was.routed) (=> false req_was.routed))
      (and (=> false was.registered) (=> false was.registered) (=> false was.registered))
      (not
        (or
          (= state.claim_identity 2)
          (= state.offload_restorability 7)
          (= state.ordered_lifecycle_events 3)))
      (and
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived))
      (and
        (and (<= 0 state.claim_identity) (> 3 state.claim_identity))
        (and (<= 0 state.offload_restorability) (> 8 state.offload_restorability))
        (and (<= 0 state.ordered_lifecycle_events) (> 4 state.ordered_lifecycle_events)))
      (or
        (= own.ordered_lifecycle_events.stage 0)
        (= own.ordered_lifecycle_events.stage 1)
        (= own.ordered_lifecycle_events.stage 2)
        (= own.ordered_lifecycle_events.stage 3)
        (= own.ordered_lifecycle_events.stage 4)
        (= own.ordered_lifecycle_events.stage 5)
        (= own.ordered_lifecycle_events.stage 6)
        (= own.ordered_lifecycle_events.stage 7)
        (= own.ordered_lifecycle_events.stage 8)
        (= own.ordered_lifecycle_events.stage 9))
      (and
        (<= 0 req_was.cost)
        (<= 0 req_was.needed)
        (<= 0 req_was.usable)
        (<= 0 req_was.worker)
        (<= 0 was.declared)
        (<= 0 was.ended_by)
        (<= 0 was.failures)
        (<= 0 was.footprint)
        (<= 0 was.lead)
        (<= 0 was.losses)
        (<= 0 was.rest)
        (<= 1 c.threshold))
      (=>
        false
        (not (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8)))))))
