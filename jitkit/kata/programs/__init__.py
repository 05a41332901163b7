"""Writers of random programs: what the last checks of an exercise run, written anew for each seed. The engine runs them.

choices     where what is random in a program comes from, and how a program gets shorter
arrays      functions of arrays, line by line, with shapes and dtypes that go together; `nested`: functions in functions, and loops
transformed such functions under `vmap`, and with their derivatives

A writer takes `Choices` and returns the text of a program, which learners can run as it is.
"""
