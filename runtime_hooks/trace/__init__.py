"""Writes events: to a file, to a socket, and to the monitor in the process."""
