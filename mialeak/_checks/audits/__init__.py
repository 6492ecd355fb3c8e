"""Whether scores and flags of an audit are what was meant."""
