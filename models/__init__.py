"""How runtimes behave: one small executable transition system per runtime (not built yet)."""
