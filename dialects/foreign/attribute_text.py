"""Attributes and types of StableHLO: kept as the text between their brackets, and read as Python values when they are needed.

    #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>     {"offset_dims": [1], "index_vector_dim": 1}
    #stablehlo<comparison_direction LT>                            "LT"

Upstream has thirty attributes with a syntax each; all are lists of `key = value`, or one word. Their text is printed as it was
read, so those that nobody here knows survive.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, TypeAttribute

PREFIXES = ("stablehlo", "chlo", "mhlo", "vhlo", "sdy", "quant", "check")
"""The dialects whose attributes and types are kept as text."""

_TOKEN = re.compile(r"\s*(->|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\"[^\"]*\"|[#!@]?[A-Za-z_][\w.$]*|[^\s\w])")


class AttributeTextError(ValueError):
    """The text of an attribute is no list of `key = value`."""


@cache
def _class(name: str, is_type: bool) -> type[UnregisteredAttr]:
    return UnregisteredAttr.with_name_and_type(name, is_type)


class ForeignContext(Context):
    """A context in which the attributes and types of these dialects are read as text."""

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        found = super().get_optional_attr(name)
        return _class(name, False) if found is None and name.partition(".")[0] in PREFIXES else found

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        found = super().get_optional_type(name)
        made: Any = _class(name, True) if found is None and name.partition(".")[0] in PREFIXES else found
        return made

    def clone(self) -> ForeignContext:
        copy = ForeignContext(self.allow_unregistered)
        copy.__dict__.update(super().clone().__dict__)
        return copy


def enumerated(name: str, word: str) -> Attribute:
    """`#stablehlo<comparison_direction LT>` of the name `stablehlo.comparison_direction` and a word."""
    return _class(name, False)(name, False, True, f" {word}")


def structured(name: str, body: str) -> Attribute:
    """`#stablehlo.gather<...>` of the name `stablehlo.gather` and the text in brackets."""
    return _class(name, False)(name, False, False, body)


TOKEN_TYPE = _class("stablehlo.token", True)("stablehlo.token", True, False, "")
"""`!stablehlo.token`."""


def value_of(attribute: Attribute | None) -> Any:
    """An attribute as a Python value: numbers, bools, words, lists and dicts of them; None for a missing one.

    Raises:
        AttributeTextError: the text of the attribute is malformed, or the attribute has no such value.
    """
    if attribute is None:
        return None
    if isinstance(attribute, UnregisteredAttr):
        text = attribute.value.data.strip()
        return text if attribute.is_opaque.data and "=" not in text else fields(text)
    if isinstance(attribute, IntegerAttr):
        is_bool = isinstance(attribute.type, IntegerType) and attribute.type.width.data == 1
        return bool(attribute.value.data) if is_bool else attribute.value.data
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, SymbolRefAttr):
        return attribute.root_reference.data
    if isinstance(attribute, DenseArrayBase):
        values = attribute.get_values()
        is_bools = isinstance(attribute.elt_type, IntegerType) and attribute.elt_type.width.data == 1
        return [bool(v) for v in values] if is_bools else list(values)
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        return _nested(list(attribute.get_values()), list(attribute.get_shape()))
    if isinstance(attribute, ArrayAttr):
        return [value_of(item) for item in attribute]
    if isinstance(attribute, DictionaryAttr):
        return {key: value_of(item) for key, item in attribute.data.items()}
    if isinstance(attribute, UnitAttr):
        return True
    raise AttributeTextError(f"attribute {attribute} has no value that is known here")


def _nested(values: list[Any], shape: list[int]) -> Any:
    if not shape:
        return values[0]
    for size in reversed(shape[1:]):
        values = [values[k : k + size] for k in range(0, len(values), size)] if size else [[] for _ in range(shape[0])]
    return values


def fields(text: str) -> dict[str, Any]:
    """The keys and values of the text of an attribute.

    >>> fields("offset_dims = [1], index_vector_dim = 1")
    {'offset_dims': [1], 'index_vector_dim': 1}

    Raises:
        AttributeTextError: the text is no list of `key = value`.
    """
    reader = _Reader(text)
    found: dict[str, Any] = {}
    while not reader.at_end():
        key = reader.take()
        reader.expect("=")
        found[key] = reader.value()
        if not reader.at_end():
            reader.expect(",")
    return found


class _Reader:
    """Reads values from the text of an attribute."""

    def __init__(self, text: str):
        self.tokens = _TOKEN.findall(text)
        self.text, self.at = text, 0

    def at_end(self) -> bool:
        return self.at == len(self.tokens)

    def take(self) -> str:
        if self.at_end():
            raise AttributeTextError(f"attribute <{self.text}> ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self) -> str:
        return "" if self.at_end() else self.tokens[self.at]

    def expect(self, token: str) -> None:
        if (got := self.take()) != token:
            raise AttributeTextError(f"attribute <{self.text}> needs '{token}' before '{got}'")

    def value(self) -> Any:
        token = self.take()
        if token in "[(":
            closing, items = {"[": "]", "(": ")"}[token], []
            while self.peek() != closing:
                items.append(self.value())
                if self.peek() != closing:
                    self.expect(",")
            self.take()
            return items
        if token.startswith("#") or (self.peek() == "<" and token[0].isalpha()):
            words: list[str] = []
            if self.peek() == "<":
                depth = 0
                while not words or depth:
                    word = self.take()
                    depth += (word == "<") - (word == ">")
                    words.append(word)
            return " ".join(words[1:-1]) if words else token
        if re.fullmatch(r"-?\d+", token):
            return int(token)
        if re.fullmatch(r"-?\d.*", token):
            return float(token)
        return {"true": True, "false": False}.get(token, token.strip('"'))
