"""The tilted transform: certified bounds of a composition from lattice laws, at any delta."""
