"""deploy/gpu_check.sh without a GPU: a run of all blocks with programs that only pretend, wrong options, resuming."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

DEPLOY = pathlib.Path(sys.argv.pop(1))
BENCH = """#!/bin/sh
case "$1" in
  machine) echo '{"block": "machine", "gpu": "pretended"}' ;;
  ceilings) echo '{"block": "copy", "what": "device to device", "GB_per_s": 4000}' ;;
  layer) echo '{"block": "layer", "problem": "conv", "primitive": "cuda.conv.fft", "format": "f32:planar",' \\
    '"variant": "tile=32", "ms": 1.5, "predicted_ms": 1, "direct_TFLOP_per_s": 100}' ;;
  divided) echo '{"block": "overlap", "primitive": "cuda.conv.fft32", "format": "f32:planar", "tensors": "pinned",' \
    '"products_ms": 10, "copies_ms": 8, "ms": 11, "predicted_ms": 10.5, "overlap": 0.875}' ;;
  net) echo "$*" >>"$0.runs"
    echo '{"block": "net", "who": "znni", "net": "'$3'", "mode": "'$7'", "n": 100, "fragment": '$5',' \
    '"Mvoxels_per_s": 12.5, "predicted_Mvoxels_per_s": '$5.25'}' ;;
esac
"""
TESTS = """#!/bin/sh
case "$1" in
  --gtest_list_tests) printf 'CudaDeviceOnGpu.\\n  First\\n  Second\\nOn/Accelerators.  # TypeParam\\n'
    printf '  Copies/HostSim  # one\\n  Copies/Cuda  # two\\n' ;;
  *) echo "$*" >>"$0.runs" ;;
esac
"""
SPLIT = """#!/bin/sh
[ "${18} $8" = "tf32 11G" ] || [ "$4 $8" = "gpu-host-ram 1G" ] && places=gpu_host_ram || places=gpu
echo "$*" >>"$0.runs"
echo '{"block": "capped", "net": "'$2'", "strategy": "'$4'", "primitives": "'${14}'", "precision": "'${18}'",' \
  '"gpu_mem": "'$8'", "places": "'$places' 0-9", "extent": 200,' \
  '"cpu_idle_seconds": 0.5, "gpu_idle_seconds": 0.25, "Mvoxels_per_s": 3.5, "predicted_Mvoxels_per_s": 4}'
"""


BLOCKS = "machine tests ceilings errors nets capped tf32 bf16 layers larger direct sanitizer".split()


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        shutil.copytree(DEPLOY / "lib", self.root / "deploy" / "lib")
        shutil.copy(DEPLOY / "gpu_check.sh", self.root / "deploy")
        self.pack = self.root / "build" / "gpu-check"
        for name, text in [("bin/znni-gpu-bench", BENCH), ("bin/znni-split-bench", SPLIT)] + [
            (f"tests/{test}", TESTS) for test in ("cuda_gpu_tests", "accelerator_tests")
        ]:
            program = self.pack / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)
        (self.pack / "commit").write_text("0123abcd\n")

    def tearDown(self):
        self.folder.cleanup()

    def run_check(self, *words):
        return subprocess.run(
            [str(self.root / "deploy" / "gpu_check.sh"), *words],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def lines(self):
        """Returns the lines without the one that says whose they are."""
        found = [json.loads(line) for line in (self.pack / "results.jsonl").read_text().splitlines()]
        return [line for line in found if line["block"] != "of"]

    def test_every_block_leaves_lines_and_the_table_shows_them(self):
        done = self.run_check()
        self.assertIn("device to device, GB_per_s 4000", done.stdout)
        self.assertRegex(done.stdout, r"znni f32 +12.50 \(20.25\) at 20 +12.50 \(20.25\) at 20 +12.50 \(40.25\) at 40 ")
        self.assertRegex(done.stdout, r"n926 +znni +fft_tf32 +fragments of 96 +12.50 of 96.25 predicted \(0.13\)")
        self.assertIn("cuda.conv.fft", done.stdout)
        self.assertRegex(done.stdout, r"n926 +gpu-host-ram +fft +tf32 +11G +3.500 of 4.000 predicted \(0.50, 0.25\)")
        self.assertRegex(
            done.stdout,
            r"host RAM over the GPU alone.*\nfft fp32 11G +same plan .*\nfft tf32 11G +1.00 .*\n"
            r"all bf16 11G +same plan +- +- +-\ndirect fp32 11G +- +same plan +- +same plan\n"
            r"direct fp32 1G +- +1.00 +- +1.00\n",
        )
        self.assertRegex(done.stdout, r"znni bf16 over PyTorch's best in bf16 +- ")
        self.assertIn("together 11.0 ms (10.5 predicted): overlap 0.88", done.stdout)
        self.assertIn("status 1: error n337", done.stdout)  # there is no PyTorch
        blocks = {line["name"]: line["status"] for line in self.lines() if line["block"] == "check"}
        self.assertEqual(list(blocks), BLOCKS)
        self.assertEqual(
            {blocks[name] for name in ("machine", "tests", "ceilings", "layers", "capped", "tf32", "bf16", "direct")},
            {0},
        )
        self.assertEqual({line["commit"] for line in self.lines() if line["block"] == "commit"}, {"0123abcd"})

    def test_what_is_done_is_not_done_again(self):
        self.run_check("--only", "ceilings")
        again = self.run_check("--only", "ceilings")
        self.assertIn("ceilings: done before", again.stderr)
        self.assertEqual(sum(line["block"] == "copy" for line in self.lines()), 1)

    def test_what_has_no_time_left_is_left_to_the_next_run(self):
        none = self.run_check("--minutes", "0")
        self.assertEqual(none.returncode, 1)
        self.assertIn("unfinished, for the next run: " + " ".join(BLOCKS) + "\n", none.stderr)
        self.assertEqual(self.lines(), [])

    def test_the_limit_of_a_block_ends_what_it_runs(self):
        script = self.root / "deploy" / "gpu_check.sh"
        text = script.read_text().replace('each "layer $1 $2" 30', 'each "layer $1 $2" 50')
        # By the script's clock an item takes 50 s more than it does: 10 s are left to the second one.
        run = '  timeout --kill-after=20 "$limit" "$@"\n  status=$?\n'
        self.assertEqual(text.count(run), 1)
        text = text.replace(run, f"{run}  SECONDS=$((SECONDS + 50))\n")
        script.write_text(re.sub(r"^block layers \d+", "block layers 60", text, flags=re.M))
        bench = self.pack / "bin" / "znni-gpu-bench"
        bench.write_text(BENCH.replace("  layer) ", '  layer) [ ! -e "$0.ran" ] || sleep 600; touch "$0.ran"; '))
        done = self.run_check("--only", "layers")
        self.assertIn("unfinished, for the next run: layers", done.stderr)
        self.assertEqual(
            [(line["block"], line["status"]) for line in self.lines() if "status" in line],
            [("item", 0), ("item", 124), ("check", 124)],
        )

    def test_what_takes_longer_than_it_may_has_failed(self):
        script = self.root / "deploy" / "gpu_check.sh"
        script.write_text(script.read_text().replace("item ceilings 55", "item ceilings 1"))
        (self.pack / "bin" / "znni-gpu-bench").write_text(BENCH.replace("  ceilings) ", "  ceilings) sleep 30; "))
        done = self.run_check("--only", "ceilings")
        self.assertIn("ceilings: status 125", done.stderr)
        self.assertNotIn("unfinished", done.stderr)

    def test_what_has_no_room_in_its_block_is_not_tried_for_ever(self):
        script = self.root / "deploy" / "gpu_check.sh"
        script.write_text(re.sub(r"^block ceilings \d+", "block ceilings 12", script.read_text(), flags=re.M))
        bench = self.pack / "bin" / "znni-gpu-bench"
        bench.write_text(BENCH.replace("  ceilings) ", '  ceilings) echo run >>"$0.runs"; sleep 600; '))
        self.assertIn("ceilings: status 125", self.run_check("--until", "ceilings").stderr)
        again = self.run_check("--until", "ceilings")
        self.assertIn("ceilings: took longer than it may before, is not tried again", again.stderr)
        self.assertIn("ceilings: status 125", again.stderr)
        runs = self.pack / "bin" / "znni-gpu-bench.runs"
        self.assertEqual(runs.read_text(), "run\n")
        bench.write_text(BENCH)
        self.assertEqual(self.run_check("--only", "ceilings").returncode, 0, "asked for, it is")

    def test_every_item_has_room_in_its_block(self):
        script = (DEPLOY / "gpu_check.sh").read_text()
        limits = {name: int(limit) for name, limit in re.findall(r"^block (\w+) (\d+)$", script, re.M)}
        items = 0
        for block, body in re.findall(r"^run_(\w+)\(\) \{(.*?\})$", script, re.M | re.S):
            found = re.findall(r"\b(?:item|each) (?:\"[^\"]*\"|\w+) (\d+) ", body)
            found += [75 for _ in re.findall(r"^ *torch ", body, re.M)] + [
                45 for _ in re.findall(r"^ *speed ", body, re.M)
            ]
            found += [int(planning) + 70 for planning in re.findall(r"\bcapped .* \d (\d\d)\b", body)]
            items += len(found)
            for seconds in found:
                self.assertLessEqual(int(seconds), limits[block] - 2, block)
        self.assertGreater(items, 20)

    def test_a_run_may_end_behind_a_block(self):
        done = self.run_check("--until", "ceilings")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("unfinished", done.stderr)
        self.assertEqual(
            [line["name"] for line in self.lines() if line["block"] == "check"], ["machine", "tests", "ceilings"]
        )
        self.assertEqual(self.run_check("--until", "ceilings").returncode, 0, "done before, and no further")
        self.assertEqual(
            [line["name"] for line in self.lines() if line["block"] == "check"], ["machine", "tests", "ceilings"]
        )

    def test_where_most_tests_fail_nothing_is_measured(self):
        program = self.pack / "tests" / "cuda_gpu_tests"
        program.write_text(TESTS.replace("*) ", "*) exit 3; "))
        done = self.run_check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 of 3 tests fail: nothing is measured", done.stderr)
        self.assertEqual([line["name"] for line in self.lines() if line["block"] == "check"], ["machine", "tests"])
        self.assertNotIn("nothing is measured", self.run_check("--only", "ceilings").stderr)
        program.write_text(TESTS.replace("*) ", "*) case $2 in *Second) exit 3 ;; esac; "))
        few = self.run_check("--until", "errors").stderr
        self.assertNotIn("nothing is measured", few, "one of three")
        self.assertIn("== errors, at most", few)

    def test_patches_fit_the_tiles_and_matrix_units_have_eight_candidates(self):
        for block in ("nets", "larger"):
            self.run_check("--only", block)
        words = [line.split() for line in (self.pack / "bin" / "znni-gpu-bench.runs").read_text().splitlines()]
        runs = [dict(zip(line[1::2], line[2::2])) for line in words]
        patches = {
            net: sorted({int(run["--last"]) for run in runs if run["--net"] == net})
            for net in ("n337", "n537", "n726", "n926")
        }
        self.assertEqual(patches, {"n337": [20, 50], "n537": [20, 44], "n726": [40, 92], "n926": [48, 96]})
        for run in runs:
            if run["--mode"] in ("bf16", "tf32"):
                self.assertGreaterEqual(int(run["--candidates"]), 8)

    def test_libraries_are_looked_for_beside_the_driver_too(self):
        script = self.root / "deploy" / "gpu_check.sh"
        script.write_text(script.read_text().replace("/usr/local/", f"{self.root}/"))
        folder = self.root / "nvidia" / "lib64"
        folder.mkdir(parents=True)
        done = self.run_check("--only", "machine")
        self.assertRegex(done.stderr, rf"libraries: [^\n]*{folder}:")

    def test_what_is_packed_is_all_but_the_systems_libraries_and_cudas(self):
        tools = self.root / "tools"
        libraries = self.root / "libraries"
        for folder in (tools, libraries, self.root / "build" / "cuda" / "bin", self.root / "build" / "cuda" / "tests"):
            folder.mkdir(parents=True)
        for name in (
            "bin/libznni_cuda.so",
            "bin/znni-gpu-bench",
            "bin/znni-split-bench",
            "tests/cuda_gpu_tests",
            "tests/accelerator_tests",
        ):
            (self.root / "build" / "cuda" / name).write_text("")
        travelling = {"libcurl.so.4", "libhwloc.so.15", "libcups.so.2"}
        staying = {
            "libc.so.6",
            "libstdc++.so.6",
            "libcudart.so.13",
            "libcuda.so.1",
            "libcublas.so.13",
            "libcublasLt.so.13",
            "libcudnn.so.9",
            "libcudnn_graph.so.9",
            "libcufft.so.12",
            "libcurand.so.10",
            "libnvJitLink.so.13",
        }
        for name in travelling | staying:
            (libraries / name).write_text("")
        lines = "".join(f"\t{name} => {libraries / name} (0x1)\n" for name in sorted(travelling | staying))
        for name, text in (
            ("cmake", "exit 0"),
            ("strip", "exit 0"),
            ("git", "echo 0123abcd"),
            ("ldd", f"cat <<'END'\n{lines}END"),
        ):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        done = subprocess.run(
            [self.root / "deploy" / "gpu_check.sh", "pack"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(self.pack / "programs.tar.gz") as packed:
            found = {pathlib.PurePath(name).name for name in packed.getnames() if name.startswith("lib/")}
        self.assertEqual(found, travelling)

    def test_results_of_another_gpu_or_other_programs_are_no_part_of_these(self):
        self.run_check("--only", "ceilings")
        before = self.lines()
        bench = self.pack / "bin" / "znni-gpu-bench"
        for program, commit in ((BENCH.replace("pretended", "other"), "0123abcd\n"), (BENCH, "4567cdef\n")):
            bench.write_text(program)
            (self.pack / "commit").write_text(commit)
            done = self.run_check("--only", "ceilings")
            self.assertEqual(done.returncode, 2)
            self.assertIn("results.jsonl is of 0123abcd on pretended, this is", done.stderr)
        self.assertEqual(self.lines(), before)

    def test_each_test_of_a_gpu_runs_in_a_process_of_its_own(self):
        self.run_check("--only", "tests")
        runs = {
            test: (self.pack / "tests" / f"{test}.runs").read_text().split()
            for test in ("cuda_gpu_tests", "accelerator_tests")
        }
        self.assertEqual(
            [word for word in runs["cuda_gpu_tests"] if "filter" in word],
            ["--gtest_filter=CudaDeviceOnGpu.First", "--gtest_filter=CudaDeviceOnGpu.Second"],
        )
        self.assertIn("--gtest_filter=On/Accelerators.Copies/Cuda", runs["accelerator_tests"])
        self.assertNotIn("--gtest_filter=On/Accelerators.Copies/HostSim", runs["accelerator_tests"])

    def test_programs_travel_in_one_file(self):
        subprocess.run(
            ["tar", "-C", self.pack, "-czf", self.pack / "programs.tar.gz", "bin", "tests", "commit"], check=True
        )
        shutil.rmtree(self.pack / "bin")
        shutil.rmtree(self.pack / "tests")
        self.assertEqual(self.run_check("--only", "tests").returncode, 0)
        whole = (self.pack / "programs.tar.gz").read_bytes()
        (self.pack / "programs.tar.gz").write_bytes(whole[: len(whole) - 100])
        for _ in range(2):
            self.assertIn("is cut off", self.run_check("--only", "ceilings").stderr)
        (self.pack / "programs.tar.gz").write_bytes(whole)
        self.assertEqual(self.run_check("--only", "ceilings").returncode, 0)

    def test_results_elsewhere_go_on_with_those_of_the_package(self):
        self.run_check("--only", "ceilings")
        there = self.root / "out" / "results.jsonl"
        self.assertIn("ceilings: done before", self.run_check("--only", "ceilings", "--results", there).stderr)
        self.assertIn("ceilings: done before", there.with_suffix(".log").read_text())
        self.assertTrue(there.exists())

    def test_python_is_spared_the_libraries_of_our_programs(self):
        bench = self.pack / "bin" / "znni-gpu-bench"
        given = 'machine) case "$LD_LIBRARY_PATH" in *gpu-check/lib) ;; *) exit 5 ;; esac; '
        bench.write_text(BENCH.replace("machine) ", given))
        (self.root / "deploy" / "lib" / "gpu_torch.py").write_text(
            "import os, sys\nsys.exit('gpu-check' in os.environ.get('LD_LIBRARY_PATH', ''))\n"
        )
        self.run_check("--only", "errors")
        self.assertEqual({line["status"] for line in self.lines()}, {0})

    def test_a_block_that_was_cut_off_goes_on_where_it_was(self):
        split = self.pack / "bin" / "znni-split-bench"
        split.write_text(SPLIT + '[ "$2 $4" != "n926 gpu" ]\n')
        self.assertIn("capped: status 1", self.run_check("--only", "capped").stderr)
        before = sum(line["block"] == "item" and line["status"] == 0 for line in self.lines())
        split.write_text(SPLIT)
        self.run_check("--only", "capped")
        done = [line["name"] for line in self.lines() if line["block"] == "item" and line["status"] == 0]
        self.assertEqual((before, len(done), len(set(done))), (12, 13, 13))

    def test_plans_are_run_in_the_precision_of_their_block(self):
        for block, precision, nets in (("tf32", "tf32", {"n337", "n537", "n726", "n926"}), ("bf16", "bf16", {"n337"})):
            runs = self.pack / "bin" / "znni-split-bench.runs"
            runs.unlink(missing_ok=True)
            self.assertEqual(self.run_check("--only", block).returncode, 0)
            words = [line.split() for line in runs.read_text().splitlines()]
            self.assertEqual({line[line.index("--precision") + 1] for line in words}, {precision})
            self.assertEqual({line[line.index("--net") + 1] for line in words}, nets)
            self.assertLess(
                {"gpu", "gpu-host-ram"}, {line[line.index("--strategy") + 1] for line in words} | {"cpu-gpu"}
            )

    def test_the_papers_own_primitives_are_planned_with_and_without_host_ram(self):
        self.assertEqual(self.run_check("--only", "direct").returncode, 0)
        runs = (self.pack / "bin" / "znni-split-bench.runs").read_text().splitlines()
        words = [dict(zip(line.split()[::2], line.split()[1::2])) for line in runs]
        self.assertEqual({line["--primitives"] for line in words}, {"direct"})
        in_little = {(line["--net"], line["--strategy"]) for line in words if line["--gpu-mem"] == "1G"}
        self.assertEqual(
            in_little, {(net, strategy) for net in ("n537", "n926") for strategy in ("gpu", "gpu-host-ram")}
        )

    def test_the_blocks_fit_into_half_an_hour_in_calls_of_ten_minutes(self):
        script = (DEPLOY / "gpu_check.sh").read_text()
        limits = {name: int(limit) for name, limit in re.findall(r"^block (\w+) (\d+)$", script, re.M)}
        self.assertEqual(list(limits), BLOCKS)
        self.assertLessEqual(sum(limits.values()), 1790)
        self.assertLessEqual(int(re.search(r"minutes=(\d+)", script)[1]) * 60 + 20, 600)

    def test_a_failing_block_is_told_and_run_again(self):
        program = self.pack / "tests" / "cuda_gpu_tests"
        program.write_text(TESTS.replace("*) ", "*) case $2 in *Second) exit 3 ;; esac; "))
        failed = self.run_check("--only", "tests")
        self.assertIn("tests: status 3", failed.stderr)
        self.assertIn("status 3: test CudaDeviceOnGpu.Second", failed.stdout)
        self.assertEqual(failed.returncode, 1)
        program.write_text(TESTS)
        self.run_check("--only", "tests")
        self.assertEqual([line["status"] for line in self.lines() if line["block"] == "check"], [3, 0])
        tests = [line["name"] for line in self.lines() if line["block"] == "item"]
        self.assertEqual((len(tests), len(set(tests))), (4, 3))

    def test_a_program_that_names_no_tests_has_failed(self):
        (self.pack / "tests" / "accelerator_tests").write_text("#!/bin/sh\nexit 3\n")
        self.assertIn("accelerator_tests names no tests", self.run_check("--only", "tests").stderr)
        self.assertEqual(self.lines()[-1]["status"], 1)

    def test_a_line_that_was_cut_off_is_left_out(self):
        self.pack.joinpath("results.jsonl").write_text('{"block": "copy", "GB_per')
        self.assertEqual(self.run_check("--only", "machine").returncode, 0)

    def test_wrong_words_are_named(self):
        for words, expected in (
            (["--only", "all"], "no block 'all'"),
            (["--minutes", "soon"], "--minutes is 'soon'"),
            (["--until", "all"], "no block 'all'"),
            (["--only", "nets", "--until", "nets"], "exclude each other"),
            (["--fast"], "no option '--fast'"),
            (["--results"], "--results needs a value"),
        ):
            done = self.run_check(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)

    def test_without_a_gpu_it_says_so_in_one_line_and_runs_nothing(self):
        (self.pack / "bin" / "znni-gpu-bench").write_text(
            "#!/bin/sh\necho 'znni-gpu-bench: no GPU, or no driver for CUDA 13' >&2\nexit 77\n"
        )
        done = self.run_check()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            done.stderr, "gpu_check.sh: no GPU, or no driver for CUDA 13: there is nothing to check on this machine\n"
        )
        self.assertFalse((self.pack / "results.jsonl").exists())

    def test_programs_that_were_cut_off_are_told_before_anything_runs(self):
        (self.pack / "bin" / "znni-gpu-bench").write_text("#!/bin/sh\nkill -SEGV $$\n")
        done = self.run_check()
        self.assertEqual(done.returncode, 2)
        self.assertRegex(
            done.stderr,
            r"^gpu_check.sh: build/gpu-check/bin/znni-gpu-bench ends with status 139: is "
            r"build/gpu-check whole\? Bring it along again",
        )

    def test_without_programs_it_says_where_they_come_from(self):
        shutil.rmtree(self.pack)
        done = self.run_check()
        self.assertEqual(done.returncode, 2)
        self.assertIn("gpu_check.sh pack", done.stderr)


if __name__ == "__main__":
    unittest.main()
