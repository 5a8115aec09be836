"""A target: a level that exists, and how one machine differs from it."""

from __future__ import annotations

from lamina import extend

SMALL_CORE = extend.register_target("small-core", like="x86-64-v3", options="vector=128 l2=128K")
