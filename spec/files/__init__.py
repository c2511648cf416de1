"""Files that people name: opened with care, read as data, written whole."""
