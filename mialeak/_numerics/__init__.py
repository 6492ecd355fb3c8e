"""Numerical methods that several rooms share."""
