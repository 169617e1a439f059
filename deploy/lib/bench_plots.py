"""Draws the plots of deploy/bench as SVG. Needs only the standard library."""

import math
from xml.sax.saxutils import escape

COLOURS = ("#2a7ab0", "#b0632a", "#3a8f4d", "#7a4fa3", "#a33a5b", "#555555")


def head(width, height):
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]


def text(x, y, words, anchor="start", colour="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def bars(ratios):
    """Returns bars of (label, ratio) on a logarithmic axis that begins at the least ratio or 1, with a line at 1."""
    row, left, width = 22, 520, 360
    low = math.log10(min([ratio for _, ratio in ratios] + [1.0]) * 0.8)
    high = math.log10(max([ratio for _, ratio in ratios] + [1.25]))

    def at(ratio):
        return width * (math.log10(ratio) - low) / (high - low)

    height = row * len(ratios) + 30
    parts = head(left + width + 60, height)
    for index, (label, ratio) in enumerate(ratios):
        y = 8 + row * index
        parts.append(text(left - 8, y + 13, label, "end"))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{at(ratio):.1f}" height="{row - 5}" '
            f'fill="{COLOURS[0] if ratio >= 1 else COLOURS[1]}"/>'
        )
        parts.append(text(left + at(ratio) + 5, y + 13, f"{ratio:.2f}"))
    one = left + at(1.0)
    parts.append(f'<line x1="{one:.1f}" y1="2" x2="{one:.1f}" y2="{height - 20}" stroke="black"/>')
    return "\n".join([*parts, text(one, height - 6, "1", "middle"), "</svg>"]) + "\n"


def curves(named, x_title, y_title):
    """Returns lines of {name: [(x, y)]} on logarithmic axes, with a dot and its number at every point."""
    points = [point for line in named.values() for point in line]
    left, top, width, height = 90, 20, 560, 320
    scales = []
    for axis in (0, 1):
        values = [math.log10(point[axis]) for point in points] or [0.0]
        scales.append((min(values), max(max(values) - min(values), 0.1)))

    def place(point):
        x, y = ((math.log10(value) - low) / size for value, (low, size) in zip(point, scales))
        return left + 20 + (width - 80) * x, top + 20 + (height - 40) * (1 - y)

    parts = head(left + width + 80, top + height + 50)
    parts.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999999"/>')
    parts += [text(left + width / 2, top + height + 40, x_title, "middle"), text(left, top - 6, y_title)]
    for x in sorted({point[0] for point in points}):
        parts.append(text(place((x, points[0][1]))[0], top + height + 18, f"{x:g}", "middle"))
    for index, (name, line) in enumerate(named.items()):
        colour = COLOURS[index % len(COLOURS)]
        places = [place(point) for point in line]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), (_, value) in zip(places, line):
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>',
                text(x, y - 7, f"{value / 1000:,.0f} k", "middle", colour),
            ]
        parts.append(text(places[-1][0] + 24, places[-1][1] + 4, name, "start", colour))
    return "\n".join([*parts, "</svg>"]) + "\n"
