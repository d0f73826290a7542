"""How the weights of the rules against prompt injection are fitted."""
