"""Jobs of blocks: one volume through one network on many machines, each of which computes some blocks of the output."""
