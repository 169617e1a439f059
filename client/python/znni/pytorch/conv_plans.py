"""The convolutions of this process, planned once for each shape, and the one workspace in which all of them run."""

from __future__ import annotations

import collections
import ctypes
import mmap
import os
import threading
from collections.abc import Callable

from znni.errors import OverBudgetError
from znni.pytorch.conv_library import Convolution, ConvShape, Work

_MOST_PLANS = 256


class ConvPlans:
    """Keeps the plans of the shapes that were used last, and a workspace that is as large as the largest work so far.
    Any thread may call it; works run one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: collections.OrderedDict[tuple, Convolution] = collections.OrderedDict()
        self._workspace: mmap.mmap | None = None

    def run(self, work: Work, shape: ConvShape, threads: int, mem: int, *tensors: int) -> None:
        """Runs a work on tensors, given by their addresses in the order of Convolution's methods, in up to ``mem``
        bytes of workspace (0: see Convolution). Raises what Convolution raises."""
        with self._lock:
            convolution = self._planned(shape, threads, mem)
            method: Callable[..., None] = (
                convolution.forward,
                convolution.input_gradient,
                convolution.weight_gradient,
            )[work]
            method(*tensors, self._room(convolution.workspace_bytes(work)))

    def describe(self, shape: ConvShape, threads: int, mem: int) -> dict[str, str]:
        """Returns how each work is computed."""
        with self._lock:
            convolution = self._planned(shape, threads, mem)
            return {work.name.lower(): convolution.describe(work) for work in Work}

    def _planned(self, shape: ConvShape, threads: int, mem: int) -> Convolution:
        key = (shape, threads, mem)
        found = self._made.pop(key, None) or Convolution(shape, threads, mem)
        self._made[key] = found
        if len(self._made) > _MOST_PLANS:
            self._made.popitem(last=False)
        return found

    def _room(self, size: int) -> int:
        """Returns the address of a workspace of ``size`` bytes or more, at the beginning of a page."""
        if size == 0:
            return 0
        if self._workspace is None or len(self._workspace) < size:
            self._workspace = None  # given back before a larger one is taken
            self._workspace = _map(size)
        return ctypes.addressof(ctypes.c_char.from_buffer(self._workspace))


def _map(size: int) -> mmap.mmap:
    """Returns memory of its own, in large pages where the system has them."""
    try:
        made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError) as error:
        raise OverBudgetError(f"the system refuses {size} bytes of workspace: {error}; set a lower mem") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            made.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # small pages do, too
    return made


_of_process = ConvPlans()


def of_process() -> ConvPlans:
    """Returns the plans of this process."""
    return _of_process


def _begin_again() -> None:
    """Takes new plans in the child of a fork, which has no threads, and maybe a lock that stays locked."""
    global _of_process
    _of_process = ConvPlans()


os.register_at_fork(after_in_child=_begin_again)
