"""The index of all entries: build it, store it, open it."""
