"""The server of an index: a JSON API and a page."""
