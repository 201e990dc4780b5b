"""What lets a process start fast: a look-up ends before many a library is imported."""
