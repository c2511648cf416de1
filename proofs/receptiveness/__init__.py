"""Receptiveness: a runtime can always keep the obligations of a mode, whatever happens."""
