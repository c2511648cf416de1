"""The monitor and the naive projection, compared line by line."""
