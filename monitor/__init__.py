"""Does this stream keep it? Compiled observers, sources, verdicts. No solver lives here."""
