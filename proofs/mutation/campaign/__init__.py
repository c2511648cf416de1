"""A campaign: each mutant is killed, proved equivalent, or survives; resumed and reported."""
