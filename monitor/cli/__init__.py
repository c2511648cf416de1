"""The commands of `python -m monitor` that judge files: options, output, exit codes."""
