"""The engine: functions of a learner -> verdict. It does not know workspaces or screens.

manifest        labs/NN_name/lab.toml -> Lab; `toml_table`: a TOML file whose errors name their place
checking        the functions with which a lab's `checks.py` is written; `mutants`: those for its `mutants.py`
submission      files of a learner -> functions; `old_places`: redirects their imports from old places; `plain_imports`: names what they
                import; `own_names`: what their names mean; `names`, `name_origins`: names of a syntax tree, and of a module
splice          functions of a learner -> `jitkit` with them in place; `source_edit`: the same as source; `exchange`: the same in a
                `jitkit` that is imported already
reference       target -> the reference's source; `parts`: the helpers that it uses; `members`: methods and values of its classes
running         a submission + checks -> an outcome for each check, by talking with processes
processes       processes that wait for a request; `copies`: a process that is copied for each run; `stacks`: where one hangs or has died
worker          what runs in such a process; `reference_code`: jitkit's code, read ahead; `executables`: programs compiled before;
                `climbing`: a package from scratch instead of functions, `behind`: one with a compiler of its own, `drawing`: random
                functions for both;
                `replay`: a failing check, seen call by call
plain           value -> plain data
comparison      two values -> their first difference; `jaxpr_comparison` and `witness` for jaxprs; `numpy_jaxpr`, `run_stablehlo`:
                run programs whose results are compared
choices         a generator, or numbers -> the choices that a random program is made of
random_programs a writer of random programs -> programs with what they compute; `shortening`: the shortest that differs, by fewer
                choices, and by `fewer_lines`
statuses        the outcomes of a check, an exercise or a rung
verdicts        what a verdict says, and verdicts that need no run
assessor        an exercise + a learner's files -> verdict; `junit`: suites of cases -> JUnit XML
in_place        a program of the learner's, run with their functions in place
"""
