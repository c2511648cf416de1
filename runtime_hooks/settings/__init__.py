"""What the plugin is asked to do."""
