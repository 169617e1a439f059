#!/usr/bin/env python3
"""Writes the straight-line transforms of the tiled FFT convolution as one C++ header.

    generate_codelets.py --sizes 4 6 8 ... --output codelets.hpp

A transform is built as a graph of additions and multiplications by constants, in which equal terms are one node
and what is multiplied by zero or never read disappears (as in FFTW's genfft; Frigo, PLDI 1999). Three kinds:

    c2c   complex, all T frequencies: X[k] = sum of x[t] exp(-2 pi i k t / T); swapping the real and imaginary
          pointers on both sides gives the inverse; also for lines of which only the first few values are not zero
    r2c   real input, frequencies 0 .. T/2: the same graph with the imaginary inputs zero
    c2r   the transpose of r2c: x[t] = sum over k = 0 .. T/2 of Re(X[k] exp(2 pi i k t / T)); the caller doubles the
          frequencies that stand for two, 0 < k < T/2, beforehand
"""

import argparse
import cmath
import math
import pathlib

DIGITS = 17


class Graph:
    """Linear expressions; a node is a number, its operation a tuple. Creation order is an evaluation order."""

    def __init__(self):
        self.operations = []
        self.known = {}
        self.zero = self.node("zero")

    def node(self, *operation):
        if operation not in self.known:
            self.known[operation] = len(self.operations)
            self.operations.append(operation)
        return self.known[operation]

    def input(self, part, index):
        return self.node("in", part, index)

    def negative(self, a):
        operation = self.operations[a]
        if a == self.zero:
            return a
        if operation[0] == "neg":
            return operation[1]
        if operation[0] == "sub":
            return self.node("sub", operation[2], operation[1])
        return self.node("neg", a)

    def add(self, a, b):
        if a == self.zero:
            return b
        if b == self.zero:
            return a
        if self.operations[b][0] == "neg":
            return self.sub(a, self.operations[b][1])
        if self.operations[a][0] == "neg":
            return self.sub(b, self.operations[a][1])
        return self.node("add", min(a, b), max(a, b))

    def sub(self, a, b):
        if b == self.zero:
            return a
        if a == self.zero:
            return self.negative(b)
        if a == b:
            return self.zero
        if self.operations[b][0] == "neg":
            return self.add(a, self.operations[b][1])
        if self.operations[a][0] == "neg":
            return self.negative(self.add(self.operations[a][1], b))
        if ("sub", b, a) in self.known:
            return self.node("neg", self.known[("sub", b, a)])
        return self.node("sub", a, b)

    def scale(self, factor, a):
        factor = round(factor, DIGITS)
        if a == self.zero or abs(factor) < 1e-15:
            return self.zero
        if self.operations[a][0] == "neg":
            return self.scale(-factor, self.operations[a][1])
        if factor < 0:
            return self.negative(self.scale(-factor, a))
        if abs(factor - 1) < 1e-15:
            return a
        return self.node("mul", factor, a)


class Complex:
    """A pair of nodes of one graph."""

    def __init__(self, graph, re, im):
        self.graph, self.re, self.im = graph, re, im

    def __add__(self, other):
        return Complex(self.graph, self.graph.add(self.re, other.re), self.graph.add(self.im, other.im))

    def __sub__(self, other):
        return Complex(self.graph, self.graph.sub(self.re, other.re), self.graph.sub(self.im, other.im))

    def conjugate(self):
        return Complex(self.graph, self.re, self.graph.negative(self.im))

    def times_i(self):
        return Complex(self.graph, self.graph.negative(self.im), self.re)

    def scaled(self, factor):
        return Complex(self.graph, self.graph.scale(factor, self.re), self.graph.scale(factor, self.im))

    def times(self, w):
        """Returns the number multiplied by the constant w; eighth roots of unity cost two multiplications."""
        if abs(abs(w.real) - abs(w.imag)) < 1e-12:
            half = abs(w.real)
            turned = self + self.times_i() if w.real * w.imag > 0 else self - self.times_i()
            return turned.scaled(half if w.real > 0 else -half)
        g = self.graph
        return Complex(
            g,
            g.sub(g.scale(w.real, self.re), g.scale(w.imag, self.im)),
            g.add(g.scale(w.real, self.im), g.scale(w.imag, self.re)),
        )

    def is_real(self):
        return self.im == self.graph.zero


def root(n, k):
    return cmath.exp(-2j * math.pi * (k % n) / n)


def coprime_split(n):
    """Returns n as a product of two coprime factors, the first the largest power of its smallest prime; or None."""
    prime = next(p for p in range(2, n + 1) if n % p == 0)
    power = prime
    while n % (power * prime) == 0:
        power *= prime
    return (power, n // power) if power < n else None


def dft(x):
    """Returns frequencies of x, a list of Complex."""
    n = len(x)
    if n == 1:
        return x
    values, period = transform(x)
    if not all(value.is_real() for value in x):
        return values
    # If two frequencies are conjugates, only the one with the lower residue is computed.
    lower = [values[k] if 2 * (k % period) <= period else values[n - k].conjugate() for k in range(n // 2 + 1)]
    return lower + [lower[n - k].conjugate() for k in range(n // 2 + 1, n)]


def transform(x):
    """Returns frequencies, and a period: those of one residue modulo it are computed together."""
    n = len(x)
    if n == 2:
        return [x[0] + x[1], x[0] - x[1]], n
    split = coprime_split(n)
    if split:
        return prime_factors(x, *split), split[0]
    if n % 4 == 0:
        return split_radix(x), n // 4
    if n % 3 == 0 and n > 3:
        return cooley_tukey(x, 3, n // 3), n // 3
    return prime(x), n


def prime_factors(x, n1, n2):
    """Transforms as Good and Thomas do: without twiddle factors between coprime lengths."""
    n = n1 * n2
    rows = [dft([x[(n2 * a + n1 * b) % n] for a in range(n1)]) for b in range(n2)]
    columns = [dft([rows[b][k1] for b in range(n2)]) for k1 in range(n1)]
    return [columns[k % n1][k % n2] for k in range(n)]


def split_radix(x):
    """Transforms by conjugate-pair split radix (Kamar and Elcherif): one complex factor for each pair of odd
    quarters."""
    n = len(x)
    quarter = n // 4
    even = dft(x[0::2])
    first = dft(x[1::4])
    last = dft([x[(4 * t - 1) % n] for t in range(quarter)])
    out = [None] * n
    for k in range(quarter):
        a = first[k].times(root(n, k))
        b = last[k].times(root(n, -k))
        total, turned = a + b, (a - b).times_i()
        out[k] = even[k] + total
        out[k + 2 * quarter] = even[k] - total
        out[k + quarter] = even[k + quarter] - turned
        out[k + 3 * quarter] = even[k + quarter] + turned
    return out


def cooley_tukey(x, radix, rest):
    n = radix * rest
    parts = [dft(x[r::radix]) for r in range(radix)]
    out = [None] * n
    for k in range(rest):
        column = dft([parts[r][k].times(root(n, r * k)) for r in range(radix)])
        for q in range(radix):
            out[k + rest * q] = column[q]
    return out


def prime(x):
    """Transforms an odd prime length by sums and differences of x[t] and x[n - t]."""
    n = len(x)
    half = (n - 1) // 2
    sums = [x[t] + x[n - t] for t in range(1, half + 1)]
    differences = [x[t] - x[n - t] for t in range(1, half + 1)]
    out = [x[0]] + [None] * (n - 1)
    for value in sums:
        out[0] = out[0] + value
    for k in range(1, half + 1):
        cosines, sines = x[0], None
        for t in range(1, half + 1):
            angle = 2 * math.pi * (k * t % n) / n
            cosines = cosines + sums[t - 1].scaled(math.cos(angle))
            term = differences[t - 1].scaled(math.sin(angle))
            sines = term if sines is None else sines + term
        out[k] = cosines - sines.times_i()
        out[n - k] = cosines + sines.times_i()
    return out


def c2c(n, taps=None):
    """Builds the graph of a complex transform. `taps`: values that are read; all others are zero."""
    graph = Graph()
    part = lambda name, t: graph.input(name, t) if t < (taps or n) else graph.zero  # noqa: E731
    values = dft([Complex(graph, part("re", t), part("im", t)) for t in range(n)])
    return graph, [("re", k, value.re) for k, value in enumerate(values)] + [
        ("im", k, value.im) for k, value in enumerate(values)
    ]


def r2c(n):
    graph = Graph()
    values = dft([Complex(graph, graph.input("re", t), graph.zero) for t in range(n)])[: n // 2 + 1]
    return graph, [("re", k, value.re) for k, value in enumerate(values)] + [
        ("im", k, value.im) for k, value in enumerate(values)
    ]


def c2r(n):
    return transposed(*r2c(n), n)


def transposed(graph, outputs, n):
    """Returns the graph with every edge reversed: its matrix is the transpose."""
    result = Graph()
    sums = [[] for _ in graph.operations]
    for part, index, node in outputs:
        if node != graph.zero:
            sums[node].append(result.input(part, index))
    collected = {}
    for node in reversed(range(len(graph.operations))):
        operation = graph.operations[node]
        total = result.zero
        for term in sums[node]:
            total = result.add(total, term)
        if operation[0] == "in":
            collected[operation[2]] = total
        elif operation[0] == "neg":
            sums[operation[1]].append(result.negative(total))
        elif operation[0] == "mul":
            sums[operation[2]].append(result.scale(operation[1], total))
        elif operation[0] in ("add", "sub"):
            sums[operation[1]].append(total)
            sums[operation[2]].append(total if operation[0] == "add" else result.negative(total))
    return result, [("re", t, collected.get(t, result.zero)) for t in range(n)]


def live_nodes(graph, outputs):
    live = set()
    stack = [node for _, _, node in outputs]
    while stack:
        node = stack.pop()
        if node not in live:
            live.add(node)
            stack += (
                [a for a in graph.operations[node][1:] if isinstance(a, int)]
                if graph.operations[node][0] in ("add", "sub", "neg")
                else []
            )
            stack += [graph.operations[node][2]] if graph.operations[node][0] == "mul" else []
    return live


def operation_count(graph, outputs):
    return sum(graph.operations[node][0] in ("add", "sub", "mul") for node in live_nodes(graph, outputs))


def evaluate(graph, outputs, inputs):
    """Returns, for tests, the values of the outputs, keyed (part, index), for inputs keyed alike."""
    values = []
    for operation in graph.operations:
        kind = operation[0]
        if kind == "zero":
            values.append(0.0)
        elif kind == "in":
            values.append(inputs[operation[1:]])
        elif kind == "neg":
            values.append(-values[operation[1]])
        elif kind == "mul":
            values.append(operation[1] * values[operation[2]])
        else:
            a, b = values[operation[1]], values[operation[2]]
            values.append(a + b if kind == "add" else a - b)
    return {(part, index): values[node] for part, index, node in outputs}


def expression(operation):
    kind = operation[0]
    if kind == "in":
        return f"Isa::load({operation[1]} + {operation[2]} * step)"
    if kind == "zero":
        return "V{}"
    if kind == "neg":
        return f"-v{operation[1]}"
    if kind == "mul":
        return f"{operation[1]!r}F * v{operation[2]}"
    return f"v{operation[1]} {'+' if kind == 'add' else '-'} v{operation[2]}"


def body(graph, outputs):
    """Returns the statements: inputs are loaded where they are first needed, an output is stored with its other
    part."""
    live = live_nodes(graph, outputs)
    last = {}
    for _, index, node in outputs:
        last[index] = max(last.get(index, 0), node)
    stores = {}
    for part, index, node in outputs:
        stores.setdefault(last[index], []).append((part, index, node))
    written = set()
    for node in range(len(graph.operations)):
        if node not in live:
            continue
        operation = graph.operations[node]
        if operation[0] in ("add", "sub", "neg"):
            needed = operation[1:]
        else:
            needed = operation[2:] if operation[0] == "mul" else ()
        if operation[0] != "in":
            for operand in needed:
                if operand not in written:
                    written.add(operand)
                    yield f"const V v{operand} = {expression(graph.operations[operand])};"
            written.add(node)
            yield f"const V v{node} = {expression(operation)};"
        elif node in stores:
            written.add(node)
            yield f"const V v{node} = {expression(operation)};"
        for part, index, value in stores.get(node, []):
            if value not in written:
                written.add(value)
                yield f"const V v{value} = {expression(graph.operations[value])};"
            yield f"write<Isa, stream>(out_{part} + {index} * out_step, v{value});"


KINDS = {"c2c": c2c, "r2c": r2c, "c2r": c2r, "c2c_of_3": lambda n: c2c(n, 3), "c2c_of_5": lambda n: c2c(n, 5)}


def function(kind, n):
    graph, outputs = KINDS[kind](n)
    unused_in = "" if kind != "r2c" else "/*im*/"
    unused_out = "" if kind != "c2r" else "/*out_im*/"
    lines = [
        f"// {operation_count(graph, outputs)} operations.",
        "template <class Isa, bool stream>",
        f"void {kind}_{n}(const float* re, const float* {unused_in or 'im'}, std::ptrdiff_t step, float* out_re,",
        f"    float* {unused_out or 'out_im'}, std::ptrdiff_t out_step) {{",
        "  using V = typename Isa::V;",
    ]
    lines += ["  " + line for line in body(graph, outputs)]
    return "\n".join(lines + ["}"])


def table(kind, sizes):
    rows = "\n".join(f"    case {n}: return whole_vectors<Isa, &{kind}_{n}<Register<Isa>, stream>>();" for n in sizes)
    return f"""template <class Isa, bool stream>
Codelet {kind}_codelet(std::int64_t n) {{
  switch (n) {{
{rows}
    default: return nullptr;
  }}
}}"""


def header(sizes):
    real_sizes = [n for n in sizes if n % 2 == 0]
    of = {
        "c2c": sizes,
        "r2c": real_sizes,
        "c2r": real_sizes,
        "c2c_of_3": [n for n in sizes if n > 3],
        "c2c_of_5": [n for n in sizes if n > 5],
    }
    functions = [function(kind, n) for kind in of for n in of[kind]]
    tables = [table(kind, of[kind]) for kind in of]
    return "\n\n".join(
        [
            "// Written by generate_codelets.py.",
            "#pragma once",
            '#include "primitives/cpu/fft_tiled/codelet.hpp"',
            "namespace znni::cpu::fft_tiled {",
        ]
        + functions
        + tables
        + ["}  // namespace znni::cpu::fft_tiled\n"]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="lengths; odd ones get c2c alone")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(header(arguments.sizes))
