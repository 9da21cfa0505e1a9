"""Players of the games."""
