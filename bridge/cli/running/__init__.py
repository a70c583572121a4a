"""Commands that run flows, pipelines, validators and builds."""
