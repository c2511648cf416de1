"""Tests of repeated runs of the connector boundary."""
