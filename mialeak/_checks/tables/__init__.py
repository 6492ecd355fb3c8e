"""Whether a table of counts, or of persons to be counted, is what was meant."""
