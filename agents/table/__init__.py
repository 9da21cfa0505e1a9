"""A table for people: the game in a terminal or a browser, where a person is one more agent."""
