"""`jitkit tour` shows one function at every stage of the JIT, times the stages, and saves a plot and a page. In the order of reading:

tour      the order of the parts
example   the functions that they show
arrows    every stage of a function
clock     the time of each stage
pitfall   the cost of `jit` in a loop
training  a network that learns
targets   what other chips make of a function
plot      the figures as one slide
"""
