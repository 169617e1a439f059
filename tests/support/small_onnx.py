"""ONNX models of nodes without weights, written byte by byte: no package is needed."""


def field(number, value):
    """Returns a protobuf field: a varint for an int, else its length and its bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def chain(*operators, channels=1, axes=3):
    """Returns a model of operators, each of which reads the one before; nodes are called n0, n1, ..."""
    nodes = b"".join(
        field(1, field(1, f"t{i - 1}" if i else "in") + field(2, f"t{i}") + field(3, f"n{i}") + field(4, operator))
        for i, operator in enumerate(operators)
    )
    dims = b"".join(field(1, field(1, extent) if extent else field(2, "n")) for extent in (0, channels, *[0] * axes))
    tensor = field(1, field(1, 1) + field(2, dims))
    ends = field(11, field(1, "in") + field(2, tensor)) + field(12, field(1, f"t{len(operators) - 1}"))
    return field(1, 7) + field(7, nodes + field(2, "chain") + ends) + field(8, field(1, "") + field(2, 13))
