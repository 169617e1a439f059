"""deploy/lib/bill.py with a stand-in for debsbom.
Usage: bill_test.py FOLDER-OF-LIB."""

import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

LIB = pathlib.Path(sys.argv.pop()).resolve()
# Prints a bill that says how it was called, and the names in the archive that it is given.
DEBSBOM = f"""#!{sys.executable}
import json, sys, tarfile
names = tarfile.open(fileobj=sys.stdin.buffer, mode="r|").getnames()
if "broken" in names:
    sys.exit("debsbom: error: the archive is broken")
print(json.dumps({{"components": [{{"name": name}} for name in names], "arguments": sys.argv[1:]}}))
"""


class BillTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        # The environment that deploy/image makes: python and debsbom side by side.
        (self.folder / "python").symlink_to(sys.executable)
        (self.folder / "debsbom").write_text(DEBSBOM)
        (self.folder / "debsbom").chmod(0o755)

    def bill(self, *files, links=()):
        """Returns the finished process for a system of these files."""
        system = self.folder / "system.tar"
        with tarfile.open(system, "w") as archive:
            for name in files:
                archive.addfile(tarfile.TarInfo(name), io.BytesIO())
            for name in links:
                link = tarfile.TarInfo(name)
                link.type, link.linkname = tarfile.SYMTYPE, "elsewhere"
                archive.addfile(link)
        command = [self.folder / "python", "-B", LIB / "bill.py", system, "znni", "1.2.3", "86400"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_the_packages_are_those_that_debsbom_finds_with_licences(self):
        done = self.bill("var/lib/dpkg/status")
        self.assertEqual(done.returncode, 0, done.stderr)
        bill = json.loads(done.stdout)
        self.assertEqual(bill["components"], [{"name": "var/lib/dpkg/status"}])
        for part in ("--with-licenses", "znni", "1.2.3", "1970-01-02T00:00:00+00:00"):
            self.assertIn(part, bill["arguments"])

    def test_the_same_system_gives_the_same_bill(self):
        self.assertEqual(self.bill("etc/a").stdout, self.bill("etc/a").stdout)

    def test_libraries_of_cuda_are_components_with_a_licence(self):
        folder = "usr/local/cuda/lib64"
        done = self.bill(f"{folder}/libcufft.so.12.0.0.61", f"{folder}/readme", links=[f"{folder}/libcufft.so.12"])
        last = json.loads(done.stdout)["components"][-1]
        self.assertEqual((last["name"], last["version"]), ("libcufft", "12.0.0.61"))
        self.assertEqual(last["purl"], "pkg:generic/libcufft@12.0.0.61")
        self.assertIn("NVIDIA", last["licenses"][0]["license"]["name"])
        self.assertEqual(done.stdout.count("pkg:generic"), 1)

    def test_a_failure_is_one_line(self):
        done = self.bill("broken")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^bill: \S+system\.tar: debsbom failed: .*the archive is broken\n$")


if __name__ == "__main__":
    unittest.main()
