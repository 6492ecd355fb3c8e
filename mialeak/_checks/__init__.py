"""What input is, and whether it is what was meant: names, values, rows, counts and moments."""
