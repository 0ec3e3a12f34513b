"""Laws of privacy losses: one frozen value per mechanism, and what both engines need to know about it."""
