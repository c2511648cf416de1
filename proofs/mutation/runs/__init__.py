"""The recorded runs, and what observers conclude of them."""
