"""Certificates and keys, made when they are needed."""

import subprocess


def openssl(folder, *words):
    """Runs openssl in a folder."""
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_certificate(folder, name, kind="ec"):
    """Makes NAME.pem, which is signed by itself and valid for two days, and NAME.key."""
    curve = ["-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else []
    openssl(
        folder,
        "req",
        "-x509",
        "-newkey",
        kind,
        *curve,
        "-nodes",
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.pem",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
    )
