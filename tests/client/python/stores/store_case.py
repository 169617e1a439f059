"""Servers of volumes for tests: of objects, and of the files of a folder."""

import contextlib
import functools
import http.server
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
from s3_server import S3Server
from znni.box import Box
from znni.stores import remote
from znni.stores.opening import open_source, open_target
from znni.stores.seam import OutputFacts

SHAPE = (1, 70, 20, 10)
VOXELS = np.random.default_rng(1).random(SHAPE, np.float32)
OUTPUTS = ("{}/v.zarr", "{}/c.n5/raw", "precomputed://{}/p")  # of a folder or an address


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves files as the server of Python's library does; /forbidden is refused."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.startswith("/forbidden"):
            return self.send_error(403)
        return super().do_GET()


class StoreCase(unittest.TestCase):
    """Has a server of objects `s3`, and gives up soon."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.s3 = S3Server()
        self.objects = self.s3.buckets["data"]
        self.enterContext(self.s3.served())
        quick = {"max_retries": 3, "initial_delay": "1ms", "max_delay": "2ms"}
        self.enterContext(mock.patch.object(remote, "_RETRIES", quick))

    @contextlib.contextmanager
    def served(self):
        """Yields the address of the folder's files."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(self.folder)))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()

    @staticmethod
    def facts(version=3, dtype="<f4"):
        return OutputFacts(SHAPE, np.dtype(dtype), 3, version, None, (0, 0, 0), {"model": "net", "job": "7"})

    def write(self, path, version=3, voxels=VOXELS):
        """Writes an output."""
        target = open_target(path, self.facts(version, voxels.dtype.newbyteorder("<")), False)
        target.begin()
        target.write((0, 0, 0), voxels)
        target.finish()

    @staticmethod
    def read(path):
        """Returns the voxels of a volume."""
        with open_source(path) as source:
            return source.read(Box((0, 0, 0), source.shape[1:]))
