"""The saddle line: moment generating functions on one vertical line, added, and read by a certified inversion."""
