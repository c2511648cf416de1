"""The plugin in a process: turned on and off, and what it finds there."""
