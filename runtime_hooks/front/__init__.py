"""Answers HTTP about claims, in the processes of a server that are not its engine."""
