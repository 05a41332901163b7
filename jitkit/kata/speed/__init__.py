"""What `jitkit bench kata` measures: the time from a save to its verdict.

save_to_verdict          a workspace in which `jitkit watch` runs, and saves into it
save_to_verdict_figure   every save as a point, and what was promised as a line
"""
