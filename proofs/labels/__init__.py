"""Labels runtimes: rows, their evidence, and the pages made of them."""
