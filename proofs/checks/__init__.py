"""The checks of a mode, one property a module."""
