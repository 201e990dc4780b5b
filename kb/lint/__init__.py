"""The rules for entries, exemptions from them, and what can be fixed automatically."""
