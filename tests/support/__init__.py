"""What several tests need: runs of an agent, models and processors to test with."""
