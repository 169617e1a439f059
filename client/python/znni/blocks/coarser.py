"""The coarser resolutions of a job's output, which one machine makes once all blocks are done."""

from __future__ import annotations

from znni.blocks.spec import JobSpec
from znni.blocks.work import open_output
from znni.errors import InvalidError, UnavailableError
from znni.pyramid.making import ENDING, forget, is_complete, is_pyramid, make_resolutions
from znni.stores.address import output_address
from znni.stores.formats.zarr_store import open_image
from znni.stores.places import place_of


def _path(spec: JobSpec) -> str:
    return output_address(spec.output).path


def lacks_coarser(spec: JobSpec) -> bool:
    """Returns whether the output is to have coarser resolutions, and has not."""
    path = _path(spec)
    return is_pyramid(path) and not is_complete(open_image(path), spec.output)


def forget_coarser(spec: JobSpec) -> None:
    """Takes the coarser resolutions out of the output's description, because blocks are computed again."""
    path = _path(spec)
    if is_pyramid(path):
        forget(open_image(path), spec.output)


def make_coarser(spec: JobSpec) -> None:
    """Computes the coarser resolutions of the output, also if they are there. Raises InvalidError for an output of one
    resolution, UnavailableError as long as blocks are missing. After an interruption it begins again."""
    path = _path(spec)
    if not is_pyramid(path):
        raise InvalidError(f"{spec.output}: has one resolution: only FOLDER{ENDING} gets coarser ones")
    open_output(spec)
    missing = len(spec.marks.missing(range(len(spec.grid))))
    if missing:
        raise UnavailableError(f"{spec.output}: {missing} blocks are missing: compute them first, by 'znni-job run'")
    place = place_of(path)

    def done(name: str) -> None:
        place.sync(place.all_names(name))
        open_output(spec)  # another job may have replaced it

    make_resolutions(open_image(path), spec.output, done)
