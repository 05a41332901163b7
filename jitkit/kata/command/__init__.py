"""The command `jitkit`: words -> what a verb does -> exit status.

cli              words -> arguments, and the verb that they are for
guard            an error that a verb raises -> a sentence, and an exit status
hidden_modules   why an import failed: a learner's file may have the name of one of Python's modules
"""
