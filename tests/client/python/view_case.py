"""Volumes and outputs in a folder, and pages of them that are read again."""

import base64
import html.parser
import io
import json
import pathlib
import tempfile
import unittest

import numpy as np
from PIL import Image
from znni.box import Box
from znni.geometry import Geometry
from znni.stores.opening import open_target
from znni.stores.seam import OutputFacts, Source


class ArrayOfNumbers(Source):
    """Is a source of an array [C, Z, Y, X] that keeps the boxes which are read."""

    name = "volume"

    def __init__(self, array, depth=1, geometry=None, notes=None):
        self.array, self.shape, self.ndim, self.dtype = array, array.shape, array.ndim, array.dtype
        self.depth, self.geometry, self.notes = depth, geometry, notes
        self.boxes = []

    def rescale(self, scaling):
        raise AssertionError("pages show the voxels of the volume")

    def read(self, box: Box):
        self.boxes.append(box)
        return self.array[(slice(None), *(slice(a, b) for a, b in zip(*box)))]


class PageReader(html.parser.HTMLParser):
    """Takes a page apart: `texts` are those of elements by tag, `addresses` all that an attribute refers to."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.addresses, self._open = {}, [], []
        self.feed(text)
        self.data = json.loads(self.texts["script"][0])

    def handle_starttag(self, tag, attributes):
        self._open.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "data", "action", "srcset")]

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open and data.strip():
            self.texts.setdefault(self._open[-1], []).append(data)

    def pixels(self, volume=0, channel=0):
        """Returns the levels of a channel, [Z, Y, X], as another library reads the pictures."""
        slices = self.data["volumes"][volume]["channels"][channel]["slices"]
        files = [base64.b64decode(address.removeprefix("data:image/png;base64,")) for address in slices]
        return np.stack([np.asarray(Image.open(io.BytesIO(file))) for file in files])


class ViewCase(unittest.TestCase):
    """Has a folder."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.random = np.random.default_rng(5)

    def write(self, name, array, geometry=None, notes=None):
        """Writes an output [Z, Y, X] or [C, Z, Y, X] as the client does and returns its path."""
        scheme, separator, rest = name.rpartition("://")
        path = f"{scheme}{separator}{self.folder}/{rest}"
        notes = {"model": "net", **(notes or {})}
        shape = (1,) * (4 - array.ndim) + array.shape
        origin = tuple(notes.get("offset", (0, 0, 0)))
        target = open_target(path, OutputFacts(shape, array.dtype, array.ndim, None, geometry, origin, notes), True)
        target.begin()
        target.write((0, 0, 0), array.reshape(shape))
        target.finish()
        return path


def geometry(scale=(1.0, 1.0, 1.0), translation=(0.0, 0.0, 0.0), unit="nanometer"):
    return Geometry(tuple(map(float, scale)), tuple(map(float, translation)), (unit,) * 3)
