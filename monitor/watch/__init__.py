"""Watches claims on engines that know none: joins their KV events with a registry of claims."""
