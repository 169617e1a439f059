"""Answers of planner, played by a script. tests/e2e/python_client_test.py has the real one."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import znni
from fake_torch import Module, Tensor, use_fake_torch
from script import use_script
from znni.errors import Error, InvalidError, NotFoundError

NODES = [
    {
        "name": f"conv<{i}>",
        "shape": [1, 8, 20, 30, 40],
        "primitive": "cpu.conv.fft",
        "place": "cpu",
        "predicted_seconds": 0.001 * (3 - i),
        "runs": 1 + i,
    }
    for i in range(2)
]
FACTS = {
    "model": "net",
    "input": [1, 1, 48, 40, 64],
    "nodes": NODES,
    "predicted": {"voxels_per_second": 2.5e6},
    "memory": {"limit": 1 << 30, "host": {"peak": 200 << 20}},
    "machine": {"name": "a machine"},
}
REFUSED = {"runs": False, "blockers": 3}


class PlannerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, *lines):
        use_script(self, "planner", "ZNNI_PLANNER", *lines)

    def asked(self):
        """Returns the arguments of each call."""
        return (self.folder / "arguments").read_text().splitlines()

    def test_a_plan(self):
        self.program(f"test $1 = show && echo all of it || echo '{json.dumps(FACTS)}'")
        plan = znni.plan("net.onnx", mem="1G", threads=2, volume=(100, 200, 300))
        self.assertRegex(
            self.asked()[0], "^--model net.onnx --json --output .* --mem 1G --threads 2 --volume 100,200,300$"
        )
        self.assertEqual((str(plan), repr(plan)), ("all of it",) * 2)
        self.assertEqual((plan.voxels_per_second, plan.memory_bytes), (2.5e6, 200 << 20))
        table = plan._repr_html_()
        self.assertIn("net: 2.5 million voxels/s, 200.0 of 1024 MiB, patches of 48x40x64 voxels on a machine", table)
        self.assertIn(
            "<td>conv&lt;1&gt;</td><td>1x8x20x30x40</td><td>cpu.conv.fft</td><td>cpu</td><td>4 ms</td><td>57 %</td>",
            table,
        )

    def test_a_plan_of_this_machine(self):
        self.program(f"test $1 = show && echo all of it || echo '{json.dumps(FACTS)}'")
        znni.plan(pathlib.Path("net.onnx"))
        self.assertRegex(self.asked()[0], r"^--model net.onnx --json --output \S+$")

    def test_what_runs_is_true(self):
        self.program('test "$3" = --json && echo \'{"runs": true}\' || echo net.onnx runs here')
        found = znni.check("net.onnx")
        self.assertTrue(found)
        self.assertEqual(str(found), "net.onnx runs here")

    def test_what_does_not_run_says_why(self):
        self.program(
            f"test \"$3\" = --json && echo '{json.dumps(REFUSED)}' || echo 'Det (3): <not> supported'", "exit 2"
        )
        found = znni.check("net.onnx")
        self.assertFalse(found)
        self.assertEqual((repr(found), found.facts), ("Det (3): <not> supported", REFUSED))
        self.assertEqual(found._repr_html_(), "<pre>Det (3): &lt;not&gt; supported</pre>")

    def test_the_valid_form_is_told(self):
        self.program('test "$4" = --json && echo \'{"first_voxel": [4, 5, 6], "written": null}\' || echo "pads <4>"')
        form = znni.make_valid("net.onnx")
        self.assertEqual((form.first, form.facts["written"]), ((4, 5, 6), None))
        self.assertEqual((repr(form), form._repr_html_()), ("pads <4>", "<pre>pads &lt;4&gt;</pre>"))
        self.assertEqual(self.asked(), ["check net.onnx --make-valid --json", "check net.onnx --make-valid"])

    def test_the_valid_form_is_written_once(self):
        self.program('test "$4" = --json && echo \'{"first_voxel": [4, 5, 6], "written": null}\' || echo written')
        form = znni.make_valid("net.onnx", pathlib.Path("valid.onnx"))
        self.assertEqual((str(form), form.facts["written"]), ("written", "valid.onnx"))
        self.assertEqual(self.asked()[1:], ["check net.onnx --make-valid valid.onnx"])

    def test_what_does_not_run_has_no_valid_form(self):
        self.program(f"echo '{json.dumps(REFUSED)}'", "exit 2")
        with self.assertRaisesRegex(InvalidError, "^net.onnx does not run here: znni.check lists why$"):
            znni.make_valid("net.onnx", "valid.onnx")

    def test_python_is_told_to_users_of_python(self):
        """A file has its name there, quoted as Python does it."""
        self.program(
            'case "$*" in *--json) echo "{}" ;; *--make-valid) echo "name a file, --make-valid OUT.onnx" ;; ',
            '*) echo "padding without it: planner check $2 --make-valid" ;; esac',
        )
        for name, quoted in (("net.onnx", "'net.onnx'"), ("it's.onnx", '"it\'s.onnx"')):
            call = f"znni.make_valid({quoted}, 'valid.onnx')"
            self.assertEqual(str(znni.check(name)), f"padding without it: {call}")
            self.assertEqual(str(znni.make_valid(name)), f"name a file, {call}")

    def test_a_module_is_exported(self):
        """It has its class's name in place of that of the file, which is removed."""
        torch = use_fake_torch(self)
        self.enterContext(mock.patch("tempfile.tempdir", str(self.folder)))
        self.program(
            'for word; do case "$word" in *.onnx) network=$word ;; esac; done',
            'test $1 = show || grep -q onnx "$network" || exit 1',
            'test $1 = show && echo "all of it" && exit',
            f"test $1 = --model && echo '{json.dumps(FACTS)}' && exit",
            'case "$*" in *--json) echo "{\\"file\\": \\"$network\\", \\"runs\\": true}" ;; ',
            '*) echo "$network: planner check $network --make-valid" ;; esac',
        )
        module = Module(lambda given: Tensor(given.array[:, :, 2:, 2:, 2:]))
        found = znni.check(module, example=(1, 2, 8, 9, 10))
        self.assertEqual(torch.onnx.options["opset_version"], 17)
        self.assertEqual(str(found), "Module: znni.make_valid(module, 'valid.onnx')")
        self.assertEqual(found.facts, {"file": "Module", "runs": True})
        self.assertEqual(str(znni.make_valid(module)), str(found))
        self.assertEqual(str(znni.plan(module, mem="1G")), "all of it")
        self.assertEqual(list(self.folder.glob("znni-*")), [])
        self.assertTrue(all(part.training for part in module.modules()))

    def test_errors_about_a_module_have_its_name(self):
        use_fake_torch(self)
        module = Module(lambda given: given)
        self.program('echo "planner: $2: no such memory" >&2', "exit 2")
        with self.assertRaisesRegex(InvalidError, "^Module: no such memory$"):
            znni.check(module)
        self.program(f"echo '{json.dumps(REFUSED)}'", "exit 2")
        with self.assertRaisesRegex(InvalidError, "^Module does not run here: znni.check lists why$"):
            znni.make_valid(module)

    def test_errors_are_the_last_line(self):
        for words, kind in (("net.onnx: no such file", NotFoundError), ("net.onnx: cut short", InvalidError)):
            self.program("echo warning >&2", f"echo 'planner: {words}' >&2", "exit 2")
            for call in (znni.check, znni.plan, znni.make_valid):
                with self.assertRaisesRegex(kind, f"^{words}$"):
                    call("net.onnx")
        self.program("kill -9 $$")
        with self.assertRaisesRegex(Error, "planner ended with exit code -9"):
            znni.plan("net.onnx")

    def test_a_program_that_is_missing(self):
        with mock.patch.dict(os.environ, {"PATH": "/none"}):
            os.environ.pop("ZNNI_PLANNER", None)
            with self.assertRaisesRegex(
                NotFoundError,
                "^planner is neither in the package znni nor on the PATH: .* the environment's ZNNI_PLANNER",
            ):
                znni.check("net.onnx")


if __name__ == "__main__":
    unittest.main()
