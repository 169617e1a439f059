"""Certificates and keys that TLS cannot use."""

import pathlib
import tempfile
import time
import unittest

import grpc
from made_certificate import make_certificate, openssl
from znni.calls.credentials import read_credentials
from znni.errors import InvalidError

DAY = 24 * 60 * 60


class CredentialsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.folder = pathlib.Path(held.name)
        for name, kind in (("own", "ec"), ("other", "ec"), ("rsa", "rsa:2048")):
            make_certificate(cls.folder, name, kind)
        openssl(cls.folder, "ec", "-in", "own.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")
        (cls.folder / "junk.pem").write_text("junk\n")
        (cls.folder / "cut.pem").write_bytes((cls.folder / "own.pem").read_bytes()[:200])

    def expect(self, words, *names, now=None):
        """Expects files with these names to be refused in words, in which @ is the folder."""
        paths = [name and self.folder / name for name in names]
        with self.assertRaises(InvalidError) as caught:
            read_credentials(*paths, now)
        self.assertEqual(str(caught.exception), words.replace("@", f"{self.folder}/"))

    def test_good_ones(self):
        self.assertIsNone(read_credentials(None, None, None))
        for own in (
            (None, None),
            (self.folder / "own.pem", self.folder / "own.key"),
            (str(self.folder / "rsa.pem"), str(self.folder / "rsa.key")),
        ):
            self.assertIsInstance(read_credentials(self.folder / "other.pem", *own), grpc.ChannelCredentials)

    def test_what_goes_together(self):
        own, key = self.folder / "own.pem", self.folder / "own.key"
        for paths in ((None, own, key), (None, own, None), (own, own, None), (own, None, key)):
            with self.assertRaisesRegex(ValueError, "expected all three"):
                read_credentials(*paths)

    def test_files_that_are_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError, "none.pem"):
            read_credentials(self.folder / "none.pem", None, None)

    def test_roots_that_are_no_certificates(self):
        for name in ("junk.pem", "cut.pem"):
            self.expect(
                f"tls_root_cert @{name}: no certificate that can be read found, expected PEM of a certificate "
                "of an authority",
                name,
                None,
                None,
            )
        self.expect(
            "tls_root_cert @own.key: a private key found, expected PEM of a certificate of an authority",
            "own.key",
            None,
            None,
        )

    def test_roots_that_are_out_of_date(self):
        words = "^tls_root_cert .*own.pem: a certificate that {} .* GMT found, expected a valid one$"
        for days, fault in ((3, "expired on"), (-1, "is not valid before")):
            with self.assertRaisesRegex(InvalidError, words.format(fault)):
                read_credentials(self.folder / "own.pem", None, None, time.time() + days * DAY)

    def test_certificates_that_are_none(self):
        self.expect(
            "tls_cert @junk.pem: no certificate that can be read found, expected PEM of a certificate",
            "own.pem",
            "junk.pem",
            "own.key",
        )
        self.expect(
            "tls_cert @own.key: a private key found, expected PEM of a certificate", "own.pem", "own.key", "own.key"
        )

    def test_keys_of_other_certificates(self):
        for name in ("other.key", "rsa.key"):
            self.expect(
                f"tls_key @{name}: the key of another certificate found, expected that of tls_cert @own.pem",
                "own.pem",
                "own.pem",
                name,
            )

    def test_keys_that_are_none(self):
        for name in ("junk.pem", "own.pem", "locked.key"):
            self.expect(
                f"tls_key @{name}: no private key that can be read found, expected one as PEM, without a passphrase",
                "own.pem",
                "own.pem",
                name,
            )


if __name__ == "__main__":
    unittest.main()
