"""Engines that decide whether every run that keeps the obligations keeps the theorem.

*Recorded* checks an invariant that was found before, by plain Z3, in a tenth of a second; nearly
every question of a `check` ends there. *Spacer* finds an invariant, in seconds, where none is
recorded or the recorded one no longer holds: after a change of the specification, and to write a
certificate. *Search* finds shortest runs over small numbers: it shows what Spacer refutes, makes
the witness and the counterexamples, and answers with a bound where Spacer does not know. *Auto*,
the default, asks them in this order.
"""
