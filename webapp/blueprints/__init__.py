"""The application's blueprints: one for each group of routes."""
