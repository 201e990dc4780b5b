"""Message templates: compile them, match them, read what a program printed."""
