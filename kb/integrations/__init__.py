"""kb inside other programs: excepthook, `python -m kb train.py`, torchrun, pytest, IPython, MCP."""
