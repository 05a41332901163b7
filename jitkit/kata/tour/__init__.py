"""`jitkit tour`: one function through every stage, the clock, the pitfall, other chips; a plot and a page saved."""
