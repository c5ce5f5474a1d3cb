"""What ends with its `with` block."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self

from couplet.errors import Error


class Closing:
    """A context manager whose end is close()."""

    def close(self) -> None:
        """Be done with it. Again: nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        with suppress(Error):  # the first error tells more
            self.close()
