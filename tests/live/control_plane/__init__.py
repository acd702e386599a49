"""A real control plane on the loopback address, and whether it decides as ksched does."""
