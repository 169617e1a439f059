"""Calls of the client: connections, the server that each call goes to, when it is tried again and how it is ended."""
