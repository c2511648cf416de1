"""What is publicly known of runtimes; how they behave is not built yet."""
