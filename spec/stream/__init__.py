"""Defines the meaning of a stream: what each event of it means for each claim."""
