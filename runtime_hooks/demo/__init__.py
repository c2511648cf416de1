"""A tiny real engine, and scenes played in it."""
