"""The second half of the papers: each table and figure computed again, and compared."""
