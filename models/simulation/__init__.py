"""What claims and cache policies cost: a replay of requests over pools of KV blocks."""
