"""Tests of the experiment of soft_priority."""
