"""What conversations keep beside their records: variables, and step workflows.

`variables` and `step_states` say what is in them.
"""

OF_AN_AGENT = (".vars", ".steps", ".steps-ended")
# Of a session that may still be resumed; its sign for the shell last.
OF_A_SESSION = (".vars.json", ".steps.json", ".steps-ended.json", ".steps")
