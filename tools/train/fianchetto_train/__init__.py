"""Trains Fianchetto's networks from human games. See README.md."""

import os

# Before torch: its threads wait for each other by spinning, which stands still on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
