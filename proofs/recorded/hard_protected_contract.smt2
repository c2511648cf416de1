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
    (state.footprint_accounting Int)
    (state.victim_exclusion_before_violation Int)
    (state.explicit_conflict_action Int)
    (state.blocking_claim_ids Int)
    (state.claim_harm_attribution Int)
    (own.claim_harm_attribution.harms_owed Int)
    (state.ordered_lifecycle_events Int)
    (own.ordered_lifecycle_events.stage Int)
    (state.claim_materialized_event Int)
    (c.threshold Int))
  Bool
  (and
    (and
      (or (not (<= (+ was.declared (* was.footprint (- 1))) (- 1))) (not believed.responsible))
      (or
        (not (<= own.ordered_lifecycle_events.stage 0))
        (not (= state.explicit_conflict_action 2)))
      (or
        (not (<= state.ordered_lifecycle_events 0))
        (not (>= own.ordered_lifecycle_events.stage 9)))
      (or (not (<= state.ordered_lifecycle_events 0)) (not (>= state.claim_materialized_event 2)))
      (or
        (not (>= (+ was.declared (* was.footprint (- 1))) 1))
        (not (>= state.explicit_acceptance 2)))
      (or believed.acted (not (= state.explicit_conflict_action 3)) (not req_was.held))
      (or believed.responsible (not (>= state.explicit_acceptance 2)) (not was.responsible))
      (or was.committed (not believed.responsible))
      (or was.committed (not believed.useful))
      (or was.responsible (not (<= state.ordered_lifecycle_events 0)) (not was.committed))
      (or was.responsible (not (= state.explicit_acceptance 1)))
      (or was.responsible (not (>= state.ordered_lifecycle_events 2)) (not believed.responsible))
      (or
        believed.acted
        (not (= (+ state.explicit_acceptance (* state.explicit_conflict_action (- 1))) 0))
        (not (>= own.ordered_lifecycle_events.stage 1))
        (not was.responsible))
      (or
        (not (<= (+ was.declared (* was.footprint (- 1))) (- 1)))
        (not (>= state.explicit_acceptance 2)))
      (or
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (<= own.ordered_lifecycle_events.stage 6))
        (not (<= state.claim_materialized_event 0))
        (not (<= state.ordered_lifecycle_events 0))
        (not (>= own.ordered_lifecycle_events.stage 1)))
      (or
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (<= state.claim_materialized_event 0))
        (not was.responsible))
      (or
        believed.acted
        (not (= (+ own.ordered_lifecycle_events.stage (* state.explicit_conflict_action (- 1))) 0))
        (not (= own.ordered_lifecycle_events.stage 2))
        (not was.responsible))
      (or
        believed.acted
        (not (= (+ state.explicit_acceptance (* state.explicit_conflict_action (- 1))) 0))
        (not (>= state.explicit_acceptance 2))
        (not was.responsible))
      (or
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (= state.claim_harm_attribution 1))
        (not (>= state.claim_materialized_event 2)))
      (or
        believed.useful
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (>= state.claim_materialized_event 2))
        (not was.responsible))
      (or
        (not (<= state.claim_harm_attribution 0))
        (not (>= (+ c.threshold (* was.lead (- 1))) 1))
        (not believed.useful)
        (not was.responsible))
      (or
        (not (<= (+ c.threshold (* was.lead (- 1))) 0))
        (not (<= state.explicit_acceptance 1))
        (not (>= state.claim_materialized_event 2))
        (not was.responsible))
      (or
        believed.acted
        (not (<= state.ordered_lifecycle_events 0))
        (not (>= own.ordered_lifecycle_events.stage 4)))
      (or
        (not (>= (+ c.threshold (* was.lead (- 1))) 1))
        (not (>= state.claim_harm_attribution 2))
        (not believed.useful)
        (not was.responsible)))
    (and
      (= was.committed (or (= state.explicit_acceptance 1) (= state.explicit_acceptance 2)))
      (=> (= state.claim_harm_attribution 1) (or false was.responsible))
      (=> (= state.claim_materialized_event 1) was.responsible)
      (=> (= state.explicit_acceptance 1) (= own.ordered_lifecycle_events.stage 0))
      (=> (or (= state.claim_harm_attribution 1) (= state.claim_harm_attribution 2)) was.committed)
      (=> (or false false (= state.ordered_lifecycle_events 1)) (= state.explicit_acceptance 2))
      (=> false (< was.lead c.threshold))
      (=> false (and was.committed (not was.responsible)))
      (=>
        false
        (and was.registered (or was.responsible (and false was.registered (not was.committed)))))
      (=> false (or was.new_loss (not false)))
      (=> false req_was.arrived)
      (=> false req_was.seen)
      (=> false req_was.served)
      (=> req_was.arrived req_was.seen)
      (=> req_was.failed req_was.seen)
      (=> was.committed was.registered)
      (=> was.responsible was.committed)
      (=>
        (or
          (= state.explicit_conflict_action 1)
          (= state.explicit_conflict_action 2)
          (= state.explicit_conflict_action 3)
          (= state.explicit_conflict_action 4))
        req_was.seen)
      (=>
        (or
          (= own.ordered_lifecycle_events.stage 5)
          (= own.ordered_lifecycle_events.stage 6)
          (= own.ordered_lifecycle_events.stage 7))
        (not was.responsible))
      (and (=> (= state.claim_harm_attribution 2) req_was.failed) (=> false req_was.failed))
      (and (=> false req_was.routed) (=> false req_was.routed))
      (and (=> false was.registered) (=> false was.registered) (=> false was.registered))
      (not
        (or
          (= state.blocking_claim_ids 3)
          (= state.claim_harm_attribution 6)
          (= state.claim_identity 2)
          (= state.claim_materialized_event 3)
          (= state.explicit_acceptance 3)
          (= state.explicit_conflict_action 5)
          (= state.footprint_accounting 2)
          (= state.materialization_predicate 2)
          (= state.ordered_lifecycle_events 3)
          (= state.victim_exclusion_before_violation 2)))
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
      (=>
        (= state.ordered_lifecycle_events 1)
        (and
          (not (or false (= state.claim_harm_attribution 1)))
          (not was.responsible)
          (or
            (= own.ordered_lifecycle_events.stage 1)
            (= own.ordered_lifecycle_events.stage 2)
            (= own.ordered_lifecycle_events.stage 3)
            (= own.ordered_lifecycle_events.stage 4)
            (= own.ordered_lifecycle_events.stage 9))))
      (=>
        (or false (= state.claim_harm_attribution 1))
        (not
          (or
            (= own.ordered_lifecycle_events.stage 5)
            (= own.ordered_lifecycle_events.stage 6)
            (= own.ordered_lifecycle_events.stage 7))))
      (or
        (= state.explicit_acceptance 2)
        (and (= own.ordered_lifecycle_events.stage 7) (not was.committed))
        (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8)))
      (=>
        (= state.claim_materialized_event 1)
        (and
          was.registered
          (<= c.threshold was.lead)
          (or was.responsible (and false was.registered (not was.committed)))))
      (and
        (=> (not (= state.claim_harm_attribution 1)) (<= was.losses believed.harms))
        (=>
          (= state.claim_harm_attribution 1)
          (and
            (<= 1 own.claim_harm_attribution.harms_owed)
            (<= was.losses (+ believed.harms own.claim_harm_attribution.harms_owed)))))
      (and
        (=> (= state.blocking_claim_ids 1) req_was.arrived)
        (=> (= state.claim_harm_attribution 2) req_was.arrived)
        (=> (= state.explicit_conflict_action 1) req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived)
        (=> false req_was.arrived))
      (=>
        (= state.explicit_acceptance 2)
        (not (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8))))
      (and
        (and (<= 0 state.blocking_claim_ids) (> 4 state.blocking_claim_ids))
        (and (<= 0 state.claim_harm_attribution) (> 7 state.claim_harm_attribution))
        (and (<= 0 state.claim_identity) (> 3 state.claim_identity))
        (and (<= 0 state.claim_materialized_event) (> 4 state.claim_materialized_event))
        (and (<= 0 state.explicit_acceptance) (> 4 state.explicit_acceptance))
        (and (<= 0 state.explicit_conflict_action) (> 6 state.explicit_conflict_action))
        (and (<= 0 state.footprint_accounting) (> 3 state.footprint_accounting))
        (and (<= 0 state.materialization_predicate) (> 3 state.materialization_predicate))
        (and (<= 0 state.ordered_lifecycle_events) (> 4 state.ordered_lifecycle_events))
        (and
          (<= 0 state.victim_exclusion_before_violation)
          (> 3 state.victim_exclusion_before_violation)))
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
        (<= 1 c.threshold)))))
