"""The requests of a stream: what each needs, and who is named for its fate."""
