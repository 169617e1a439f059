"""Trains a tiny net with znni-train, kills it on the way, and serves what it wrote."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

import h5py
import numpy as np
import tritonclient.grpc as triton
from harness import Daemon

PROGRAM = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "znni-train"
LONGEST = 600  # seconds; only a bound for a hang
STEPS = 30
MEM = 300 << 20
FOV = 8

NET = """
name: "tiny"
node { conv { f_out: 8 k: 3 activation: relu } }
node { max_pool { window: 2 } }
node { conv { f_out: 1 k: 3 activation: sigmoid } }
"""

CONFIG = """
steps: 30
patch: 33
volume { input: "%(data)s:/raw" labels: "%(data)s:/labels" }
validation { input: "%(data)s:/raw" labels: "%(data)s:/labels" }
input_scale: 0.0078125
input_offset: -1
targets: boundaries
sampling: balanced
loss { kind: binary_cross_entropy class_weight: [1, 2] }
optimizer { kind: adam learning_rate: 0.02 warm_up_steps: 3 cosine: true clip_norm: 5 }
augmentation { symmetries: true contrast: 0.1 brightness: 0.1 missing_planes: 0.02 blurred_planes: 0.02 }
checkpoint_steps: 4
validation_steps: 15
"""


def cells(extent=48):
    """Returns (raw, labels): cells of nearest centres, dark at their borders."""
    rng = np.random.default_rng(1)
    centres = rng.uniform(0, extent, (40, 3))
    grid = np.stack(np.meshgrid(*[np.arange(extent)] * 3, indexing="ij"), axis=-1).astype(np.float32)
    distances = np.sort(
        np.stack([np.linalg.norm(grid - centre, axis=-1) for centre in centres.astype(np.float32)]), axis=0
    )
    nearest = np.argmin(np.stack([np.linalg.norm(grid - c, axis=-1) for c in centres.astype(np.float32)]), axis=0)
    raw = 40 + 160 * np.clip((distances[1] - distances[0]) / 4, 0, 1) + rng.normal(0, 10, (extent,) * 3)
    return np.clip(raw, 0, 255).astype(np.uint8), (nearest + 1).astype(np.uint32)


def lines_of(output):
    """Returns the whole lines of a training's log."""
    path = pathlib.Path(output, "train.jsonl")
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def steps_of(output):
    """Returns the lines of steps, without what depends on the machine."""
    keys = ("step", "loss", "learning_rate", "gradient_norm", "validation_loss")
    return [{key: line[key] for key in keys if key in line} for line in lines_of(output)]


class TrainTest(unittest.TestCase):
    """All trainings are of one net on one volume."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.raw, cls.labels = cells()
        with h5py.File(cls.root / "cells.h5", "w") as file:
            file["raw"], file["labels"] = cls.raw, cls.labels
        (cls.root / "net.pbtxt").write_text(NET)
        (cls.root / "train.pbtxt").write_text(CONFIG % {"data": cls.root / "cells.h5"})
        begin = time.monotonic()
        ended = cls.train("whole/net")
        cls.seconds = time.monotonic() - begin
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def command(cls, output, *arguments, model="net.pbtxt", config="train.pbtxt", mem=MEM):
        """Returns the words of a training."""
        words = [PROGRAM, "--model", cls.root / model, "--config", cls.root / config, "--output", cls.root / output]
        return [str(word) for word in (*words, "--mem", str(mem), "--threads", "2", *arguments)]

    @classmethod
    def train(cls, output, *arguments, **settings):
        """Trains to the end, or to an error."""
        return subprocess.run(
            cls.command(output, *arguments, **settings), capture_output=True, text=True, timeout=LONGEST, check=False
        )

    def interrupt(self, output, step, number, *arguments, **settings):
        """Sends the signal once the log has this step. Returns (exit code, standard error)."""
        command = self.command(output, *arguments, **settings)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            deadline = time.monotonic() + LONGEST
            while not any(line["step"] >= step for line in lines_of(self.root / output)):
                self.assertIsNone(process.poll(), "it ended before it was interrupted")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.0005)
            process.send_signal(number)
            return process.wait(LONGEST), process.stderr.read()

    def test_the_loss_falls(self):
        """The loss of the last steps is well below that of the first; so is that of validation."""
        log = lines_of(self.root / "whole/net")
        losses = [line["loss"] for line in log if "loss" in line]
        self.assertEqual(len(losses), STEPS)
        self.assertLess(np.mean(losses[-5:]), 0.8 * np.mean(losses[:5]))
        validations = {line["step"]: line["validation_loss"] for line in log if "validation_loss" in line}
        self.assertEqual(list(validations), [15, 30])
        self.assertLess(validations[30], validations[15])

    def test_what_was_killed_continues_bit_by_bit(self):
        """Killed, then stopped, then finished: the same model and the same log as without."""
        output = "killed/net"
        code, _ = self.interrupt(output, 6, signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        code, text = self.interrupt(output, 10, signal.SIGTERM)
        self.assertEqual(code, 128 + signal.SIGTERM, text)
        self.assertRegex(text, r"goes on from the checkpoint of step [4-9]\n")
        self.assertRegex(text, r"stopped: the checkpoint has step 1\d; the same command goes on from it")
        ended = self.train(output)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stderr, r"goes on from the checkpoint of step 1\d\n")
        self.assertEqual(steps_of(self.root / output), steps_of(self.root / "whole/net"))
        ours, theirs = ((self.root / each / "1/model.onnx").read_bytes() for each in (output, "whole/net"))
        self.assertEqual(ours, theirs)

    def test_twenty_kills_change_nothing(self):
        """Killed at random moments, from its start to the writing of the model: the same bits as without."""
        random = np.random.default_rng(7)
        output = self.root / "often/net"
        for _ in range(20):
            with subprocess.Popen(self.command("often/net"), stderr=subprocess.PIPE, text=True) as process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(random.uniform(0, self.seconds))
                process.kill()
                text = process.stderr.read()
                self.assertIn(process.wait(LONGEST), (0, -signal.SIGKILL), text)
            if "all 30 steps are done" in text:
                self.check_same(output)
                shutil.rmtree(output)
        ended = self.train("often/net")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.check_same(output)

    def check_same(self, output):
        """The model, the log and the curve are those of the training that was not interrupted."""
        self.assertEqual(steps_of(output), steps_of(self.root / "whole/net"))
        for name in ("1/model.onnx", "curve.svg"):
            self.assertEqual((output / name).read_bytes(), (self.root / "whole/net" / name).read_bytes(), name)
        self.assertEqual(
            sorted(path.name for path in output.iterdir()),
            [".lock", "1", "checkpoint", "config.pbtxt", "curve.svg", "train.jsonl"],
        )

    def test_the_best_validation_is_kept(self):
        """The version behind the last weights, or they themselves; killed and continued it is the same, bit by bit."""
        text = (
            (self.root / "train.pbtxt").read_text().replace("validation_steps: 15", "validation_steps: 3\nkeep: best")
        )
        (self.root / "best.pbtxt").write_text(text.replace("cosine: true", "cosine: false"))
        ended = self.train("best/net", config="best.pbtxt")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        log = lines_of(self.root / "best/net")
        scores = {line["step"]: line["average_precision"] for line in log if "validation_loss" in line}
        self.assertEqual(len(scores), STEPS // 3)
        best = max(scores, key=scores.get)
        names = sorted(path.name for path in (self.root / "best/net").iterdir() if path.name.isdigit())
        self.assertEqual(names, ["1"] if best == STEPS else ["1", "2"])
        if best != STEPS:
            self.assertIn(f"with the weights of the best validation, of step {best};", ended.stderr)
        self.interrupt("killed_best/net", 16, signal.SIGKILL, config="best.pbtxt")
        ended = self.train("killed_best/net", config="best.pbtxt")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for name in ("best", *(f"{name}/model.onnx" for name in names)):
            ours, theirs = ((self.root / each / name).read_bytes() for each in ("killed_best/net", "best/net"))
            self.assertEqual(ours, theirs, name)

    def test_the_curve_is_a_picture(self):
        """It is XML that a browser shows: lines of loss, score and learning rate."""
        root = xml.etree.ElementTree.parse(self.root / "whole/net/curve.svg").getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
        for title in ("loss, and validation loss (orange)", "validation: average precision", "learning rate"):
            self.assertIn(title, titles)
        lines = [each.get("points").split() for each in root.iter("{http://www.w3.org/2000/svg}polyline")]
        self.assertEqual([len(line) for line in lines], [STEPS, STEPS, 2, 2, STEPS])
        for place in (place for line in lines for place in line):
            x, y = (float(number) for number in place.split(","))
            self.assertTrue(0 <= x <= float(root.get("width")) and 0 <= y <= float(root.get("height")), place)

    def test_a_signal_behind_the_last_step_changes_nothing(self):
        """The model is written, and the exit code says so."""
        with subprocess.Popen(self.command("late/net"), stderr=subprocess.PIPE, text=True) as process:
            while {"step", "validation_loss"} - set((lines_of(self.root / "late/net") or [{}])[-1]) or (
                lines_of(self.root / "late/net")[-1]["step"] < STEPS
            ):
                time.sleep(0.0005)
            process.send_signal(signal.SIGTERM)
            text = process.stderr.read()
            self.assertEqual(process.wait(LONGEST), 0, text)
        self.assertIn("30 steps are done", text)
        self.assertTrue((self.root / "late/net/1/model.onnx").exists())

    def test_refusals_come_before_anything_is_removed(self):
        """With --restart, too: whatever is wrong, the checkpoint, the log and the model are as they were."""
        output = self.root / "kept/net"
        shutil.copytree(self.root / "whole/net", output)
        before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
        good = (self.root / "train.pbtxt").read_text()
        (self.root / "wide.pbtxt").write_text(NET.replace("f_out: 1", "f_out: 2"))
        for number, (text, settings, words) in enumerate(
            (
                (good.replace("steps: 30", "steps: x"), {}, "k0.pbtxt"),
                (good.replace("input_offset: -1", "input_offset: -2"), {}, "input_offset"),
                (good, {"model": "none.pbtxt"}, "none.pbtxt"),
                (good, {"model": "wide.pbtxt"}, "2 channels"),
                (good, {"mem": 1 << 20}, "--mem is "),
                (good.replace("/raw", "/none"), {}, "none"),
                (good.replace("patch: 33", "patch: 49"), {}, "smaller than a patch"),
                (good, {"mem": 66 << 20}, "left of --mem"),
            )
        ):
            (self.root / f"k{number}.pbtxt").write_text(text)
            ended = self.train("kept/net", "--restart", config=f"k{number}.pbtxt", **settings)
            self.assertEqual(ended.returncode, 1, words)
            self.assertIn(words, ended.stderr.splitlines()[-1])
            after = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
            self.assertEqual(after, before, words)

    def test_another_plan_is_warned_of(self):
        """Less memory, and so another plan of a step."""
        inner = "node { conv { f_out: 16 k: 3 activation: relu } }\n"
        (self.root / "wide.pbtxt").write_text(
            NET.replace("f_out: 8", "f_out: 16").replace("2 } }\n", "2 } }\n" + inner)
        )
        lines = (self.root / "train.pbtxt").read_text().splitlines(keepends=True)
        (self.root / "alone.pbtxt").write_text("".join(line for line in lines if not line.startswith("validation")))
        files = {"model": "wide.pbtxt", "config": "alone.pbtxt"}

        def calls_with(mem):
            lines = self.train("none", "--explain", mem=mem, **files).stdout.splitlines()[1:-3]
            return [line.split()[:-2] for line in lines]  # without milliseconds and MiB

        wanted = calls_with(MEM)
        little = next(mem for mem in range(80 << 20, 64 << 20, -1 << 20) if calls_with(mem) != wanted)
        code, text = self.interrupt("plans/net", 6, signal.SIGTERM, **files)
        self.assertEqual(code, 128 + signal.SIGTERM, text)
        ended = self.train("plans/net", mem=little, **files)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn(
            "warning: the steps that are left have another plan, which rounds differently; for the same bits, on the "
            f"same machine, give --mem {MEM} --threads 2 as before",
            ended.stderr,
        )

    def test_the_model_is_served(self):
        """znnid serves what was written, with the scale of the training and the sigmoid: borders stand out."""
        repository = self.root / "whole"
        self.assertIn('"0.0078125"', (repository / "net/config.pbtxt").read_text())
        with Daemon(repository, mem="1G") as daemon, daemon.client() as client:
            tensor = triton.InferInput("input", [1, 1, *self.raw.shape], "FP32")
            tensor.set_data_from_numpy(self.raw[None, None].astype(np.float32))
            output = client.infer("net", [tensor]).as_numpy("output")[0, 0]
        self.assertEqual(output.shape, tuple(extent - FOV + 1 for extent in self.raw.shape))
        self.assertGreaterEqual(output.min(), 0)
        self.assertLessEqual(output.max(), 1)
        begin, end = (FOV - 1) // 2, FOV // 2
        border = np.zeros(self.labels.shape, bool)
        for axis in range(3):
            differs = np.diff(self.labels, axis=axis) != 0
            near, far = [slice(None)] * 3, [slice(None)] * 3
            near[axis], far[axis] = slice(None, -1), slice(1, None)
            border[tuple(near)] |= differs
            border[tuple(far)] |= differs
        border = border[begin:-end, begin:-end, begin:-end]
        self.assertGreater(output[border].mean(), output[~border].mean() + 0.2)
        self.check_validation(output.ravel().astype(np.float64), border.ravel())

    def check_validation(self, probability, truth):
        """The last validation says of the volume what its output by znnid says."""
        found = [line for line in lines_of(self.root / "whole/net") if "validation_loss" in line][-1]
        losses = -np.where(truth, 2 * np.log(probability), np.log1p(-probability))
        self.assertAlmostEqual(found["validation_loss"], losses.mean(), delta=1e-4)
        hits = np.cumsum(truth[np.argsort(-probability, kind="stable")])
        precision, recall = hits / np.arange(1, hits.size + 1), hits / hits[-1]
        self.assertAlmostEqual(found["average_precision"], (precision * np.diff(recall, prepend=0)).sum(), delta=1e-3)
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        self.assertAlmostEqual(found["best_f1"], f1.max(), delta=1e-3)
        taken = probability >= found["best_f1_threshold"]
        own = 2 * (taken & truth).sum() / (taken.sum() + truth.sum())
        self.assertAlmostEqual(own, found["best_f1"], delta=1e-3)

    def test_a_model_is_trained_further(self):
        """The loss begins where that of the model ended, and the model gets its next version, which a daemon that runs
        serves when it loads the model again."""
        (self.root / "further/net").mkdir(parents=True)
        model = self.root / "whole/net/1/model.onnx"
        (self.root / "further/net/1").mkdir()
        (self.root / "further/net/1/model.onnx").write_bytes(model.read_bytes())
        refused = self.train("further/net", model="further/net/1/model.onnx")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("further/net: its versions are served with input_scale 1", refused.stderr)
        (self.root / "further/net/config.pbtxt").write_bytes((self.root / "whole/net/config.pbtxt").read_bytes())
        explicit = ("--model-control-mode", "explicit", "--load-model", "net")
        with Daemon(self.root / "further", *explicit, mem="1G") as daemon, daemon.client() as client:
            ended = self.train("further/net", model="further/net/1/model.onnx")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(client.get_model_metadata("net").versions, ["1"])
            client.load_model("net")
            self.assertEqual(client.get_model_metadata("net").versions, ["2"])
        self.assertIn("weights of ", ended.stderr)
        self.assertIn("its sigmoid is part of the loss", ended.stderr)
        first, whole = lines_of(self.root / "further/net")[0], lines_of(self.root / "whole/net")
        self.assertLess(first["loss"], np.mean([line["loss"] for line in whole[:5]]))
        self.assertTrue((self.root / "further/net/2/model.onnx").exists())

    def test_what_is_done_and_what_differs(self):
        """A finished training is not done again; another one is refused beside its checkpoint."""
        self.assertEqual(self.train("done/net").returncode, 0)
        again = self.train("done/net")
        self.assertEqual(again.returncode, 0)
        self.assertIn("all 30 steps are done, and version 1 was written", again.stderr)
        config = (self.root / "train.pbtxt").read_text()
        (self.root / "other.pbtxt").write_text(config + "seed: 2\n")
        other = self.train("done/net", config="other.pbtxt")
        self.assertEqual(other.returncode, 1)
        self.assertIn("done/net/checkpoint: a checkpoint of another training; give ", other.stderr)
        self.assertEqual(steps_of(self.root / "done/net"), steps_of(self.root / "whole/net"))  # the log is whole
        restarted = self.train("done/net", "--restart", config="other.pbtxt")
        self.assertEqual(restarted.returncode, 0, restarted.stderr)
        self.assertTrue((self.root / "done/net/2/model.onnx").exists())

    def test_a_restart_forgets_the_old_checkpoint(self):
        """Killed before its first checkpoint, it begins again; stopped behind it, it goes on without --restart."""
        output = self.root / "restarted/net"
        output.mkdir(parents=True)
        for name in ("checkpoint", "train.jsonl"):
            (output / name).write_bytes((self.root / "whole/net" / name).read_bytes())
        (output / "checkpoint.Ab3xYz.unfinished").write_text("znni")
        self.assertIn("all 30 steps are done", self.train("restarted/net").stderr)
        self.assertFalse((output / "checkpoint.Ab3xYz.unfinished").exists())
        with subprocess.Popen(self.command("restarted/net", "--restart"), stderr=subprocess.PIPE, text=True) as process:
            while len(lines_of(output)) > STEPS:  # until the log is cut
                self.assertIsNone(process.poll(), "it ended before it was killed")
                time.sleep(0.0005)
            process.kill()
        self.assertLess(len(lines_of(output)), 4, "it has a checkpoint of its own")
        self.assertFalse((output / "checkpoint").exists())
        code, text = self.interrupt("restarted/net", 6, signal.SIGTERM, "--restart")
        self.assertEqual(code, 128 + signal.SIGTERM, text)
        self.assertIn("; the same command without --restart goes on from it", text)

    def test_changed_volumes_are_said(self):
        """Other volumes behind the same names: a training that is done says so."""
        output = self.root / "changed/net"
        data = self.root / "changed.h5"
        data.write_bytes((self.root / "cells.h5").read_bytes())
        (self.root / "changed.pbtxt").write_text(CONFIG % {"data": data})
        self.assertEqual(self.train("changed/net", config="changed.pbtxt").returncode, 0)
        self.assertNotIn("warning", self.train("changed/net", config="changed.pbtxt").stderr)
        os.utime(data, (1, 1))
        done = self.train("changed/net", config="changed.pbtxt")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"warning: {data}: has changed since then", done.stderr)
        self.assertTrue((output / "1").exists())

    def test_a_signal_before_the_first_step_ends_at_once(self):
        """One that waits for the reader of its table, which never reads, ends at a signal."""
        (self.root / "long.pbtxt").write_text(
            NET.replace("node { max", "node { conv { f_out: 8 k: 1 } }\n" * 30 + "node { max")
        )
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(writer, bytes(1024)):
                pass
        os.set_blocking(writer, True)
        command = self.command("early/net", "--explain", model="long.pbtxt")
        with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, text=True) as process:
            self.assertIn("weights by He", process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            code = process.wait(LONGEST)
        self.assertEqual(code, 128 + signal.SIGTERM)
        os.close(reader)
        os.close(writer)

    def test_two_trainings_do_not_share_a_folder(self):
        """The second is refused while the first runs, and the first goes on."""
        with subprocess.Popen(self.command("shared/net"), stderr=subprocess.PIPE, text=True) as process:
            while not lines_of(self.root / "shared/net"):
                self.assertIsNone(process.poll())
                time.sleep(0.0005)
            process.send_signal(signal.SIGSTOP)
            second = self.train("shared/net")
            process.send_signal(signal.SIGCONT)
            self.assertEqual(second.returncode, 1)
            self.assertIn("shared/net: another znni-train trains there; ", second.stderr)
            process.stderr.read()
            self.assertEqual(process.wait(LONGEST), 0)

    def test_memory_is_within_the_limit(self):
        """The process takes less than --mem, and says what it takes; too little is refused with both numbers."""
        with subprocess.Popen(self.command("memory/net"), stderr=subprocess.PIPE, text=True) as process:
            process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss << 10, MEM)
        explained = self.train("memory/other", "--explain")
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("memory: step ", explained.stdout)
        self.assertFalse((self.root / "memory/other").exists())
        little = self.train("memory/other", mem=66 << 20)
        self.assertEqual(little.returncode, 1)
        self.assertRegex(little.stderr, r"needs at least .* MiB, and .* are left of --mem: take a smaller patch")

    def test_errors_are_one_line(self):
        """Each names its file."""
        labels = CONFIG.replace("targets: boundaries", "targets: labels") % {"data": self.root / "cells.h5"}
        for name, text, words in (
            ("a.pbtxt", "steps: 0", "a.pbtxt: steps is 0; a whole number of at least 1 is right"),
            ("b.pbtxt", CONFIG % {"data": self.root / "none.h5"}, "none.h5"),
            ("l.pbtxt", labels, f"znni-train: {self.root / 'cells.h5'}:/labels: the voxel at z, y, x of 0, 0, 0 has "),
            ("l.pbtxt", labels, "; as a class 0 to 1 is right"),
            ("c.pbtxt", CONFIG.replace("patch: 33", "patch: 7") % {"data": "d.h5"}, "patch is 7x7x7, smaller than"),
        ):
            (self.root / name).write_text(text)
            ended = self.train("errors/net", config=name)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(words, ended.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
