"""The recorded runs, and what is pinned of them."""
