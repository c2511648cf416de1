"""The blocks of a pool: whose they are, what is shared, and what room they take."""
