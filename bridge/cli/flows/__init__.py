"""Commands about files of flows, pipelines and step workflows."""
