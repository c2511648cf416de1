"""Judges the streams of a fleet on Apache Spark."""
