"""Dosimeter: differentially private analysis under full adaptivity."""

__version__ = "0.1.0"
