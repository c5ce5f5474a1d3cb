"""The mistakes that ``couplet convert`` reports (docs/guide/converting-an-mpi-code.md). Tests: tests/convert."""


class ConvertError(Exception):
    """A mistake of the caller: a file that is not there, an option that does not fit, a package that is missing."""
