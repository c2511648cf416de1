"""Executable models of runtimes: a module each, or a package where it takes several."""
