"""Changes of the naive projection, each of which a stream or an example notices."""
