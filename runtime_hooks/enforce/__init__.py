"""What is done to keep a claim."""
