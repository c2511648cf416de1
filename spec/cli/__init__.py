"""Command-line parts that the packages share."""
