"""The commands of `python -m proofs`: options, output, exit codes."""
