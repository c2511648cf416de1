(define-fun Inv
  ((was.registered Bool)
    (was.committed Bool)
    (was.responsible Bool)
    (was.footprint Int)
    (was.lead Int)
    (was.there Bool)
    (was.host Bool)
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
    (believed.blamed Bool)
    (believed.blamed_rest Int)
    (believed.blamed_least Int)
    (believed.shared_unblamed Int)
    (believed.accuses Bool)
    (believed.invalid_blocker Bool)
    (state.explicit_acceptance Int)
    (state.footprint_accounting Int)
    (state.explicit_conflict_action Int)
    (state.ordered_lifecycle_events Int)
    (own.ordered_lifecycle_events.stage Int)
    (c.threshold Int))
  Bool
  (and
    (and
      (or req_was.seen (not req_was.held))
      (or was.copied (not req_was.broke))
      (or was.copied (not req_was.loaded))
      (or
        believed.acted
        (not (<= state.explicit_conflict_action 3))
        (not (>= state.explicit_conflict_action 2))
        (not req_was.held)
        (not was.responsible))
      (or
        (not (<= (+ state.explicit_acceptance (* state.footprint_accounting (- 1))) 0))
        (not (= state.explicit_conflict_action 2))
        (not req_was.held))
      (or
        believed.acted
        (not (<= own.ordered_lifecycle_events.stage 0))
        (not (= state.explicit_conflict_action 3)))
      (or
        (not (<= (+ was.declared (* was.footprint (- 1))) (- 1)))
        (not (>= state.explicit_acceptance 2)))
      (or
        believed.acted
        req_was.away
        was.there
        (not (>= state.explicit_conflict_action 3))
        (not req_was.held)
        (not was.responsible))
      (or
        (not (<= state.explicit_acceptance 1))
        (not (= state.explicit_conflict_action 2))
        (not req_was.held))
      (or
        req_was.away
        was.there
        (not (<= state.explicit_acceptance 1))
        (not (= state.explicit_conflict_action 2))))
    (and
      (= was.committed (or (= state.explicit_acceptance 1) (= state.explicit_acceptance 2)))
      (=> (= state.explicit_acceptance 1) (= own.ordered_lifecycle_events.stage 0))
      (=> (or false (= state.ordered_lifecycle_events 1)) (= state.explicit_acceptance 2))
      (=>
        (or false false false false false false (= state.explicit_conflict_action 1))
        req_was.arrived)
      (=> (or false false false) was.registered)
      (=>
        (or false false)
        (not
          (or
            (= own.ordered_lifecycle_events.stage 5)
            (= own.ordered_lifecycle_events.stage 6)
            (= own.ordered_lifecycle_events.stage 7))))
      (=> (or false false) req_was.failed)
      (=> (or false false) req_was.routed)
      (=> false (and was.committed (not was.responsible)))
      (=> false (not (<= c.threshold was.lead)))
      (=> false (or false was.responsible))
      (=> false req_was.arrived)
      (=> false req_was.seen)
      (=> false req_was.served)
      (=> false was.committed)
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
      (not
        (or
          (= state.explicit_acceptance 3)
          (= state.explicit_conflict_action 5)
          (= state.footprint_accounting 2)
          (= state.ordered_lifecycle_events 3)))
      (and
        (and (<= 0 state.explicit_acceptance) (> 4 state.explicit_acceptance))
        (and (<= 0 state.explicit_conflict_action) (> 6 state.explicit_conflict_action))
        (and (<= 0 state.footprint_accounting) (> 3 state.footprint_accounting))
        (and (<= 0 state.ordered_lifecycle_events) (> 4 state.ordered_lifecycle_events)))
      (or
        (= state.explicit_acceptance 2)
        (and (= own.ordered_lifecycle_events.stage 7) (not was.committed))
        (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8)))
      (=>
        (= state.explicit_acceptance 2)
        (not (or (= own.ordered_lifecycle_events.stage 0) (= own.ordered_lifecycle_events.stage 8))))
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
        (or false false)
        (and was.registered (or was.responsible (and false was.registered (not was.committed)))))
      (=>
        (= state.ordered_lifecycle_events 1)
        (and
          (not (or false false))
          (not was.responsible)
          (or
            (= own.ordered_lifecycle_events.stage 1)
            (= own.ordered_lifecycle_events.stage 2)
            (= own.ordered_lifecycle_events.stage 3)
            (= own.ordered_lifecycle_events.stage 4)
            (= own.ordered_lifecycle_events.stage 9)))))))
