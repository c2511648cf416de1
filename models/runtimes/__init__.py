"""Executable models of runtimes, a file each."""
