"""Judges fleets on a real Spark, on loopback: `make test-fleet`."""
