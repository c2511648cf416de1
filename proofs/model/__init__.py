"""The statement of each mode's theorem.

`system` says what is proved; `pair` is the system of soft_priority. `environment` says which events
are possible, `auditor` what a reader of reports concludes, `theorems` when that is correct.
"""
