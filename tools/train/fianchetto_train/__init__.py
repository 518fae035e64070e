"""Trains Fianchetto's networks from human games. See README.md."""
