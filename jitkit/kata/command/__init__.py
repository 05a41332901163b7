"""The command `jitkit`: words -> what a verb does -> exit status.

cli              words -> arguments, and the verb that they are for
guard            whatever a verb raises -> a sentence, and an exit status
hidden_modules   why an import failed: a learner's file that is called as a module of Python's is
"""
