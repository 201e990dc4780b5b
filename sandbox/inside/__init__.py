"""The part that runs inside the sandbox: standard library only, sent as source over the worker's standard input."""
