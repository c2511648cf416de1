"""Makes one HTML file of traces: verdicts, lanes along time, the pool, and what was expected."""
