"""Look-up: match messages, then full text, then decide how sure the answer is."""
