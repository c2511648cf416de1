"""The specification as pages and diagrams."""
