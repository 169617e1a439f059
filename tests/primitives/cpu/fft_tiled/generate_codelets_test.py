"""The transforms that generate_codelets.py writes, in double precision, against the definition."""

import cmath
import math
import pathlib
import random
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
FOLDER = ROOT / "primitives" / "cpu" / "fft_tiled"
sys.dont_write_bytecode = True
sys.path.insert(0, str(FOLDER))
import generate_codelets as codelets

SEED = 1
# As the build asks for them.
SIZES = [
    int(size) for size in re.search(r"set\(extents ([0-9 ]+)\)", (FOLDER / "CMakeLists.txt").read_text())[1].split()
]
EVEN_SIZES = [size for size in SIZES if size % 2 == 0]
# Additions and multiplications. A change of the generator may lower them, not raise them.
MOST_OPERATIONS = {("c2c", 16): 172, ("c2c", 24): 302, ("c2c", 32): 466, ("r2c", 16): 80, ("r2c", 24): 141}


def wave(n, k, t):
    return cmath.exp(-2j * math.pi * (k * t % n) / n)


def random_line(count):
    return [complex(random.gauss(0, 1), random.gauss(0, 1)) for _ in range(count)]


def inputs_of(line):
    """Returns values as evaluate() takes them."""
    return {("re", t): x.real for t, x in enumerate(line)} | {("im", t): x.imag for t, x in enumerate(line)}


def spectrum(line, count):
    """Returns the first frequencies of a line, by definition."""
    return [sum(x * wave(len(line), k, t) for t, x in enumerate(line)) for k in range(count)]


class Transforms(unittest.TestCase):
    def setUp(self):
        random.seed(SEED)

    def check(self, outputs, expected):
        """Checks that `outputs`, of evaluate(), hold every part of every expected value, and nothing else."""
        parts = {"re"} | {part for part, _ in outputs}
        self.assertEqual(set(outputs), {(part, k) for part in parts for k in range(len(expected))})
        for (part, k), value in outputs.items():
            self.assertAlmostEqual(value, expected[k].real if part == "re" else expected[k].imag, delta=1e-12)

    def test_c2c_is_the_transform(self):
        for n in SIZES:
            with self.subTest(n=n, seed=SEED):
                line = random_line(n)
                outputs = codelets.evaluate(*codelets.c2c(n), inputs_of(line))
                self.assertEqual(len(outputs), 2 * n)
                self.check(outputs, spectrum(line, n))

    def test_c2c_of_a_few_taps_reads_no_more_than_these(self):
        for taps in (3, 5):
            for n in (n for n in SIZES if n > taps):
                with self.subTest(n=n, taps=taps, seed=SEED):
                    line = random_line(taps)
                    outputs = codelets.evaluate(*codelets.KINDS[f"c2c_of_{taps}"](n), inputs_of(line))
                    self.check(outputs, spectrum(line + [0] * (n - taps), n))

    def test_c2c_with_parts_swapped_is_the_inverse(self):
        for n in SIZES:
            with self.subTest(n=n, seed=SEED):
                line = random_line(n)
                swapped = [complex(x.imag, x.real) for x in spectrum(line, n)]
                outputs = codelets.evaluate(*codelets.c2c(n), inputs_of(swapped))
                self.check(outputs, [complex(x.imag, x.real) * n for x in line])

    def test_r2c_is_the_lower_half_of_a_real_line(self):
        for n in EVEN_SIZES:
            with self.subTest(n=n, seed=SEED):
                line = [x.real for x in random_line(n)]
                real_inputs = {("re", t): x for t, x in enumerate(line)}  # the imaginary ones are not looked up
                outputs = codelets.evaluate(*codelets.r2c(n), real_inputs)
                self.assertEqual(len(outputs), n + 2)
                self.check(outputs, spectrum(line, n // 2 + 1))

    def test_c2r_sums_the_waves_it_is_given(self):
        for n in EVEN_SIZES:
            with self.subTest(n=n, seed=SEED):
                half = random_line(n // 2 + 1)
                outputs = codelets.evaluate(*codelets.c2r(n), inputs_of(half))
                self.assertEqual({part for part, _ in outputs}, {"re"})
                self.check(outputs, [sum((x / wave(n, k, t)).real for k, x in enumerate(half)) for t in range(n)])

    def test_c2r_undoes_r2c_with_the_inner_frequencies_doubled(self):
        for n in EVEN_SIZES:
            with self.subTest(n=n, seed=SEED):
                line = [x.real for x in random_line(n)]
                half = [x * (1 if k in (0, n // 2) else 2) for k, x in enumerate(spectrum(line, n // 2 + 1))]
                outputs = codelets.evaluate(*codelets.c2r(n), inputs_of(half))
                self.check(outputs, [n * x for x in line])

    # Callers leave these parts of their scratch unwritten.
    def test_c2r_does_not_read_the_imaginary_parts_of_real_frequencies(self):
        for n in EVEN_SIZES:
            with self.subTest(n=n):
                graph, outputs = codelets.c2r(n)
                text = "\n".join(codelets.body(graph, outputs))
                self.assertNotIn("load(im + 0 *", text)
                self.assertNotIn(f"load(im + {n // 2} *", text)


class Operations(unittest.TestCase):
    def test_counts_do_not_rise(self):
        for (kind, n), most in MOST_OPERATIONS.items():
            with self.subTest(kind=kind, n=n):
                self.assertLessEqual(codelets.operation_count(*codelets.KINDS[kind](n)), most)

    def test_a_transpose_costs_as_much_up_to_its_other_number_of_ends(self):
        for n in EVEN_SIZES:
            with self.subTest(n=n):
                forth = codelets.operation_count(*codelets.r2c(n))
                back = codelets.operation_count(*codelets.c2r(n))
                self.assertLessEqual(abs(forth - back), n)

    def test_taps_cost_less_than_lines(self):
        for taps in (3, 5):
            for n in (n for n in SIZES if n > 2 * taps):
                with self.subTest(n=n, taps=taps):
                    whole = codelets.operation_count(*codelets.c2c(n))
                    self.assertLess(codelets.operation_count(*codelets.c2c(n, taps)), 0.75 * whole)

    def test_real_lines_cost_about_half(self):
        for n in EVEN_SIZES:
            with self.subTest(n=n):
                whole = codelets.operation_count(*codelets.c2c(n))
                self.assertLessEqual(2 * codelets.operation_count(*codelets.r2c(n)), whole)


class Header(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = codelets.header([1, 3, 4, 10])

    def test_holds_each_function_once(self):
        functions = re.findall(r"^void (\w+)\(", self.text, re.MULTILINE)
        self.assertEqual(
            sorted(functions),
            [
                "c2c_1",
                "c2c_10",
                "c2c_3",
                "c2c_4",
                "c2c_of_3_10",
                "c2c_of_3_4",
                "c2c_of_5_10",
                "c2r_10",
                "c2r_4",
                "r2c_10",
                "r2c_4",
            ],
        )

    def test_tables_name_each_function_once(self):
        cases = re.findall(r"case (\d+): return whole_vectors<Isa, &(\w+)<Register<Isa>, stream>>\(\);", self.text)
        self.assertTrue(all(function.endswith("_" + size) for size, function in cases))
        self.assertEqual(len(set(cases)), 11)
        self.assertEqual(len(cases), 11)

    def test_names_no_value_before_it_is_written(self):
        for kind, make in codelets.KINDS.items():
            for n in (6, 10, 16, 36):
                with self.subTest(kind=kind, n=n):
                    written = set()
                    for line in codelets.body(*make(n)):
                        target = re.match(r"const V (v\d+) = (.*);", line)
                        used = re.findall(r"\bv\d+\b", target[2] if target else line)
                        self.assertLessEqual(set(used), written, line)
                        if target:
                            self.assertNotIn(target[1], written, "written twice")
                            written.add(target[1])

    def test_stores_every_output_once(self):
        for kind, parts in (("c2c", 2 * 12), ("r2c", 2 * 7), ("c2r", 12)):
            with self.subTest(kind=kind):
                body = "\n".join(codelets.body(*codelets.KINDS[kind](12)))
                stores = re.findall(r"write<Isa, stream>\((out_\w+ \+ \d+)", body)
                self.assertEqual(len(stores), parts)
                self.assertEqual(len(set(stores)), parts)


if __name__ == "__main__":
    unittest.main()
