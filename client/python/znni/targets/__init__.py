"""Outputs that change what is written to another: masked, mirrored, or the mean of several."""
