"""Tests of the page of traces in a browser: Chromium, driven by Playwright."""
