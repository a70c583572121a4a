"""A rule and a definition that must work word for word, as their author wrote them."""

RULE = """\
on_before_tool:
  - when: tool_name == "Bash" and ("pytest" in command or "ruff" in command or "mypy" in command)
    spawn_agent:
      agent: validation-runner
      prompt: "Run and report: {{ tool_input.command }}"
"""  # noqa: E501 - word for word

DEFINITION = """\
description: Runs validation commands (pytest, ruff, mypy) and reports results

model: haiku
mode: headless

# Lifecycle variables - override parent's lifecycle settings
lifecycle_variables:
  validation_model: null  # Disable delegation for this agent
  require_task_before_edit: false  # No task needed

# Optional step workflow
workflow: null  # Just execute prompt, no steps

# Execution limits
timeout: 1800
max_turns: 10
"""
