"""Defines what an event of the stream means for one claim."""
