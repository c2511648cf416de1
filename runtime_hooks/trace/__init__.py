"""Events out of the engine: to a file, to a socket, to the monitor in the process."""
