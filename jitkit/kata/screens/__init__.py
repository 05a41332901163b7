"""What a terminal or a notebook shows of a report, and what comes from keys and cells.

terminal     text -> what this terminal can show
keys         a keyboard, or a pipe -> keys
display      report -> what a learner reads of it
cells        verdicts, hints and plots -> what a notebook shows
notebook     the cells of a notebook -> verdict
chips        one function's programs for several chips -> a table
experiment   a lab's experiment, asked, measured and drawn
"""
