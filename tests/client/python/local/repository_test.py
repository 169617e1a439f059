"""Model repositories of one network."""

import pathlib
import tempfile
import unittest

from znni.errors import InvalidError, NotFoundError
from znni.local.repository import make_repository


class RepositoryTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.models = self.folder / "models"

    def network(self, name):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("network")
        return path

    def config(self, name):
        path = self.models / name / "config.pbtxt"
        return path.read_text() if path.exists() else None

    def test_a_file(self):
        self.assertEqual(make_repository(self.models, self.network("my-net.onnx"), None), "my-net")
        self.assertEqual((self.models / "my-net/1/model.onnx").read_text(), "network")
        self.assertIsNone(self.config("my-net"))

    def test_a_network_of_caffe(self):
        self.network("own.caffemodel")
        self.assertEqual(make_repository(self.models, self.network("own.prototxt"), None), "own")
        for ending in ("prototxt", "caffemodel"):
            self.assertEqual((self.models / f"own/1/model.{ending}").read_text(), "network")
        with self.assertRaisesRegex(NotFoundError, "alone.caffemodel: there is no such file"):
            make_repository(self.folder / "more", self.network("alone.prototxt"), None)

    def test_a_name_that_is_no_models(self):
        self.assertEqual(make_repository(self.models, self.network("a net.onnx"), None), "net")

    def test_of_a_repository(self):
        network = self.network("theirs/boundary/3/model.onnx")
        (network.parent.parent / "config.pbtxt").write_text("own")
        self.assertEqual(make_repository(self.models, network, None), "boundary")
        self.assertEqual(self.config("boundary"), "own")

    def test_lists_have_commas(self):
        make_repository(self.models, self.network("net.onnx"), {"window": (64, 128, 128)})
        self.assertEqual(self.config("net"), 'parameters { key: "window" value { string_value: "64,128,128" } }\n')

    def test_configurations(self):
        network = self.network("n.onnx")
        other = self.folder / "c.pbtxt"
        other.write_text("other")
        make_repository(self.models, network, other)
        self.assertEqual(self.config("n"), "other")
        make_repository(self.folder / "more", network, {"input_scale": 0.5, "input_offset": "-1"})
        self.assertEqual(
            (self.folder / "more/n/config.pbtxt").read_text(),
            'parameters { key: "input_scale" value { string_value: "0.5" } }\n'
            'parameters { key: "input_offset" value { string_value: "-1" } }\n',
        )

    def test_what_is_missing(self):
        with self.assertRaisesRegex(NotFoundError, "none.onnx: there is no such file"):
            make_repository(self.models, self.folder / "none.onnx", None)
        with self.assertRaisesRegex(NotFoundError, "c.pbtxt: there is no such file"):
            make_repository(self.models, self.network("n.onnx"), self.folder / "c.pbtxt")
        with self.assertRaisesRegex(InvalidError, "n.pt: this kind of network is not read: expected FILE.onnx"):
            make_repository(self.models, self.network("n.pt"), None)
        self.assertFalse(self.models.exists())


if __name__ == "__main__":
    unittest.main()
