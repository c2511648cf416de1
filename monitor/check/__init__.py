"""From trace files to a report."""
