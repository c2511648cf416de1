"""Reads the settings of the plugin."""
