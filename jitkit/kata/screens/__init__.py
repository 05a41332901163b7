"""Shows reports in a terminal, a notebook or a browser, and reads keys and cells.

terminal     text -> what this terminal can show
keys         a keyboard, or a pipe -> keys
display      report -> the text that a learner reads
cells        verdicts, hints and plots -> what a notebook shows
notebook     the cells of a notebook -> verdict
live         pages that are made again and again -> a browser that shows the newest
chips        one function's programs for several chips -> a table
experiment   a lab's experiment, asked, measured and drawn
"""
