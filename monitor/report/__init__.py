"""What a check came to: as published, and for people."""
