"""What is proved: the most general runtime, the auditor, and the theorem of each mode."""
