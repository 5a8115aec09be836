"""Elements prefetched by another thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

_END = object()


class _Failure:
    def __init__(self, error: BaseException):
        self.error = error


def prefetched(elements: Iterator[Any], size: int) -> Iterator[Any]:
    """The same elements; a thread makes up to `size` of them in advance, and one more that waits for room.

    An exception of `elements` is raised here, after the elements before it. The thread ends when this generator is closed.
    """
    ready: queue.Queue[Any] = queue.Queue(size)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:  # look whether anybody still reads
                continue
        return False

    def work() -> None:
        try:
            for element in elements:
                if not put(element):
                    return
            put(_END)
        except BaseException as error:  # the reader gets any exception
            put(_Failure(error))
        finally:
            if hasattr(elements, "close"):
                elements.close()  # pyright: ignore[reportAttributeAccessIssue]

    thread = threading.Thread(target=work, name="lamina-prefetch", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        stopped.set()
        while not ready.empty():  # a thread that waits for room
            ready.get_nowait()
        thread.join()
