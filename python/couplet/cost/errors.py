"""The errors of the cost model: each says what was given, what would have been right, and what to do."""

from __future__ import annotations

from couplet.errors import ArgumentError


class CostError(ArgumentError):
    """A node set, a pattern, a search or an option of the cost model is not valid."""


class DocumentError(CostError):
    """A file of the cost model cannot be read, or does not follow its schema."""


class SchemaVersionError(DocumentError):
    """A file has a schema version that this installation does not know."""


class DesignError(CostError):
    """The measured cells do not determine the coefficients: there are too few of them, or they are degenerate."""


class OtherMachineWarning(UserWarning):
    """A model was measured on another machine than the one that it is used for."""
