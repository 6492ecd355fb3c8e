"""Numerical methods that several rooms use: no room's own."""
