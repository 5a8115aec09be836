"""A target: an existing level with the differences of one machine."""

from __future__ import annotations

from lamina import extend

SMALL_CORE = extend.register_target("small-core", like="x86-64-v3", options="vector=128 l2=128K")
