"""Defines lowering: the evidence that a runtime needs before its primitives may be called a mode.

Source: Fail-Closed Lowering of Resident KV Claims, called the paper in this package.
"""
