"""Single calls of the client: the server that each goes to, and how it is ended before it is done."""
