"""What the commands have in common, and what they print."""
