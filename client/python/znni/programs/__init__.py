"""Programs of the command line. Each is ``znni-WORD``, which ``znni WORD`` runs."""
