"""Entries: model, parser, loader and ledger."""
