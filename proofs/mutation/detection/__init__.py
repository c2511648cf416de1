"""The named checks that detect a mutant, from the strongest reason to the weakest."""
