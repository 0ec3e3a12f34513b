"""One table per notion: what each event costs in it, or the reason why it cannot be charged there."""
