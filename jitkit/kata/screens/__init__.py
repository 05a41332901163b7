"""What a terminal shows of a report, and what comes from its keys."""
