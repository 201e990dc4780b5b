"""What is shown of an entry, as plain JSON data."""
