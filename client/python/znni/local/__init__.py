"""What runs on this machine: programs that are found, a daemon of our own, the planner, and files for them."""
