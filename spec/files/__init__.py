"""Opens, reads and writes files that users name."""
