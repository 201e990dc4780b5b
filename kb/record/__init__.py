"""What released packages contain, by version: names, parameters, messages, and which releases fit together."""
