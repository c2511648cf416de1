"""What tests/test_extending.py adds to a copy of the tree, by the recipes of docs/extending.md."""
