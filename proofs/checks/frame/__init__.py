"""The frame theorem: an event that is not delivered to a claim changes nothing of it."""
