"""Units of length, by the names that formats and programs have for them."""

from __future__ import annotations

from znni.errors import InvalidError

NANOMETERS = {
    "": 1.0,
    "nm": 1.0,
    "nanometer": 1.0,
    "angstrom": 0.1,
    "um": 1e3,
    "µm": 1e3,
    "micrometer": 1e3,
    "micron": 1e3,
    "mm": 1e6,
    "millimeter": 1e6,
    "cm": 1e7,
    "centimeter": 1e7,
    "m": 1e9,
    "meter": 1e9,
}
_NAMES = ("", "nanometer", "angstrom", "micrometer", "millimeter", "centimeter", "meter")  # those of OME-NGFF
_OTHER_NAMES = {"\u03bcm": "um", "microns": "um", "pixel": "", "pixels": "", "none": "", "???": ""}
_LARGE = NANOMETERS["millimeter"]


def name_of(unit: str) -> str:
    """Returns the name that OME-NGFF has for a unit of length, whichever other one it is given; other units stay."""
    unit = unit.strip()
    unit = _OTHER_NAMES.get(unit, unit)
    size = NANOMETERS.get(unit)
    return next((name for name in _NAMES[1:] if unit and NANOMETERS[name] == size), unit)


def factor(unit: str, wanted: str) -> float:
    """Returns how many of the ``wanted`` unit one ``unit`` is; 1 if one of them is none."""
    return NANOMETERS[unit] / NANOMETERS[wanted] if unit and wanted else 1.0


def common_unit(units: tuple, name: str) -> str:
    """Returns the unit in which a file has all axes: millimeter for those from that on, else micrometer, "" if no axis
    has any. Raises InvalidError for one that is not a unit of length, of the output ``name``."""
    unknown = [unit for unit in units if unit not in NANOMETERS]
    if unknown:
        raise InvalidError(f"{name}: voxels in '{unknown[0]}' found, expected a unit of length: name an output in zarr")
    known = [NANOMETERS[unit] for unit in units if unit]
    if not known:
        return ""
    return "millimeter" if min(known) >= _LARGE else "micrometer"
