"""What is claimed, for how long, and the lifecycle of a claim."""
