"""Shows the states of a model as pages on loopback, each with what can be done next."""
