"""The base of objects that close at the end of their `with` block."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self

from couplet.errors import Error


class Closing:
    """A context manager that calls close() at the end of its block."""

    def close(self) -> None:
        """Closes the object. It may be called twice."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        with suppress(Error):  # the first error says more
            self.close()
