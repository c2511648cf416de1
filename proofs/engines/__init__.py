"""Engines that decide a question about a system: bounded search, k-induction, Spacer and others."""
