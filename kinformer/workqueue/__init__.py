"""Each key in at most one pair of hands."""
