"""One stream: the order of its lines, its claims, and what each event means for each of them."""
