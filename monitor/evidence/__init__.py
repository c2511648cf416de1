"""Takes evidence for a mode's obligations from traces, and from captures joined with a registry."""
