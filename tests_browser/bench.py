"""How fast the page of 100,000 events responds, and what it takes to make:
`python -m tests_browser.bench`.

A response is the time from a key or a filter to the end of the work that it causes, drawing
included; the median of five. Beside it stands what 2,000,000 square roots take in the same page.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from spec.claims.states import Mode
from tests.streams.traffic import Traffic
from tests.streams.traffic import write as write_stream
from tests_browser.pages import CHROMIUM, NONE, chromium, ready, write

WANTED_MS: Final = 100
_EVENTS: Final = 100_000
_MODES: Final = (Mode.HARD_PROTECTED, Mode.OFFLOADABLE)

_MEASURE: Final = """async () => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const times = {};
  async function take(name, act) {
    await drawn();
    await drawn();
    const begin = performance.now();
    act();
    const worked = performance.now() - begin;
    await new Promise((done) => requestAnimationFrame(done));
    const frame = performance.now();
    await new Promise((done) => setTimeout(done, 0));
    (times[name] ??= []).push(worked + performance.now() - frame);
  }
  const scroll = document.getElementById("scroll");
  const key = (key) => scroll.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const set = (id, value) => {
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  for (const each of ["+", "+", "ArrowRight", "-", "0"])
    await take("zoom and move", () => key(each));
  for (const each of ["n", "n", "p", "n", "n"]) await take("next event", () => key(each));
  for (const each of [9000, 90000, 0, 500, 200000])
    await take("scroll", () => { scroll.scrollTop = each; });
  for (const each of ["loss", "report", "fact", "loss", ""])
    await take("filter events", () => set("by-kind", each));
  for (const each of ["kept", "", "violated", "", "kept"])
    await take("filter claims", () => set("by-verdict", each));
  let sum = 0;
  await take("square roots", () => { for (let i = 0; i < 2e6; i++) sum += Math.sqrt(i); });
  return times;
}"""


def main() -> int:
    """Print each response; 1 if one takes longer than wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=_EVENTS)
    events = parser.parse_args().events
    if CHROMIUM is None:
        print(f"error: {NONE}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        trace = write_stream(Path(place) / "trace.jsonl", Traffic(events, 1000, _MODES))
        begun = time.monotonic()
        report = write(Path(place) / "report.html", trace)
        took = time.monotonic() - begun
        # Of the processes that have ended, the command is the largest: the browser still runs.
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(report.as_uri())
        page.wait_for_selector(ready, timeout=120_000)
        times = page.evaluate(_MEASURE)
        size = report.stat().st_size
    print(
        f"page of {events:,} events, {size / 1e6:.1f} MB, made in {took:.0f} s and {most:.0f} MiB"
    )
    print(f"each response at most {WANTED_MS} ms:")
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, taken in medians.items():
        print(f"  {name:<16} {taken:6.1f} ms")
    return int(max(medians.values()) > WANTED_MS)


if __name__ == "__main__":
    sys.exit(main())
