"""`jitkit tour` shows one function at every stage, times a call, shows what `jit` in a loop costs, trains a network, and compiles for
other chips. It saves a plot and the texts of the stages. In the order of reading:

tour       runs the parts, in order
example    the functions that the parts show
arrows     every stage of one call
clock      the times of a call, and of each stage
pitfall    `jit` in a loop
training   a network that learns
targets    other chips
plot       the figures as one slide
"""
