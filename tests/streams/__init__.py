"""Streams of events to judge: stories, edited traces, and whole runtimes, honest or not."""
