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
    (was.rest Int)
    (was.stood Int)
    (was.other Bool)
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
    (believed.tied Int)
    (believed.accuses Bool)
    (believed.stranger Bool)
    (state.claim_identity Int)
    (state.materialization_predicate Int)
    (state.route_cost_attribution Int)
    (state.placement_attribution Int)
    (state.reuse_routing_attribution Int)
    (state.claim_scoped_telemetry Int)
    (c.threshold Int))
  Bool
  (and
    (and
      (or (not (<= state.placement_attribution 0)) (not req_was.routed))
      (or (not (<= state.reuse_routing_attribution 0)) (not req_was.served))
      (or (not (<= state.route_cost_attribution 0)) (not req_was.routed))
      (or believed.cost_told (not (>= state.route_cost_attribution 2)))
      (or believed.hit_told (not (>= state.reuse_routing_attribution 2)))
      (or believed.worker_told (not (>= state.placement_attribution 2)))
      (or was.registered (not req_was.routed))
      (or was.registered (not req_was.served))
      (or
        (not (>= (+ believed.cost (* req_was.cost (- 1))) 1))
        (not (>= state.route_cost_attribution 2))
        (not req_was.routed))
      (or
        believed.hit
        (not (>= state.reuse_routing_attribution 2))
        (not req_was.hit)
        (not req_was.served))
      (or
        req_was.hit
        (not (>= state.reuse_routing_attribution 2))
        (not believed.hit)
        (not req_was.served))
      (or
        (not (<= (+ req_was.worker (* believed.worker (- 1))) (- 1)))
        (not (>= state.placement_attribution 2))
        (not req_was.routed))
      (or
        (not (>= (+ req_was.worker (* believed.worker (- 1))) 1))
        (not (>= state.placement_attribution 2))
        (not req_was.routed))
      (or
        (not (<= (+ believed.cost (* req_was.cost (- 1))) (- 1)))
        (not (>= state.route_cost_attribution 2))
        (not req_was.routed)))
    (and
      (=> (= state.claim_scoped_telemetry 1) (not (<= c.threshold was.lead)))
      (=> (= state.reuse_routing_attribution 1) req_was.served)
      (=> (or (= state.placement_attribution 1) (= state.route_cost_attribution 1)) req_was.routed)
      (=> (or false false) req_was.failed)
      (=> false req_was.seen)
      (=> false req_was.seen)
      (=>
        false
        (and
          was.registered
          (<= c.threshold was.lead)
          (or was.responsible (and true (and was.registered (not was.committed))))))
      (=> req_was.arrived req_was.seen)
      (=> req_was.failed req_was.seen)
      (=> was.committed was.registered)
      (=> was.responsible was.committed)
      (=>
        (or
          false
          false
          false
          false
          (= state.placement_attribution 1)
          (= state.reuse_routing_attribution 1)
          (= state.route_cost_attribution 1))
        req_was.arrived)
      (=>
        (or
          (= state.placement_attribution 1)
          (= state.reuse_routing_attribution 1)
          (= state.route_cost_attribution 1))
        was.registered)
      (not
        (or
          (= state.claim_identity 2)
          (= state.claim_scoped_telemetry 4)
          (= state.materialization_predicate 2)
          (= state.placement_attribution 3)
          (= state.reuse_routing_attribution 3)
          (= state.route_cost_attribution 3)))
      (=>
        (or (= state.claim_scoped_telemetry 1) (= state.claim_scoped_telemetry 2))
        (and
          was.registered
          (or was.responsible (and true (and was.registered (not was.committed))))))
      (and
        (and (<= 0 state.claim_identity) (> 3 state.claim_identity))
        (and (<= 0 state.claim_scoped_telemetry) (> 5 state.claim_scoped_telemetry))
        (and (<= 0 state.materialization_predicate) (> 3 state.materialization_predicate))
        (and (<= 0 state.placement_attribution) (> 4 state.placement_attribution))
        (and (<= 0 state.reuse_routing_attribution) (> 4 state.reuse_routing_attribution))
        (and (<= 0 state.route_cost_attribution) (> 4 state.route_cost_attribution)))
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
