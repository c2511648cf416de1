"""Lines of a trace, from files and sockets, as canonical events."""
