"""Tests of the page of traces."""
