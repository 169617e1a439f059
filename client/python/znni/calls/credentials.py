"""Certificates and key for TLS, read and checked: gRPC would say of wrong ones that nothing answers."""

from __future__ import annotations

import os
import ssl
import time
from typing import Any

import grpc

from znni.errors import InvalidError

_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")


def read_credentials(root: Any, certificate: Any, key: Any, now: float | None = None) -> grpc.ChannelCredentials | None:
    """Returns what TLS needs of these PEM files; None without ``root``.

    Raises InvalidError for files that TLS cannot use at ``now``, and what reading raises.
    """
    if (certificate is None) != (key is None) or (root is None and key is not None):
        raise ValueError("tls_cert or tls_key found alone or without tls_root_cert, expected all three")
    if root is None:
        return None
    texts = [_read(path) for path in (root, key, certificate)]
    _check_root(root, time.time() if now is None else now)
    if certificate is not None:
        _check_own(certificate, key)
    return grpc.ssl_channel_credentials(*texts)


def _read(path: str | os.PathLike | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")  # whether a key is strong enough is for gRPC to say
    return context


def _check_certificates(name: str, path: Any, expected: str) -> ssl.SSLContext:
    """Raises InvalidError if the file holds no certificates, or one that cannot be read."""
    context = _context()
    try:
        context.load_verify_locations(cafile=path)
    except ssl.SSLError:
        held = "a private key" if b" PRIVATE KEY-----" in (_read(path) or b"") else "no certificate that can be read"
        raise InvalidError(f"{name} {os.fspath(path)}: {held} found, expected {expected}") from None
    return context


def _check_root(path: Any, now: float) -> None:
    """Raises InvalidError also if the authorities are known to be out of date, all of them."""
    authorities = _check_certificates("tls_root_cert", path, "PEM of a certificate of an authority").get_ca_certs()
    faults = [_fault(authority, now) for authority in authorities]
    if faults and all(faults):
        raise InvalidError(
            f"tls_root_cert {os.fspath(path)}: a certificate that {faults[0]} found, expected a valid one"
        )


def _fault(certificate: dict[str, Any], now: float) -> str:
    if now < ssl.cert_time_to_seconds(certificate["notBefore"]):
        return f"is not valid before {certificate['notBefore']}"
    return f"expired on {certificate['notAfter']}" if now >= ssl.cert_time_to_seconds(certificate["notAfter"]) else ""


def _check_own(certificate: Any, key: Any) -> None:
    """Raises InvalidError if the file holds no certificate, or ``key`` is not its key."""
    _check_certificates("tls_cert", certificate, "PEM of a certificate")
    try:
        _context().load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        if error.reason in _OTHER_KEY:
            raise InvalidError(
                f"tls_key {os.fspath(key)}: the key of another certificate found, expected that of "
                f"tls_cert {os.fspath(certificate)}"
            ) from None
        raise InvalidError(
            f"tls_key {os.fspath(key)}: no private key that can be read found, expected one as PEM, "
            "without a passphrase"
        ) from None
