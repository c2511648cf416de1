"""What a model of a runtime is written in, and the walks over one."""
