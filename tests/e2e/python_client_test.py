"""The Python client as users call it, beside `znni infer`: the same voxels, in bounded memory, of any store."""

import asyncio
import contextlib
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import h5py
import nets
import nibabel
import nrrd
import numpy as np
import tifffile
import zarr
import znni
from harness import LONGEST_START, ROOT, ZNNID, Daemon
from python_case import PythonCase
from znni.box import Box
from znni.local.private_daemon import PrivateDaemon
from znni.stores.opening import open_source

ZNNI = ZNNID.parent / "znni"


class PythonClientTest(PythonCase):
    def test_equals_znni_infer(self):
        for kind in (np.uint8, np.uint16, np.float32):
            for pad, dtype in (("none", "float32"), ("zero", "uint8"), ("reflect", "float16")):
                volume = self.volume((37, 45, 52), kind)
                _, expected = self.infer(volume, "--padding", pad, "--dtype", dtype)
                self.assert_same(self.predict(volume, pad=pad, dtype=dtype), expected)
                _, expected = self.infer(volume, "--padding", pad, "--dtype", dtype, "--bbox", "3:30,0:30,11:52")
                self.assert_same(self.predict(volume, pad=pad, dtype=dtype, roi=np.s_[3:30, :30, 11:]), expected)

    def test_other_forms_of_the_same_volume(self):
        volume = self.volume((24, 30, 40))
        expected = self.predict(volume)
        self.assert_same(self.predict(volume.astype(">f4")), expected)
        self.assert_same(self.predict(volume[None]), expected)
        self.assert_same(self.predict(volume[None, None]), expected[None])
        half = volume.astype(np.float16)
        self.assert_same(self.predict(half), self.predict(half.astype(np.float32)))
        strided = np.asfortranarray(volume)
        self.assert_same(self.predict(strided), expected)

    def test_edge_padding(self):
        volume = self.volume((24, 30, 40))
        wide = np.pad(volume, [(4, 5)] * 3, mode="edge")
        self.assert_same(self.predict(volume, pad="edge"), self.predict(wide))
        self.assert_same(self.infer(volume, "--padding", "edge")[1], self.predict(wide))

    def test_wide_volumes_go_in_parts(self):
        volume = self.volume((40, 600, 600), np.uint8)
        summary, expected = self.infer(volume, "--dtype", "uint8")
        self.assertGreater(summary["parts"], 1)
        self.assert_same(self.predict(volume, dtype="uint8"), expected)

    def test_zarr_of_many_messages(self):
        """An image with voxel size, chunks that are not a multiple of anything, a region and padding."""
        volume = self.volume((96, 160, 170))
        roi = "5:90,10:160,20:170"
        expected = {pad: self.infer(volume, "--padding", pad, "--bbox", roi)[1] for pad in ("reflect", "none")}
        whole = self.predict(volume)
        for version in (2, 3):
            group = zarr.open_group(self.work / f"in{version}.zarr", mode="w", zarr_format=version)
            group.create_array("s0", data=volume, chunks=(37, 50, 64))
            transforms = [
                {"type": "scale", "scale": [40.0, 8.0, 8.0]},
                {"type": "translation", "translation": [400.0, 0.0, 16.0]},
            ]
            image = {
                "axes": [{"name": n, "type": "space", "unit": "nanometer"} for n in "zyx"],
                "datasets": [{"path": "s0", "coordinateTransformations": transforms}],
            }
            group.attrs.update({"multiscales": [image]} if version == 2 else {"ome": {"multiscales": [image]}})
            for pad, origin in (("reflect", (5, 10, 20)), ("none", (9, 14, 24))):
                out = self.work / f"out{version}{pad}.zarr"
                found = self.predict(self.work / f"in{version}.zarr", out, pad=pad, roi=roi)
                self.assertEqual(found, out)
                made = zarr.open_group(out, mode="r")
                self.assertEqual(made.metadata.zarr_format, version)
                self.assert_same(made["0"][:], expected[pad])
                self.assertEqual(made["0"].chunks, (1, 64, 64, 64))
                ome = made.attrs.get("ome", made.attrs)["multiscales"][0]
                moved = [400.0 + 40 * origin[0], 8.0 * origin[1], 16.0 + 8 * origin[2]]
                self.assertEqual(
                    ome["datasets"][0]["coordinateTransformations"],
                    [
                        {"type": "scale", "scale": [1.0, 40.0, 8.0, 8.0]},
                        {"type": "translation", "translation": [0.0, *moved]},
                    ],
                )
                self.assertEqual([axis["name"] for axis in ome["axes"]], ["c", "z", "y", "x"])
                self.assertEqual(ome["axes"][1]["unit"], "nanometer")
                notes = made.attrs["znni"]
                self.assertEqual((notes["model"], notes["version"], notes["pad"]), ("net", "1", pad))
            self.assert_same(self.predict(group), whole)

    def test_files_and_arrays_for_the_output(self):
        volume = self.volume((30, 40, 50))
        expected = self.predict(volume)
        np.save(self.work / "volume.npy", volume)
        with h5py.File(self.work / "volume.h5", "w") as file:
            file["raw"] = volume
        for source in ("volume.npy", "volume.h5", "volume.h5:/raw"):
            out = str(self.work / "given.npy")
            self.assertEqual(self.predict(str(self.work / source), out, overwrite=True), out)
            self.assert_same(np.load(out), expected)
        self.predict(volume, f"{self.work / 'given.h5'}:/prob")
        with h5py.File(self.work / "given.h5") as file:
            self.assert_same(file["prob"][:], expected)
        given = np.empty_like(expected)
        self.assertIs(self.predict(volume, given), given)
        self.assert_same(given, expected)

    def test_files_of_other_programs(self):
        """Each is sent as a file of NumPy is; an unpadded output lies in the same place of the world."""
        volume = self.volume((30, 40, 50), np.int16)
        expected = self.predict(volume.astype(np.float32))
        affine = np.array([[0, -0.5, 0, 10], [-0.25, 0, 0, -20], [0, 0, 2, 30], [0, 0, 0, 1.0]])
        nibabel.save(nibabel.Nifti1Image(volume.T, affine), self.work / "raw.nii.gz")
        nrrd.write(str(self.work / "raw.nrrd"), volume, index_order="C")
        tifffile.imwrite(self.work / "raw.tif", volume, photometric="minisblack", tile=(16, 16), compression="zlib")
        for name in ("raw.nii.gz", "raw.nrrd", "raw.tif"):
            self.assert_same(self.predict(self.work / name), expected)
            for out in ("out.nii", "out.nii.gz", "out.nrrd", "out.tif"):
                self.predict(self.work / name, self.work / out, overwrite=True)
                with open_source(self.work / out) as found:
                    self.assert_same(found.read(Box((0, 0, 0), expected.shape[1:])), expected)
                    if name == "raw.nii.gz" and out != "out.tif":
                        moved = np.column_stack([affine[:3, :3], affine[:3] @ (4, 4, 4, 1)])
                        np.testing.assert_array_equal(found.geometry.frame.matrix, moved)

    def test_one_channel_has_three_axes(self):
        volume = self.volume((20, 20, 20), np.uint8)
        self.assert_same(self.predict(volume, model="same", dtype="uint8"), volume)
        self.assert_same(self.predict(volume[None], model="same", dtype="uint8"), volume[None])

    def test_goes_on_with_the_next_daemon(self):
        """The first is killed when a fifth is done; the second has its port and plans."""
        volume = np.random.default_rng(3).integers(0, 255, (100, 1000, 1000)).astype(np.uint8)
        own = {"address": "127.0.0.3", "mem": "256M"}
        daemons = [Daemon(self.work / "models", **own).wait_ready()]
        self.addCleanup(lambda: [daemon.stop() for daemon in daemons])
        port = daemons[0].port

        def kill(done, total):
            if len(daemons) == 1 and done > total / 5:
                daemons[0].stop(signal.SIGKILL)
                daemons.append(Daemon(self.work / "models", port=port, **own))

        patient = znni.Client(daemons[0].url, retry_seconds=LONGEST_START)
        with patient as client, self.assertLogs("znni", "WARNING"):
            found = client.predict("same", volume, dtype="uint8", progress=kill)
        np.testing.assert_array_equal(found, volume)
        daemons[1].logged("code=OK")

    def test_goes_on_at_another_daemon(self):
        """One of two is killed when a fifth is done; the other has the same models and plans."""
        volume = np.random.default_rng(3).integers(0, 255, (100, 1000, 1000)).astype(np.uint8)
        other = Daemon(self.work / "models", address="127.0.0.3", mem="256M").wait_ready()
        self.addCleanup(other.stop)

        def kill(done, total):
            if other.process.poll() is None and done > total / 5:
                other.stop(signal.SIGKILL)

        with znni.Client([other.url, self.daemon.url], retry_seconds=0) as client:
            with self.assertLogs("znni", "WARNING") as logs:
                found = client.predict("same", volume, dtype="uint8", progress=kill)
            self.assertIn(f"going on at {self.daemon.url}: ", logs.output[0])
            np.testing.assert_array_equal(found, volume)
            self.assertIsNotNone(other.process.poll())
            self.assertEqual(client.models()["same"], "ready")

    def test_asyncio(self):
        """A call that is cancelled ends at the daemon and leaves no output; others go on."""
        volume = np.random.default_rng(3).integers(0, 255, (100, 1000, 1000)).astype(np.uint8)
        small = self.volume((30, 40, 50))

        async def work():
            async with znni.AsyncClient(self.daemon.url) as client:
                begun = asyncio.Event()
                large = asyncio.create_task(
                    client.predict("same", volume, self.work / "cancelled.npy", progress=lambda *_: begun.set())
                )
                await begun.wait()
                found = asyncio.create_task(client.predict("net", small, progress=False))
                large.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await large
                return await found

        self.assert_same(asyncio.run(work()), self.predict(small))
        self.assertEqual(list(self.work.glob("cancelled*")), [])
        self.daemon.logged("code=CANCELLED")

    def test_model(self):
        model = self.client.model("net")
        self.assertEqual((model.channels, model.output_channels, model.field_of_view), (1, 3, (10, 10, 10)))
        self.assertEqual(model.halo, ((4, 4, 4), (5, 5, 5)))
        self.assertEqual(model.output_shape((30, 40, 50)), self.predict(self.volume((30, 40, 50))).shape)
        self.assertEqual(self.client.models(), {"net": "ready", "same": "ready"})

    def test_what_is_refused(self):
        volume = self.volume((20, 24, 30))
        self.refused(znni.NotFoundError, "unknown model: 'nets'", volume, model="nets")
        self.refused(znni.InvalidError, "complex128 found, expected whole or real numbers", volume.astype(complex))
        large = np.full((20, 24, 30), (1 << 24) + 1)
        self.refused(znni.InvalidError, "volume: voxel 16777217 of type int64 found, expected 16777216", large)
        self.refused(znni.InvalidError, "'int8' found, expected one of float32, float16, uint8", volume, dtype="int8")
        volume[7, 8, 9] = np.nan
        self.refused(
            znni.InvalidError,
            "not finite is at channel 0, z 7, y 8, x 9 (nan)",
            volume,
            pad="reflect",
            roi="6:20,7:24,:",
        )
        out = self.work / "spoilt.npy"
        self.refused(znni.InvalidError, "nan", volume, output=out)
        self.assertEqual(list(self.work.glob("spoilt*")), [])


class PrivateDaemonTest(unittest.TestCase):
    """Networks without a daemon that runs already."""

    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        nets.save(nets.same_net(), self.work / "models", "same", config=nets.SAME_CONFIG)
        self.network = self.work / "models/same/1/model.onnx"
        self.environment = {"ZNNID": str(ZNNID), "XDG_STATE_HOME": str(self.work / "state"), "TMPDIR": str(self.work)}

    def test_predict(self):
        volume = np.random.default_rng(1).integers(0, 255, (20, 30, 40)).astype(np.uint8)
        with mock.patch.dict(os.environ, self.environment):
            found = znni.predict(self.network, volume, mem="256M", dtype="uint8", progress=False)
            np.testing.assert_array_equal(found, volume)
            self.assertTrue(list((self.work / "state").rglob("*.plan.pbtxt")))
            darker = znni.predict(
                self.network, volume, mem="256M", dtype="uint8", config={"input_scale": 0.5 / 255}, progress=False
            )
            self.assertLessEqual(np.abs(darker - volume / 2).max(), 0.5)

    def test_what_is_refused(self):
        volume = np.zeros((20, 30, 40), np.uint8)
        broken = self.work / "broken.onnx"
        broken.write_text("nothing of the kind")
        with mock.patch.dict(os.environ, self.environment):
            with self.assertRaisesRegex(znni.UnavailableError, "not an ONNX model"):
                znni.predict(broken, volume, mem="256M", progress=False)
            with self.assertRaisesRegex(znni.UnavailableError, "^znnid ended with exit code 1: --mem: memory limit is"):
                znni.predict(self.network, volume, mem="1M", progress=False)

    def test_check_and_plan(self):
        with mock.patch.dict(os.environ, {**self.environment, "ZNNI_PLANNER": str(ZNNID.parent / "planner")}):
            checked = znni.check(self.network)
            self.assertTrue(checked)
            self.assertRegex(str(checked), "model.onnx runs here")
            made = znni.plan(self.network, mem="256M", volume=(20, 30, 40))
            self.assertRegex(made._repr_html_(), "voxels/s, .* of 256 MiB, patches of .*<td>cpu.conv")
            self.assertLess(made.memory_bytes, 256 << 20)
            self.assertEqual(made.facts["predicted"]["volume"], [20, 30, 40])
            with self.assertRaisesRegex(znni.NotFoundError, "none.onnx: no such file"):
                znni.check("none.onnx")
            broken = self.work / "cut.onnx"
            broken.write_bytes(pathlib.Path(self.network).read_bytes()[:40])
            for call in (znni.check, znni.plan):
                with self.assertRaisesRegex(znni.InvalidError, "cut.onnx: not an ONNX model"):
                    call(broken)

    def test_the_readme(self):
        """Its block runs as it stands, but for address and paths."""
        text = (ROOT / "README.md").read_text()
        block = re.search(r"```python\n(import numpy as np, znni\n.*?)```", text, re.DOTALL)[1]
        volume = np.random.default_rng(2).integers(0, 255, (20, 30, 40)).astype(np.uint8)
        np.save(self.work / "volume.npy", volume)
        zarr.create_array(self.work / "raw.zarr", data=volume)
        shutil.copy(self.network, self.work / "net.onnx")
        nets.save(nets.same_net(), self.work / "models", "net")
        with Daemon(self.work / "models", mem="256M") as daemon, mock.patch.dict(os.environ, self.environment):
            with contextlib.chdir(self.work), contextlib.redirect_stderr(io.StringIO()):
                names = {}
                exec(block.replace("127.0.0.1:8001", daemon.url).replace('"2G"', '"256M"'), names)
        np.testing.assert_array_equal(names["dense"], volume)
        self.assertEqual(zarr.open_group(self.work / "dense.zarr", mode="r")["0"].shape, volume.shape)

    def ends_with(self, number):
        """Sends the signal to a process that has a daemon, and waits until the daemon has ended, too."""
        process = subprocess.Popen(
            [sys.executable, __file__, "hold", self.network],
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self.environment},
        )
        daemon = pathlib.Path(f"/proc/{int(process.stdout.readline())}/stat")

        def lives():
            try:
                return ") Z " not in daemon.read_text()
            except (FileNotFoundError, ProcessLookupError):  # it may go between opening and reading
                return False

        self.assertIn("(znnid)", daemon.read_text())
        process.send_signal(number)
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + LONGEST_START
        while lives():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_ctrl_c_ends_the_daemon(self):
        self.ends_with(signal.SIGINT)

    @unittest.skipUnless(shutil.which("setpriv"), "setpriv is not installed")
    def test_a_killed_process_takes_the_daemon_with_it(self):
        self.ends_with(signal.SIGKILL)


def hold(network):
    """Holds a daemon, prints its process and waits for the end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    with PrivateDaemon(network, mem="256M", progress=False) as daemon:
        print(daemon.process.pid, flush=True)
        deadline = time.monotonic() + LONGEST_START
        while time.monotonic() < deadline:  # a signal just before a sleep is seen when the sleep has ended
            time.sleep(0.05)


if __name__ == "__main__":
    if sys.argv[1:2] == ["hold"]:
        hold(*sys.argv[2:])
    else:
        unittest.main()
