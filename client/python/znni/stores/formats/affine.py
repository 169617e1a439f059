"""Affine matrices, as the formats of medical images have them: from voxel (x, y, z, 1) to a place in space."""

from __future__ import annotations

import numpy as np

from znni.errors import InvalidError
from znni.geometry import Frame, Geometry
from znni.stores.formats.units import factor


def geometry_of_affine(affine: np.ndarray, unit: str, is_body: bool, name: str) -> Geometry:
    """Returns the geometry of a matrix of three rows and four columns. Its scale and translation are along the volume's
    own axes, whichever way they lead. Raises InvalidError, with the ``name`` of the field, if it is none of a volume.
    """
    matrix = np.asarray(affine, np.float64)[:3]
    sizes = np.linalg.norm(matrix[:, :3], axis=0) if np.isfinite(matrix).all() else np.zeros(3)
    if sizes.min() <= 0 or abs(np.linalg.det(matrix[:, :3] / np.maximum(sizes, 1e-300))) < 1e-6:
        rows = "; ".join(" ".join(f"{n:g}" for n in row) for row in matrix)
        raise InvalidError(f"{name}: {rows} found, expected three directions that span space, of lengths above 0")
    along = np.linalg.solve(matrix[:, :3] / sizes, matrix[:, 3])
    is_own = np.array_equal(matrix[:, :3], np.diag(sizes))
    frame = None if is_own and not is_body else Frame(tuple(tuple(row) for row in matrix.tolist()), is_body)
    scale, translation = (tuple(part[::-1].tolist()) for part in (sizes, along))
    return Geometry(scale, translation, (unit,) * 3, frame)


def affine_of(geometry: Geometry, unit: str) -> np.ndarray:
    """Returns the matrix of four rows and columns of a geometry, in ``unit``."""
    if geometry.frame is not None:
        rows = np.array(geometry.frame.matrix)
    else:
        rows = np.column_stack([np.diag(geometry.scale[::-1]), geometry.translation[::-1]])
    factors = [factor(own, unit) for own in reversed(geometry.units)]
    return np.vstack([rows * np.array(factors)[:, None], [0.0, 0.0, 0.0, 1.0]])
