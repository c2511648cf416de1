"""Generates pages and diagrams of the specification."""
