"""Answers and entries for a terminal and a notebook."""
