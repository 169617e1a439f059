"""Formats of files and of chunked stores: a module for each, and what several of them need."""
