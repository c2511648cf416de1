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
    (state.explicit_acceptance Int)
    (state.materialization_predicate Int)
    (state.offload_restorability Int)
    (state.restoration_failure_outcome Int)
    (state.ordered_lifecycle_events Int)
    (own.ordered_lifecycle_events.stage Int)
    (state.claim_harm_attribution Int)
    (own.claim_harm_attribution.harms_owed Int)
    (c.threshold Int))
  Bool
  (and
    (and
      (or
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (= state.restoration_failure_outcome 2)))
      (or
        (not (<= own.ordered_lifecycle_events.stage 0))
        (not (>= state.ordered_lifecycle_events 2)))
      (or (not (<= own.ordered_lifecycle_events.stage 1)) (not believed.useful))
      (or (not (<= state.claim_harm_attribution 0)) (not (>= was.failures 1)))
      (or (not (<= state.claim_harm_attribution 0)) (not req_was.failed))
      (or (not (<= state.explicit_acceptance 0)) (not (>= was.failures 1)))
      (or (not (<= state.explicit_acceptance 1)) (not (>= state.offload_restorability 2)))
      (or (not (<= state.explicit_acceptance 1)) (not believed.useful))
      (or (not (<= state.restoration_failure_outcome 2)) (not req_was.failed))
      (or (not (= own.ordered_lifecycle_events.stage 5)) (not believed.responsible))
      (or (not (= own.ordered_lifecycle_events.stage 6)) (not (= state.offload_restorability 1)))
      (or (not (= state.explicit_acceptance 1)) (not (>= state.ordered_lifecycle_events 2)))
      (or believed.answered (not (= own.ordered_lifecycle_events.stage 5)))
      (or believed.answered (not (= own.ordered_lifecycle_events.stage 6)) (not req_was.failed))
      (or believed.answered (not (>= own.ordered_lifecycle_events.stage 9)))
      (or believed.answered (not (>= state.claim_harm_attribution 3)) (not req_was.failed))
      (or believed.answered (not (>= state.restoration_failure_outcome 4)))
      (or believed.hit_told (not believed.hit))
      (or
        believed.responsible
        (not (>= own.ordered_lifecycle_events.stage 1))
        (not was.responsible))
      (or believed.restored (not (= state.offload_restorability 2)) (not was.responsible))
      (or req_was.away (not (>= (+ c.threshold (* was.lead (- 1))) 1)) (not req_was.seen))
      (or req_was.broke (not req_was.failed))
      (or req_was.seen (not req_was.away))
      (or req_was.seen (not req_was.held))
      (or was.committed (not believed.responsible))
      (or was.committed (not req_was.failed))
      (or was.copied (not req_was.loaded))
      (or was.responsible (not (<= state.explicit_acceptance 1)) (not was.committed))
      (or was.responsible (not (<= state.ordered_lifecycle_events 0)) (not was.committed))
      (or was.responsible (not (= state.offload_restorability 1)))
      (or was.responsible (not (>= state.ordered_lifecycle_events 2)) (not believed.responsible))
      (or was.responsible (not req_was.held))
      (or was.there (not (<= (+ c.threshold (* was.lead (- 1))) 0)))
      (or was.there (not (= own.ordered_lifecycle_events.stage 2)))
      (or was.there (not believed.useful))
      (or was.there (not req_was.loaded))
      (or was.whole (not (<= (+ c.threshold (* was.lead (- 1))) 0)))
      (or was.whole (not was.host))
      (or
        was.whole
        (not (<= state.claim_harm_attribution 0))
        (not (>= (+ c.threshold (* was.lead (- 1))) 1))
        (not believed.useful)
        (not was.responsible))
      (or
        believed.restored
        req_was.held
        (not (= (+ state.offload_restorability (* state.ordered_lifecycle_events (- 1))) 0))
        (not (>= state.ordered_lifecycle_events 2))
        (not req_was.arrived)
        (not was.responsible))
      (or
        (not (<= (+ state.explicit_acceptance (* state.ordered_lifecycle_events (- 1))) 0))
        (not (<= state.ordered_lifecycle_events 0))
        (not (>= state.restoration_failure_outcome 2)))
      (or
        (not (<= (+ state.restoration_failure_outcome (* state.ordered_lifecycle_events (- 1))) 0))
        (not req_was.failed))
      (or
        was.whole
        (not (<= (+ own.ordered_lifecycle_events.stage (* state.claim_harm_attribution (- 1))) 0))
        (not (>= (+ c.threshold (* was.lead (- 1))) 1))
        (not believed.useful)
        (not was.responsible))
      (or
        was.responsible
        (not (>= own.ordered_lifecycle_events.stage 9))
        (not (>= state.ordered_lifecycle_events 2))
        (not req_was.failed))
      (or
        was.responsible
        (not (<= own.ordered_lifecycle_events.stage 4))
        (not (>= state.ordered_lifecycle_events 2))
        (not req_was.failed))
      (or
        (not (>= (+ state.claim_identity (* state.explicit_acceptance (- 1))) 0))
        (not believed.responsible))
      (or
        was.whole
        (not (>= (+ c.threshold (* was.lead (- 1))) 1))
        (not (>= state.claim_harm_attribution 3))
        (not believed.useful)
        (not was.responsible))
      (or
        (not (<= (+ state.restoration_failure_outcome (* state.offload_restorability (- 1))) 0))
        (not (<= own.ordered_lifecycle_events.stage 0))
        (not
          (>= (+ own.claim_harm_attribution.harms_owed (* state.claim_harm_attribution (- 1))) 0))
        (not (>= (+ state.explicit_acceptance (* own.claim_harm_attribution.harms_owed (- 1))) 0))
        (not (>= state.restoration_failure_outcome 6))
        (not req_was.failed))
      (or
        req_was.held
        (not (<= own.claim_harm_attribution.harms_owed 0))
        (not
          (>= (+ own.claim_harm_attribution.harms_owed (* state.ordered_lifecycle_events (- 1))) 0))
        (not believed.responsible))
      (or
        was.whole
        (not (<= (+ state.explicit_acceptance (* state.claim_harm_attribution (- 1))) 0))
        (not believed.useful)
        (not was.responsible))
      (or
        req_was.held
        (not (<= own.ordered_lifecycle_events.stage 0))
        (not believed.responsible)
        (not req_was.arrived))
      (or
        believed.answered
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (<= own.ordered_lifecycle_events.stage 1))
        (not req_was.away)
        (not req_was.failed))
      (or
        was.copied
        was.new_loss
        (not (= (+ state.explicit_acceptance (* state.claim_harm_attribution (- 1))) 0))
        (not (= state.explicit_acceptance 1)))
      (or
        (not (<= state.ordered_lifecycle_events 0))
        (not (>= (+ own.ordered_lifecycle_events.stage (* state.ordered_lifecycle_events (- 1))) 1)))
      (or
        (not (<= (+ state.explicit_acceptance (* state.ordered_lifecycle_events (- 1))) 0))
        (not (<= state.ordered_lifecycle_events 0))
        (not req_was.held)))
    (and
      (= was.committed (or (= state.explicit_acceptance 1) (= state.explicit_acceptance 2)))
      (=> (= state.explicit_acceptance 1) (= own.ordered_lifecycle_events.stage 0))
      (=> (= state.offload_restorability 1) req_was.seen)
      (=> (or (= state.claim_harm_attribution 1) (= state.claim_harm_attribution 2)) was.committed)
      (=> false (< was.lead c.threshold))
      (=> false (and was.committed (not was.responsible)))
      (=>
        false
        (and was.registered (or was.responsible (and false was.registered (not was.committed)))))
      (=> false (or was.new_loss (not false)))
      (=> false req_was.seen)
      (=> false req_was.served)
      (=> false was.responsible)
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
      (and (=> false req_was.routed) (=> false req_was.routed))
      (and (=> false was.registered) (=> false was.registered) (=> false was.registered))
      (not
        (or
          (= state.claim_harm_attribution 6)
          (= state.claim_identity 2)
          (= state.explicit_acceptance 3)
          (= state.materialization_predicate 2)
          (= state.offload_restorability 7)
          (= state.ordered_lifecycle_events 3)
          (= state.restoration_failure_outcome 8)))
      (and
        (<= believed.harms (+ was.failures was.losses))
        (=>
          (= state.claim_harm_attribution 1)
          (<= (+ believed.harms own.claim_harm_attribution.harms_owed) (+ was.failures was.losses)))
        (=>
          (or
            (= state.claim_harm_attribution 2)
            (= state.claim_harm_attribution 3)
            (= state.claim_harm_attribution 5))
          (<= (+ believed.harms 1) (+ was.failures was.losses))))
      (or
        (= state.explicit_acceptance 2)
        (and (= own.ordered_lifecycle_events.stage 7) (not was.committed))
        (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8)))
      (=>
        (or
          (= state.offload_restorability 1)
          (= state.offload_restorability 4)
          (= state.ordered_lifecycle_events 1))
        (= state.explicit_acceptance 2))
      (and
        (=> (not (= state.claim_harm_attribution 1)) (<= was.losses believed.harms))
        (=>
          (= state.claim_harm_attribution 1)
          (and
            (<= 1 own.claim_harm_attribution.harms_owed)
            (<= was.losses (+ believed.harms own.claim_harm_attribution.harms_owed)))))
      (=>
        (= state.explicit_acceptance 2)
        (not (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8))))
      (and
        (=> (= state.claim_harm_attribution 2) req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=>
          (or
            (= state.restoration_failure_outcome 3)
            (= state.restoration_failure_outcome 4)
            (= state.restoration_failure_outcome 5))
          req_was.arrived))
      (=>
        (or (= state.restoration_failure_outcome 1) (= state.restoration_failure_outcome 2))
        req_was.arrived)
      (and
        (=> (= state.claim_harm_attribution 2) req_was.failed)
        (=> (= state.restoration_failure_outcome 3) req_was.failed))
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
      (and
        (and (<= 0 state.claim_harm_attribution) (> 7 state.claim_harm_attribution))
        (and (<= 0 state.claim_identity) (> 3 state.claim_identity))
        (and (<= 0 state.explicit_acceptance) (> 4 state.explicit_acceptance))
        (and (<= 0 state.materialization_predicate) (> 3 state.materialization_predicate))
        (and (<= 0 state.offload_restorability) (> 8 state.offload_restorability))
        (and (<= 0 state.ordered_lifecycle_events) (> 4 state.ordered_lifecycle_events))
        (and (<= 0 state.restoration_failure_outcome) (> 9 state.restoration_failure_outcome))))))
