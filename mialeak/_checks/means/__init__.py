"""Whether a table, a target or moments of a released mean are what was meant."""
