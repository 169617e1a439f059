"""Facts about models."""

import unittest

import numpy as np
from znni import wire
from znni.errors import InvalidError
from znni.model import model_of


def answer(channels=2, outputs=3, **properties):
    """Returns a daemon's answer."""
    tensor = wire.ModelMetadataResponse.TensorMetadata
    return wire.ModelMetadataResponse(
        name="net",
        versions=["1", "7"],
        inputs=[tensor(name="in", shape=[-1, channels, -1, -1, -1])],
        outputs=[tensor(name="out", shape=[-1, outputs, -1, -1, -1])],
        properties={"field_of_view": "10,1,5", **properties},
    )


class ModelTest(unittest.TestCase):
    def test_facts(self):
        model = model_of(answer(), True, "")
        self.assertEqual((model.name, model.version, model.channels, model.output_channels), ("net", "7", 2, 3))
        self.assertEqual(model.halo, ((4, 0, 2), (5, 0, 2)))
        self.assertFalse(model.pads)
        self.assertEqual(model_of(answer(), True, "1").version, "1")
        self.assertEqual((model.padding, model.period, model.min_extent), (((0, 0, 0),) * 2, (1, 1, 1), (1, 1, 1)))

    def test_labels(self):
        self.assertFalse(model_of(answer(), True, "").has_labels)
        self.assertTrue(model_of(answer(largest_channel_number="3"), True, "").has_labels)

    def test_networks_that_pad(self):
        model = model_of(
            answer(padding_before="2,3", padding_after="4,5", input_period="8,4", least_input="16,4"), True, ""
        )
        self.assertTrue(model.pads)
        self.assertEqual(
            (model.padding, model.period, model.min_extent), (((0, 2, 3), (0, 4, 5)), (1, 8, 4), (1, 16, 4))
        )

    def test_several_inputs_follow_each_other(self):
        self.assertEqual(model_of(answer(), True, "").inputs, {"in": slice(0, 2)})
        several = answer()
        several.inputs.add(name="mask", shape=[-1, 1, -1, -1, -1])
        model = model_of(several, True, "")
        self.assertEqual(model.channels, 3)
        self.assertEqual(model.inputs, {"in": slice(0, 2), "mask": slice(2, 3)})

    def test_several_outputs_follow_each_other(self):
        self.assertEqual(model_of(answer(), True, "").outputs, {"out": slice(0, 3)})
        several = answer()
        several.outputs.add(name="mask", shape=[-1, 2, -1, -1, -1])
        model = model_of(several, True, "")
        self.assertEqual(model.output_channels, 5)
        self.assertEqual(model.outputs, {"out": slice(0, 3), "mask": slice(3, 5)})
        found = np.arange(5 * 24).reshape(5, 2, 3, 4)
        np.testing.assert_array_equal(model.part(found, "mask"), found[3:])
        np.testing.assert_array_equal(model.part(found[None], "out"), found[None, :3])
        plane = found[0]  # as one channel of a volume without an axis for channels comes
        self.assertIs(model_of(answer(outputs=1), True, "").part(plane, "out"), plane)
        with self.assertRaisesRegex(InvalidError, "output: 'masks' found, expected one of 'out', 'mask', which model"):
            model.part(found, "masks")

    def test_coarse_outputs_have_their_own_voxels(self):
        self.assertEqual(model_of(answer(), True, "").output_strides, {"out": (1, 1, 1)})
        several = answer()
        several.outputs.add(name="aux", shape=[-1, 2, -1, -1, -1])
        several.properties["output_stride"] = "1,2,2"
        self.assertEqual(model_of(several, True, "").output_strides, {"out": (1, 2, 2), "aux": (1, 2, 2)})
        del several.properties["output_stride"]
        several.properties["output_strides"] = "1,1,1;1,2,4"
        model = model_of(several, True, "")
        self.assertEqual(model.output_stride, (1, 1, 1))
        self.assertEqual(model.output_strides, {"out": (1, 1, 1), "aux": (1, 2, 4)})
        found = np.arange(5 * 24).reshape(5, 2, 3, 4)
        np.testing.assert_array_equal(model.part(found, "out", own=True), found[:3])
        np.testing.assert_array_equal(model.part(found, "aux", own=True), found[3:, :, ::2, ::4])
        np.testing.assert_array_equal(model.part(found, "aux"), found[3:])
        several.properties["window"] = "9,9,9"
        with self.assertRaisesRegex(InvalidError, "own: True found, but model 'net' blends windows"):
            model_of(several, True, "").part(found, "aux", own=True)
        del several.properties["window"]
        several.properties["output_strides"] = "1,1;2,4"
        self.assertEqual(model_of(several, True, "").output_strides["aux"], (1, 2, 4), "of networks with fewer axes")

    def test_networks_with_fewer_axes(self):
        self.assertEqual(model_of(answer(field_of_view="4,5"), True, "").field_of_view, (1, 4, 5))

    def test_networks_that_normalise(self):
        model = model_of(answer(window="30,40,50"), True, "")
        self.assertEqual(model.window, (30, 40, 50))
        self.assertIsNone(model_of(answer(), True, "").window)
        self.assertEqual(model.output_shape((2, 30, 40, 50)), (3, 21, 40, 46))
        self.assertEqual(model.output_shape((2, 21, 40, 46), "reflect"), (3, 21, 40, 46))
        self.assertEqual(model.output_shape((2, 31, 20, 99)), (3, 22, 20, 95), "any extent where nothing is lost")
        words = "29x40x50 voxels found, expected at least the window along an axis, 30x1x50 of model 'net'; try"
        with self.assertRaisesRegex(InvalidError, words):
            model.output_shape((2, 29, 40, 50))

    def test_output_shape(self):
        model = model_of(answer(), True, "")
        self.assertEqual(model.output_shape((2, 30, 40, 50)), (3, 21, 40, 46))
        self.assertEqual(model.output_shape((2, 30, 40, 50), "edge"), (3, 30, 40, 50))
        self.assertEqual(model.output_shape((1, 2, 30, 40, 50)), (1, 3, 21, 40, 46))
        self.assertEqual(model_of(answer(1, 1), True, "").output_shape((30, 40, 50)), (21, 40, 46))

    def test_what_it_does_not_take(self):
        model = model_of(answer(), True, "")
        with self.assertRaisesRegex(InvalidError, "1 channels found, expected the 2 that model 'net' takes"):
            model.output_shape((30, 40, 50))
        with self.assertRaisesRegex(InvalidError, "9x40x50 voxels found, expected at least the field of view 10x1x5"):
            model.output_shape((2, 9, 40, 50))
        with self.assertRaisesRegex(InvalidError, "pad: 'x' found"):
            model.output_shape((2, 9, 40, 50), "x")


if __name__ == "__main__":
    unittest.main()
