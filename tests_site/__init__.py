"""Tests of the documentation site that `make site` builds."""
