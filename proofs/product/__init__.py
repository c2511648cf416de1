"""The product of a model of a runtime with the observers of the contract."""
