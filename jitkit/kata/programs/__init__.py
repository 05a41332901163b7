"""Random programs: what the last checks of an exercise run, written anew for each seed.

choices     where what is random in a program comes from, and how a program gets shorter
running     a writer of programs + choices -> programs, each with what it computes
arrays      functions of arrays, line by line, with shapes and dtypes that go together; `nested`: functions in functions, and loops
transformed such functions under `vmap`, and with their derivatives

A writer takes `Choices` and returns the text of a program, which learners can run as it is.
"""
