"""Runs jobs: windows of volumes are read and sent, planes of outputs are received and written."""
