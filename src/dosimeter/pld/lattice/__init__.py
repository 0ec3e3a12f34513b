"""Laws on a lattice: a pair of point laws that certainly lie below and above the one they stand for."""
