"""The error of a case that cannot be measured here."""

from __future__ import annotations


class LeftOutError(RuntimeError):
    """A case cannot be measured here, and why."""
