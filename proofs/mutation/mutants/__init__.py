"""What is mutated: terms, rules, shared definitions, delivery and the lowering tables."""
