"""Servers of volumes for tests: of objects, and of the files of a folder."""

import contextlib
import functools
import http.server
import pathlib
import re
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
    """Serves files as the server of Python's library does, and ranges of them; /forbidden is refused. `state` says
    whether ranges are known, and how many requests are answered by 503 before one that is not."""

    def __init__(self, *arguments, state, **options):
        self.state = state
        super().__init__(*arguments, **options)

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.startswith("/forbidden"):
            return self.send_error(403)
        if self.state["broken"]:
            self.state["broken"] -= 1
            return self.send_error(503)
        path = pathlib.Path(self.translate_path(self.path))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not self.state["ranges"] or not wanted or not path.is_file():
            return super().do_GET()
        return self._send_range(path.read_bytes(), int(wanted[1]), wanted[2])

    def _send_range(self, data, first, last):
        if first >= len(data):
            return self.send_error(416)
        part = data[first : int(last) + 1] if last else data[first:]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)


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
    def served(self, ranges=True, broken=0):
        """Yields the address of the folder's files."""
        state = {"ranges": ranges, "broken": broken}
        files = functools.partial(Files, directory=str(self.folder), state=state)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), files)
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
