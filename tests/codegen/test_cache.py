"""The object cache: what was put comes back, and nothing else ever does."""

from __future__ import annotations

import multiprocessing
import os
import random
import stat
import time
import warnings

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.codegen import cache
from lamina.codegen.cache import ObjectCache, decode, encode, key_of

OBJ, META = bytes(range(256)) * 5, {"signature": {"name": "f"}, "n": [1, 2.5, None, "ü"]}


@pytest.fixture
def store(tmp_path):
    return ObjectCache(tmp_path)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LAMINA_CACHE", raising=False)
    cache._open.cache_clear()
    yield tmp_path
    cache._open.cache_clear()


def test_round_trip(store):
    assert store.get("key") is None
    store.put("key", OBJ, META)
    assert store.get("key") == cache.Entry(OBJ, META)
    assert store.get("other") is None
    store.put("key", b"", {})
    assert store.get("key") == cache.Entry(b"", {})


def test_module_functions(environment):
    assert cache.get("k") is None
    cache.put("k", OBJ, META)
    assert cache.get("k") == cache.Entry(OBJ, META)
    cache.put("k2", OBJ)
    assert cache.get("k2").meta == {}
    directory = environment / "objects-1"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in directory.iterdir()} == {0o600}


@pytest.mark.parametrize("off", ["0", "off", "False"])
def test_switched_off(environment, monkeypatch, off):
    monkeypatch.setenv("LAMINA_CACHE", off)
    cache.put("k", OBJ, META)
    assert cache.get("k") is None and not list(environment.iterdir())


def refused(reason):
    cache._open.cache_clear()
    with pytest.warns(RuntimeWarning, match=reason) as caught:
        assert cache.get("k") is None
        cache.put("k", OBJ, META)
        assert cache.get("k") is None
    assert len(caught) == 1


def test_directory_open_to_others_is_refused(environment):
    (environment / "objects-1").mkdir(mode=0o755)
    (environment / "objects-1").chmod(0o755)
    refused("others have access")


def test_directory_of_another_user_is_refused(environment, monkeypatch):
    (environment / "objects-1").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    refused("belongs to another user")


def test_link_or_file_instead_of_a_directory_is_refused(environment, tmp_path_factory):
    (environment / "objects-1").symlink_to(tmp_path_factory.mktemp("real"))
    refused("not a directory")
    (environment / "objects-1").unlink()
    (environment / "objects-1").write_text("")
    refused("objects-1")


def test_place_that_cannot_be_made(environment, monkeypatch):
    (environment / "file").write_text("")
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(environment / "file" / "below"))
    refused("Not a directory")


def test_default_places(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache._default_root() == "/x/lamina"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache._default_root() == "/home/me/.cache/lamina"


# Damage


def test_every_flipped_byte_is_a_miss():
    data = encode("key", OBJ[:200], META)
    assert decode("key", data)
    for position in range(len(data)):
        for bit in (0x01, 0x80):
            damaged = bytearray(data)
            damaged[position] ^= bit
            assert decode("key", bytes(damaged)) is None, position


def test_every_truncation_is_a_miss():
    data = encode("key", OBJ[:200], META)
    for length in range(len(data)):
        assert decode("key", data[:length]) is None
    assert decode("key", data + b"\0") is None


@given(st.binary(max_size=300))
def test_noise_is_a_miss(noise):
    assert decode("key", noise) is None
    assert decode("key", cache._MAGIC + noise) is None


@settings(max_examples=200)
@given(st.text(), st.binary(), st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_encoding_round_trip(key, obj, meta):
    assert decode(key, encode(key, obj, meta)) == cache.Entry(obj, meta)
    assert decode(key + "x", encode(key, obj, meta)) is None


def test_well_summed_but_foreign_header_is_a_miss():
    import hashlib
    import struct

    for header in (b"", b"[]", b"{}", b'{"key": "key"}', b'{"key": "key", "meta": 3}', b"[" * 100_000, b"\xff"):
        body = struct.pack("<I", len(header)) + header
        assert decode("key", cache._MAGIC + hashlib.sha256(cache._MAGIC + body).digest() + body) is None


def test_damaged_files(store):
    rng = random.Random(0)
    for _ in range(200):
        store.put("key", OBJ, META)
        data = bytearray(store.path("key").read_bytes())
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] ^= rng.randint(1, 255)
        store.path("key").write_bytes(data)
        assert store.get("key") is None


def test_files_that_are_not_ours(store, tmp_path):
    store.put("key", OBJ, META)
    path = store.path("key")
    path.chmod(0o622)
    assert store.get("key") is None
    path.unlink()
    path.mkdir()
    assert store.get("key") is None
    store.put("key", OBJ, META)  # cannot replace a directory: silently not kept
    assert not [p for p in tmp_path.iterdir() if p.is_file()]
    path.rmdir()
    (tmp_path / "elsewhere").write_bytes(encode("key", OBJ, META))
    path.symlink_to(tmp_path / "elsewhere")
    assert store.get("key") is None
    path.unlink()
    os.mkfifo(path)
    assert store.get("key") is None


def test_metadata_must_be_json(store):
    with pytest.raises(TypeError):
        store.put("key", OBJ, {"x": object()})


def test_directory_that_vanishes(store, tmp_path):
    store.directory = tmp_path / "gone"
    store.put("key", OBJ, META)
    assert store.get("key") is None
    store.sweep()


# Size


def test_longest_unused_go_first(tmp_path):
    store = ObjectCache(tmp_path, limit_bytes=11_000)
    store._puts = 1  # a number drawn at random says which put sweeps: none of these
    now = time.time()
    for i in range(12):
        store.put(f"k{i}", bytes(1000), {})
        os.utime(store.path(f"k{i}"), (now - 1000 + i, now - 1000 + i))
    assert store.get("k0")  # used now
    store.sweep()
    kept = [i for i in range(12) if store.get(f"k{i}")]
    assert 0 in kept and 11 in kept and 1 not in kept and 5 <= len(kept) <= 9


def test_put_sweeps(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_PUTS_PER_SWEEP", 4)
    store = ObjectCache(tmp_path, limit_bytes=20_000)
    for i in range(100):
        store.put(f"k{i}", bytes(1000), {})
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) < 26_000
    store.put("big", bytes(30_000), {})
    assert store.get("big") is None


def test_few_processes_sweep_at_their_first_put(tmp_path, monkeypatch):
    swept = []
    monkeypatch.setattr(ObjectCache, "sweep", lambda self: swept.append(self))
    for first, sweeps in ((0, 1), (1, 0), (63, 0)):
        swept.clear()
        monkeypatch.setattr(cache.os, "urandom", lambda n, first=first: bytes([first]))
        store = ObjectCache(tmp_path)
        store.put("k", b"x", {})
        assert len(swept) == sweeps
        for i in range(64):
            store.put(f"k{i}", b"x", {})
        assert len(swept) == sweeps + 1


def test_abandoned_files_are_removed(store, tmp_path):
    (tmp_path / "tmpold").write_bytes(b"x")
    (tmp_path / "tmpnew").write_bytes(b"x")
    os.utime(tmp_path / "tmpold", (1, 1))
    store.sweep()
    assert [p.name for p in tmp_path.iterdir()] == ["tmpnew"]


def _hammer(directory, seed):
    store, rng = ObjectCache(directory, limit_bytes=200_000), random.Random(seed)
    for _ in range(300):
        n = rng.randrange(20)
        if rng.random() < 0.5:
            store.put(f"k{n}", bytes([n]) * 20_000, {"n": n})
        elif rng.random() < 0.1:
            store.sweep()
        entry = store.get(f"k{n}")
        if entry is not None and (entry.obj != bytes([n]) * 20_000 or entry.meta != {"n": n}):
            os._exit(1)


def test_concurrent_processes(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=_hammer, args=(tmp_path, seed)) for seed in range(4)]
        for worker in workers:
            worker.start()
    for worker in workers:
        worker.join()
    assert [w.exitcode for w in workers] == [0] * 4


def test_key_of():
    keys = {key_of(), key_of(""), key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of("abc", "")}
    assert len(keys) == 6 and key_of("abc") == key_of("abc")


def test_a_large_program_is_found_whether_its_module_is_consumed_or_not(environment):
    def layers(x, weights):
        for w in weights:
            x = lnp.tanh(x @ w * 0.5 + 1.0)
        return x

    x, weights = np.ones((2, 3), np.float32), [np.full((3, 3), 0.1 * k, np.float32) for k in range(50)]
    compiled = lm.jit(layers)
    result = compiled(x, weights)
    expected = x
    for w in weights:
        expected = np.tanh(expected @ w * np.float32(0.5) + np.float32(1))
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    lowered = compiled.lower(x, weights)
    text = lowered.as_text()
    kept = sorted(path.name for path in environment.rglob("*") if path.is_file())
    np.testing.assert_array_equal(lowered.compile()(x, weights), result)
    assert kept and kept == sorted(path.name for path in environment.rglob("*") if path.is_file())
    assert lowered.as_text() == text and "graph.call" not in text
