"""Static libraries, as `ar` writes them: one object and the index of its symbols."""

from __future__ import annotations

from collections.abc import Sequence

_MAGIC = b"!<arch>\n"


def archive(name: str, obj: bytes, symbols: Sequence[str]) -> bytes:
    """A library of one member.

    Args:
        name: of the member, as `mlp.o`.
        obj: its contents.
        symbols: its definitions, for the linker.

    >>> archive("f.o", b"12345", ["f"])[:24]
    b'!<arch>\\n/               '
    """
    long_names = b"" if len(name) < 16 else f"{name}/\n".encode()
    spelled = f"{name}/" if not long_names else "/0"
    index_size = 4 + 4 * len(symbols) + sum(len(s.encode()) + 1 for s in symbols)
    before = [_member("/", b"\0" * index_size)] + ([_member("//", long_names)] if long_names else [])
    at = len(_MAGIC) + sum(map(len, before))
    index = len(symbols).to_bytes(4, "big") + at.to_bytes(4, "big") * len(symbols)
    index += b"".join(s.encode() + b"\0" for s in symbols)
    return b"".join([_MAGIC, _member("/", index), *before[1:], _member(spelled, obj)])


def _member(name: str, data: bytes) -> bytes:
    """A member: its header, in which times and owners are zero so that equal input gives equal bytes, and its contents."""
    header = f"{name:<16}{'0':<12}{'0':<6}{'0':<6}{'644':<8}{len(data):<10}`\n".encode()
    return header + data + b"\n" * (len(data) % 2)
