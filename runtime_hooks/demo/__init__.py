"""Runs scenarios in a tiny real engine, and judges their traces."""
