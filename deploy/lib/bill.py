"""Writes the bill of materials of an image (CycloneDX, JSON): its Debian packages with their licences, which debsbom
finds, and the libraries of CUDA that no package installed.
Usage: bill.py SYSTEM.tar NAME VERSION SECONDS, the time of the bill since 1970; prints the bill.
The environment's `debsbom` makes it (deploy/packages/bill.txt)."""

import datetime
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import uuid

CUDA = re.compile(r"^(?:\./)?usr/local/cuda/lib64/(lib[^/]+)\.so\.(\d[^/]*)$")


def debian_bill(system, name, version, time):
    """Returns the bill of the Debian packages, as debsbom makes it. The same system at the same time gives the same."""
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{name}@{version}@{time.timestamp()}")
    command = [str(pathlib.Path(sys.executable).parent / "debsbom"), "generate", "-t", "cdx", "-o", "-", "-r", "-"]
    command += ["--with-licenses", "--distro-name", name, "--distro-version", version]
    command += ["--timestamp", time.isoformat(), "--cdx-serialnumber", str(serial)]
    with open(system, "rb") as archive:
        done = subprocess.run(command, stdin=archive, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bill: {system}: debsbom failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def cuda_libraries(system):
    """Returns a component for each library of CUDA, by a file name with its version: libcufft.so.12.0.0.61."""
    with tarfile.open(system) as archive:
        names = sorted(member.name for member in archive if member.isfile())
    found = [match.groups() for match in map(CUDA.match, names) if match]
    return [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:generic/{name}@{version}",
            "licenses": [{"license": {"name": "NVIDIA CUDA Toolkit End User License Agreement"}}],
        }
        for name, version in found
    ]


def main(system, name, version, seconds):
    time = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    bill = debian_bill(system, name, version, time)
    bill["components"] += cuda_libraries(system)
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: bill.py SYSTEM.tar NAME VERSION SECONDS")
    main(*sys.argv[1:])
