"""What is asked of a mode, one question a module."""
