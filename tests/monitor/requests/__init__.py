"""Tests of requests and of the actions on them."""
