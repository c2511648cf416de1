"""Lowering: what it takes before a runtime's primitives may be called a mode.

Source: Fail-Closed Lowering of Resident KV Claims, called the paper in this package.
"""
