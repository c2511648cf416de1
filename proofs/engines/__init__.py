"""Ways to answer a question about a system: bounded search, Spacer, and the check of a proof."""
