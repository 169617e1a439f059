"""Tables of nets that pad. Usage: bench_padded_tables_test.py FOLDER-OF-BENCH_PADDED_TABLES."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1))))
import bench_padded_tables as tables  # found where the argument says
import bench_samples as samples


class PaddedTablesTest(unittest.TestCase):
    def test_a_net_stands_beside_other_programs(self):
        head, row = tables.peer_rows([samples.padded()])
        self.assertEqual(head[5], "ONNX Runtime 1.31.1")
        self.assertEqual(head[9], "OpenVINO 2026.4.1")
        self.assertEqual(
            row,
            ["MeshNet", "64", "192", "2", "0.80"]
            + ["0.5", "4.00", "3.00", "2"]
            + ["1", "2.00", "1.50", "1.3"]
            + ["5", "0.5 to 1.2"],
        )

    def test_a_program_that_did_not_run(self):
        refused = samples.padded(openvino={"refusal": "no such operator"})
        row = tables.peer_rows([refused])[1]
        self.assertEqual(row[9:13], ["not run: no such operator", "", "", "1.3"])

    def test_a_net_without_floors(self):
        self.assertEqual(tables.peer_rows([samples.padded(floors={})])[1][8], "")

    def test_memory_of_large_volumes(self):
        alone = samples.padded(volume=[256, 512, 512])
        del alone["onnxruntime"], alone["openvino"]
        self.assertEqual(
            tables.memory_rows([alone])[1],
            ["MeshNet", "256x512x512", "6", "5.50", "5.75", "32x512x512", "2", "1.6"],
        )
        text = "\n".join(tables.sections([alone]))
        self.assertIn("## Large volumes", text)
        self.assertNotIn("## Nets that pad", text)

    def test_planning(self):
        alone = samples.padded()
        del alone["ours"]
        failed = {**alone, "planning": {"refusal": "nothing fits"}}
        rows = tables.planning_rows([alone, failed])
        self.assertEqual(
            rows[1:], [["MeshNet", "64", "6", "1.2", "2.5"], ["MeshNet", "64", "6", "no plan: nothing fits", ""]]
        )

    def test_rows_of_a_table_are_equally_long(self):
        one = samples.padded()
        refused = samples.padded(onnxruntime={"refusal": "a"})
        for rows in (tables.peer_rows([one, refused]), tables.memory_rows([one]), tables.planning_rows([one])):
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_without_results_there_is_no_section(self):
        self.assertEqual(tables.sections([]), [])


if __name__ == "__main__":
    unittest.main()
