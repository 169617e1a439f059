"""Stores of volumes: one class for each kind, behind seam.py."""
