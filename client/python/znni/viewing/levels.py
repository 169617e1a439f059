"""How the values of voxels become 256 levels of grey, and how often which values are."""

from __future__ import annotations

import dataclasses

import numpy as np

_BINS = 128
_WIDENED = 0.5  # of the window, on either side, that can still be told apart


@dataclasses.dataclass(frozen=True)
class Levels:
    """Maps values from ``low`` to ``high`` to the levels 0 to 255. ``window`` is what is shown from black to white at
    first; ``histogram`` counts values in bins of equal width from low to high, with those beyond in the outermost."""

    low: float
    high: float
    window: tuple[float, float]
    histogram: tuple[int, ...]

    def grey(self, values: np.ndarray) -> np.ndarray:
        """Returns the level of each value; 0 for those that are not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = (np.asarray(values, np.float64) - self.low) * (255.0 / (self.high - self.low))
        return np.rint(np.clip(np.where(np.isfinite(values), scaled, 0.0), 0.0, 255.0)).astype(np.uint8)


def levels_of(values: np.ndarray, dtype: np.dtype, percentiles: tuple[float, float]) -> Levels:
    """Returns the levels for a sample of ``values`` of voxels of this type. The window reaches from one percentile to
    the other. Each level stands for one value of uint8."""
    finite = values[np.isfinite(values)].astype(np.float64)
    if not finite.size:
        return Levels(0.0, 1.0, (0.0, 1.0), (0,) * _BINS)
    first, last = (float(n) for n in np.percentile(finite, percentiles))
    if last <= first:
        first, last = float(finite.min()), float(finite.max())
    if last <= first:
        first, last = first - (abs(first) * 1e-3 or 1.0), first
    low, high = (0.0, 255.0) if dtype == np.uint8 else _reach(finite, first, last)
    counts, _ = np.histogram(np.clip(finite, low, high), _BINS, (low, high))
    return Levels(low, high, (max(first, low), max(last, low + 1e-3 * (high - low))), tuple(counts.tolist()))


def _reach(finite: np.ndarray, first: float, last: float) -> tuple[float, float]:
    """Returns the values that the outermost levels stand for: those beyond the window as far as there are any."""
    more = _WIDENED * (last - first)
    low, high = max(first - more, float(finite.min())), min(last + more, float(finite.max()))
    return min(low, first), max(high, last)
