"""The test kit, tried on processors that are wrong on purpose and on every built-in."""
