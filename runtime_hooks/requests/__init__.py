"""Requests and the claims that come with them: metadata, callers, pins, claims ahead."""
