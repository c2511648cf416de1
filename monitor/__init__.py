"""Does this stream keep it? Compiled observers, verdicts, sources and reports."""
