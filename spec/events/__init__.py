"""What happens: every kind of event, its fields, and its canonical form."""
