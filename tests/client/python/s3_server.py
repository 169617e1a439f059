"""A server of objects that speaks as much of S3 as stores do: objects, ranges of them, lists, signatures."""

import contextlib
import hashlib
import hmac
import http.server
import os
import re
import sys
import threading
import urllib.parse
from unittest import mock
from xml.sax.saxutils import escape

KEY, SECRET = "AKIDTEST", "secret/key"
PAGE = 7  # names in one answer of a list


def signature_of(secret, scope, when, canonical):
    """Returns the signature of a request, as the documentation of AWS computes it."""
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def without_others(environment):
    """Returns an environment without the tester's own settings for stores: keys, servers and proxies."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("AWS_") and not name.lower().endswith("_proxy")
    }


class S3Server:
    """Has `buckets` of objects by name. All but those in `public` are for KEY and SECRET; those in `frozen` cannot be
    written to, and those in `unlisted` not listed, so that what is missing is refused. `broken` requests are answered
    by 503 before one that is not. `asked` are those that came."""

    def __init__(self):
        self.buckets = {"data": {}}
        self.public, self.frozen, self.unlisted = set(), set(), set()
        self.asked = []
        self.broken = 0

    def is_busy(self, *_):
        """Returns True if a request is answered by 503."""
        self.broken -= 1
        return self.broken >= 0

    @contextlib.contextmanager
    def served(self):
        """Yields its address. The environment names it, and KEY and SECRET, meanwhile."""
        handler = type("Handler", (_Handler,), {"of": self})
        server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        names = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        kept = without_others(os.environ)
        try:
            with mock.patch.dict(os.environ, {**kept, **names}, clear=True):
                yield address
        finally:
            server.shutdown()
            server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # of a client that was killed
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer goes in one packet: else each waits for an acknowledgement
    of: S3Server

    def log_message(self, *_):
        pass

    def _answer(self, code, data=b"", **headers):
        self.send_response(code)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _refuse(self, code, name):
        self._answer(code, f"<?xml version='1.0'?><Error><Code>{name}</Code><Message>no</Message></Error>".encode())

    def _wrong_signature(self):
        """Returns the name of what is wrong with the request's signature; "" if nothing is."""
        given = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)",
            self.headers.get("Authorization", ""),
        )
        if not given:
            return "AccessDenied"
        if given[1] != KEY:
            return "InvalidAccessKeyId"
        path, _, query = self.path.partition("?")
        names = given[3].split(";")
        canonical = "\n".join(
            [
                self.command,
                path,
                "&".join(sorted(query.split("&"))),
                *(f"{name}:{self.headers[name].strip()}" for name in names),
                "",
                given[3],
                self.headers["x-amz-content-sha256"],
            ]
        )
        found = signature_of(SECRET, given[2], self.headers["x-amz-date"], canonical)
        return "" if found == given[4] else "SignatureDoesNotMatch"

    def _do(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.of.asked.append((self.command, self.path))
        parts = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(parts.path).lstrip("/").partition("/")
        if self.of.is_busy(self.command, parts.path):
            return self._refuse(503, "SlowDown")
        wrong = "" if bucket in self.of.public else self._wrong_signature()
        if wrong:
            return self._refuse(403, wrong)
        if bucket not in self.of.buckets:
            return self._refuse(404, "NoSuchBucket")
        if self.command in ("PUT", "DELETE") and bucket in self.of.frozen:
            return self._refuse(403, "AccessDenied")
        objects = self.of.buckets[bucket]
        if bucket in self.of.unlisted and key not in objects and self.command in ("GET", "HEAD"):
            return self._refuse(403, "AccessDenied")
        if not key:
            return self._list(objects, dict(urllib.parse.parse_qsl(parts.query)))
        return self._object(objects, key, body)

    do_GET = do_HEAD = do_PUT = do_DELETE = _do

    def _object(self, objects, key, body):
        if self.command == "PUT":
            objects[key] = body
            return self._answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        if self.command == "DELETE":
            objects.pop(key, None)
            return self._answer(204)
        if key not in objects:
            return self._refuse(404, "NoSuchKey")
        data = objects[key]
        tag = f'"{hashlib.md5(data).hexdigest()}"'
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            return self._answer(200, data, ETag=tag)
        first = int(wanted[1]) if wanted[1] else max(0, len(data) - int(wanted[2]))
        last = min(int(wanted[2]), len(data) - 1) if wanted[1] and wanted[2] else len(data) - 1
        if first > last:
            return self._refuse(416, "InvalidRange")
        return self._answer(206, data[first : last + 1], ETag=tag, Content_Range=f"bytes {first}-{last}/{len(data)}")

    def _list(self, objects, query):
        after = query.get("continuation-token") or query.get("start-after", "")
        names = sorted(name for name in objects if name.startswith(query.get("prefix", "")) and name > after)
        page = names[:PAGE]
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(names) > PAGE else ""
        items = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(objects[name])}</Size></Contents>" for name in page
        )
        self._answer(
            200,
            (
                f"<?xml version='1.0'?><ListBucketResult><IsTruncated>{str(bool(more)).lower()}</IsTruncated>"
                f"{items}{more}</ListBucketResult>"
            ).encode(),
            Content_Type="application/xml",
        )
