"""Random allocation: every record takes part in one secret step out of many. Laws, moments and certified prices."""
