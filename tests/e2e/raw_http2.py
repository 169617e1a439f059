"""Makes HTTP/2 frames by hand, for clients that do what no library would."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 2, 3, 4, 6, 8
UNKNOWN = 0x20  # a kind that no document gives a meaning
ACK = 1
END_STREAM, END_HEADERS = 1, 4
CANCEL = 8


def frame(kind, flags, stream, payload=b""):
    """Returns one frame."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


# The preface, and an empty SETTINGS frame.
BEGIN = PREFACE + frame(SETTINGS, 0, 0)
# The answer to a SETTINGS frame.
SETTINGS_TAKEN = frame(SETTINGS, ACK, 0)
# Settings of a client that takes no byte of any message.
NO_WINDOW = frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0")


def literal(name, value):
    """Returns a header field as text, which enters no table. `name` may be a number of the static table."""
    named = bytes([name]) if isinstance(name, int) else b"\0" + bytes([len(name)]) + name.encode()
    return named + bytes([len(value)]) + value.encode()


def request_headers(path):
    """Returns the header block of a gRPC call."""
    return (
        b"\x83\x86"
        + literal(4, path)
        + literal(1, "localhost")
        + literal("te", "trailers")
        + literal("content-type", "application/grpc")
    )


def calls_left_open(path, first, count):
    """Returns the headers of `count` calls whose messages never come."""
    headers = request_headers(path)
    return b"".join(frame(HEADERS, END_HEADERS, 2 * number + 1, headers) for number in range(first, first + count))


def calls_made(path, first, count):
    """Returns the frames of `count` calls, each with an empty message."""
    headers = request_headers(path)
    return b"".join(
        frame(HEADERS, END_HEADERS, 2 * number + 1, headers) + frame(DATA, END_STREAM, 2 * number + 1, bytes(5))
        for number in range(first, first + count)
    )


def calls_taken_back(path, first, count):
    """Returns the frames of `count` calls, each reset right after its headers."""
    headers = request_headers(path)
    reset = CANCEL.to_bytes(4, "big")
    return b"".join(
        frame(HEADERS, END_HEADERS, 2 * number + 1, headers) + frame(RST_STREAM, 0, 2 * number + 1, reset)
        for number in range(first, first + count)
    )
