"""What binds an agent, whoever runs it: rules, steps, grants, budgets, delegation."""
