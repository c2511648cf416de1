"""Models as plain data, text, diagrams and pages."""
