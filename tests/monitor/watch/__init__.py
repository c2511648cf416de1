"""Tests of what watches engines that know no claims."""
