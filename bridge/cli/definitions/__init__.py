"""Commands about agents and rules, and what of a project is trusted."""
