"""Tests of models.budget."""
