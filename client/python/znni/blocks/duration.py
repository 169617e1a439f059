"""Times in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Returns "30 h", "3 h 20 min", "12 min" or "40 s"."""
    minutes = round(seconds / 60)
    if minutes >= 24 * 60:
        return f"{round(minutes / 60)} h"
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if seconds >= 90 else f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
