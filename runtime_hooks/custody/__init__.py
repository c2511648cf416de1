"""What becomes of claims: taken in, kept, told of, ended."""
