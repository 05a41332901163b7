"""`jitkit tour`: one function through every stage, the clock, the pitfall, other chips; a plot and a page saved. In the order of reading:

tour, example           the order of the parts; the functions that they show
arrows, clock, pitfall  every stage; its time; `jit` in a loop
training, targets       a network that learns; other chips
plot                    the figures as one slide
"""
