"""Reads lines of traces from files and sockets as canonical events."""
