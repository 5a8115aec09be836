"""The file of measurements: it is used if it is complete and about this machine, and ignored otherwise."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from lamina.codegen import cache
from lamina.codegen.targets import TARGETS, get, host, measured
from lamina.codegen.targets.host import detect

HERE = replace(TARGETS["x86-64-v3"], tune="znver3", l3_bytes=32 << 20)
FOUND = replace(HERE, tile=(4, 3), div=(5, 7), stream_bytes=0, wake_ops=1 << 17)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An object cache of the test's own."""
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("LAMINA_CACHE", "1")
    monkeypatch.delenv("LAMINA_MACHINE", raising=False)
    monkeypatch.delenv("LAMINA_TARGET", raising=False)
    return tmp_path


def why_ignored(text: str | None = None) -> str:
    with pytest.raises(measured.IgnoredError) as caught:
        measured.read(HERE) if text is None else measured.parse(text, HERE)
    return str(caught.value)


def test_what_is_written_is_read_back():
    place = measured.write(FOUND, HERE, "a note\nof two lines")
    assert place is not None and place == measured.path() and place.is_relative_to(os.environ["LAMINA_CACHE_DIR"])
    assert "target: host{tile=4x3 div=5/7 stream=0 wake=128K}\n# a note\n# of two lines\n" in place.read_text()
    assert measured.read(HERE) == FOUND == measured.refined(HERE)
    assert get(str(measured.read(HERE))) == FOUND
    assert cache.untrusted(place.parent.lstat()) == "" and not place.stat().st_mode & 0o077


def test_nothing_better_was_found():
    measured.write(HERE, HERE)
    assert measured.read(HERE) == HERE


def test_there_is_no_file():
    assert "there is no " in why_ignored()
    assert measured.refined(HERE) is HERE


@pytest.mark.parametrize("word", ["off", "0", "no", "False"])
def test_it_can_be_turned_off(monkeypatch, word):
    measured.write(FOUND, HERE)
    monkeypatch.setenv("LAMINA_MACHINE", word)
    assert "LAMINA_MACHINE" in why_ignored()
    assert measured.refined(HERE) is HERE


def test_no_cache_no_file(monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    assert measured.write(FOUND, HERE) is None
    assert "the object cache is off" in why_ignored()


@pytest.mark.parametrize(
    "other", [{"tune": "znver4"}, {"features": "+gfni"}, {"l2_bytes": 1 << 20}, {"l3_bytes": 0}, {"vector_bits": 128}]
)
def test_another_machine(other):
    measured.write(FOUND, HERE)
    there = replace(HERE, **other)
    assert measured.refined(there) is there
    with pytest.raises(measured.IgnoredError, match="it is about another machine: machine is "):
        measured.read(there)


def test_another_number_of_cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    measured.write(FOUND, HERE)
    monkeypatch.setattr(os, "cpu_count", lambda: 1000)
    assert why_ignored() == "it is about another machine: cores is 1000 here, 3 there"


TEXT = measured.text_of(FOUND, HERE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not begin with '# lamina machine 1'"),
        (TEXT.replace("machine 1", "machine 0"), "does not begin with"),
        (TEXT[: TEXT.index("target:")], "does not say target:"),
        (TEXT.replace("cores: ", "cores "), "has a line 'cores "),
        (TEXT + "cores: 2\n", "has a line 'cores: 2'"),
        (TEXT + "path: /tmp\n", "has a line 'path: /tmp'"),
        (TEXT.replace("host{", "x86-64-v3{"), "its target is 'x86-64-v3{"),
        (TEXT.replace("}\n#", "\n#").rstrip("}\n"), "its target is"),
        (TEXT.replace("tile=4x3", "tile=9x9"), "tile=9x9 needs 91 registers"),
        (TEXT.replace("tile=4x3", "tiles=4x3"), "option 'tiles=4x3' is none that is measured"),
        (TEXT.replace("tile=4x3", "cpu=znver5"), "option 'cpu=znver5' is none that is measured"),
        (TEXT.replace("tile=4x3", "features=+avx512f"), "option 'features=.avx512f' is none"),
        (TEXT.replace("tile=4x3", "vector=512"), "vector=512 is wider"),
        (TEXT.replace("div=5/7", "div=5"), "div= takes multiply-adds for f32 / f64"),
        (TEXT.replace("div=5/7", "div=0/7"), "div= takes"),
        (TEXT.replace("div=5/7", "div=__import__('os')"), "div= takes"),
    ],
)
def test_a_damaged_file(text, reason):
    assert text != TEXT
    with pytest.raises(measured.IgnoredError, match=reason):
        measured.parse(text, HERE)


def test_bytes_that_are_no_text():
    place = measured.write(FOUND, HERE)
    place.write_bytes(b"\xff\x00" * 100)
    assert "does not begin with" in why_ignored()
    place.write_bytes(TEXT.encode() + b"#" * (1 << 17))
    assert "is too long" in why_ignored()


def test_a_file_that_others_may_write():
    place = measured.write(FOUND, HERE)
    place.chmod(0o622)
    assert "may be written by others" in why_ignored()
    place.chmod(0o600)
    assert measured.read(HERE) == FOUND
    place.parent.chmod(0o755)
    assert "cannot be trusted" in why_ignored()


def test_a_link():
    place = measured.write(FOUND, HERE)
    place.rename(place.with_suffix(".other"))
    place.symlink_to(place.with_suffix(".other"))
    assert "cannot be read" in why_ignored()


def test_the_host_is_as_measured(monkeypatch):
    here = detect()
    rows, vectors = here.tile
    found = replace(here, tile=(rows - 1, vectors), sqrt=(77, 99))
    measured.write(found, here)
    assert host.__wrapped__() == found
    monkeypatch.setenv("LAMINA_TARGET", "host{sqrt=5/6}")
    assert host.__wrapped__() == replace(found, sqrt=(5, 6))
    monkeypatch.setenv("LAMINA_TARGET", here.name)
    assert host.__wrapped__().sqrt == TARGETS[here.name].sqrt
    monkeypatch.delenv("LAMINA_TARGET")
    monkeypatch.setenv("LAMINA_MACHINE", "off")
    assert host.__wrapped__() == here
