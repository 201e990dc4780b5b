"""Tools for contributors: scaffold a new entry, preview it live."""
