"""Privacy loss distributions: exact prices of plans fixed in advance, as bounds that certainly hold."""
