"""Pasted text: normalisation, tokens, the errors in it, terms for the full-text index."""
