"""The frame theorem: what is not delivered to a claim changes nothing of it."""
