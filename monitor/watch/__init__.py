"""Watches claims on engines without the plugin: joins their KV events with a registry."""
