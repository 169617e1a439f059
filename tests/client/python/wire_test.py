"""Messages of the wire, beside those of tritonclient."""

import subprocess
import sys
import unittest

from znni import wire


class WireTest(unittest.TestCase):
    def test_messages(self):
        header = wire.VolumeHeader(model_name="net", extent=wire.Extent(z=1, y=2, x=3), first_plane=7)
        again = wire.VolumeRequest.FromString(wire.VolumeRequest(header=header).SerializeToString())
        self.assertEqual(again.WhichOneof("message"), "header")
        self.assertEqual((again.header.extent.x, again.header.first_plane), (3, 7))

    def test_beside_tritonclient_in_either_order(self):
        imports = ["import tritonclient.grpc", "import znni.wire"]
        for order in (imports, imports[::-1]):
            subprocess.run([sys.executable, "-c", "; ".join(order)], check=True)


if __name__ == "__main__":
    unittest.main()
