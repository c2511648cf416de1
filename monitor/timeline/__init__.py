"""Turns one read of a stream and its judgement into a timeline: lanes, slices, instants, counts.

`monitor.check.files.check` takes `timeline=put` and calls `put` with each item of `items.py`, in
one pass; `EventMonitor(timeline=Written(put))` does the same for lines that come one by one.

* Axis: `time_ns`, if the first event states it, and the numbers of lines otherwise (`StreamBegun`).
  A stream whose time goes back is broken; its lines stay where the last one was.
* A claim: `ClaimBegun`, a `StateSlice` for each state of the lifecycle of the specification, and
  `ClaimEnded` with its terms, its verdict, and the paths of its observers.
* A request: `RequestBegun`, a `RequestSlice` for each phase, `RequestEnded`.
* Facts and reports about them: `Happened`, with the event itself.
* The pool: `Counted`, as far as the judge knows it. A break ends that: the value is None.
* From one to another: `Link`, with both ends.

The judge in Python makes it, whatever core checks files.
"""

from monitor.timeline.lanes import Recorder, Written

__all__ = ["Recorder", "Written"]
