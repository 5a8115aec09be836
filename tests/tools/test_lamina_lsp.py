"""The language server, asked by a real client over standard input and output; what it knows of a text; colours."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from lamina.tools.lamina_opt import main
from lamina.tools.language_text import Document

sys.path.insert(0, str(Path(__file__).parent))
from language_server_fuzz import faults_of, session

TEXT = """// RUN: lamina-opt %s -p graph-
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32>
  %z = graph.
  return %y : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
GOOD = TEXT.replace("  %z = graph.\n", "")
URI = "file:///session/model.mlir"


async def _session() -> dict[str, Any]:
    from lsprotocol import types as lsp
    from pygls.lsp.client import LanguageClient

    client = LanguageClient("tests", "1")
    reports: asyncio.Queue[list[lsp.Diagnostic]] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: lsp.PublishDiagnosticsParams) -> None:
        reports.put_nowait(list(params.diagnostics))

    await client.start_io(sys.executable, "-m", "lamina.tools.lamina_lsp")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "mlir", 1, TEXT)))
    found: dict[str, Any] = {"at first": await reports.get()}
    at = lsp.TextDocumentIdentifier(URI)
    found["completion"] = await client.text_document_completion_async(lsp.CompletionParams(at, lsp.Position(3, 13)))
    whole = lsp.TextDocumentContentChangeWholeDocument(GOOD)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, URI), [whole]))
    found["mended"] = await reports.get()
    found["op"] = await client.text_document_hover_async(lsp.HoverParams(at, lsp.Position(2, 10)))
    found["value"] = await client.text_document_hover_async(lsp.HoverParams(at, lsp.Position(3, 10)))
    found["definition"] = await client.text_document_definition_async(lsp.DefinitionParams(at, lsp.Position(6, 18)))
    line = 'func.func @f(%a: f32) { %c = arith.addf %a, %a {n = "\U0001d465"} : f32 %d = arith.mulf %c, %c : f32 return }'
    other = lsp.TextDocumentIdentifier("file:///session/wide.mlir")
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(other.uri, "mlir", 1, line)))
    found["wide"] = await reports.get()
    behind = lsp.Position(0, line.rindex("%c") + 2 + 1)  # the letter before takes two units of UTF-16
    context = lsp.ReferenceContext(include_declaration=True)
    found["references"] = await client.text_document_references_async(lsp.ReferenceParams(context, other, behind))
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(other))
    found["closed"] = await client.text_document_hover_async(lsp.HoverParams(other, behind))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found


def test_a_session_over_standard_input_and_output() -> None:
    pytest.importorskip("pygls", reason="pygls is not installed (extra lamina[lsp])")
    found = asyncio.run(asyncio.wait_for(_session(), 120))
    (error,) = found["at first"]
    assert error.range.start.line == 3
    assert "not registered" in error.message or "expected" in error.message
    assert {"graph.exp", "graph.dot"} <= {item.label for item in found["completion"]}
    assert found["mended"] == []
    assert found["op"].contents.value.startswith("graph.exp")
    assert "Syntax:" in found["op"].contents.value
    assert "%y : tensor<4xf32>" in found["value"].contents.value
    assert (found["definition"].range.start.line, found["definition"].range.start.character) == (1, 10)
    assert found["wide"] == [] and found["closed"] is None
    assert [each.range.start.character for each in found["references"]] == [24, 79 + 1, 83 + 1]


@pytest.mark.thorough(every=2)
@pytest.mark.parametrize("number", [1, 4])
def test_random_sessions(number: int) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed (extra lamina[lsp])")
    assert faults_of(session(number)) == []


@pytest.mark.parametrize(
    ("line", "column", "where"),
    [(2, 18, (1, 13)), (3, 10, (2, 2)), (6, 18, (1, 10)), (6, 21, (5, 13)), (7, 10, (6, 2)), (0, 4, None)],
)
def test_definitions_are_the_last_ones_before(line: int, column: int, where: tuple[int, int] | None) -> None:
    span = Document(GOOD).definition(line, column)
    assert (span and (span.line, span.start)) == where


def test_completions_fit_the_position() -> None:
    document = Document(TEXT)
    assert "graph-fuse" in {each.label for each in document.completions(0, len(document.lines[0]))}
    dot = Document("func.func @f(%x: tensor<4xf32>) {\n  %y = graph.dot %x, %x ")
    assert {"contract", "batch"} <= {each.label for each in dot.completions(1, len(dot.lines[1]))}
    assert {"graph", "loop", "arith"} <= {each.label for each in Document("  ").completions(0, 2)}


def test_text_that_ends_anywhere_is_answered() -> None:
    for end in range(0, len(TEXT), 29):
        document = Document(TEXT[:end])
        line = len(document.lines) - 1
        for column in (0, len(document.lines[line])):
            document.hover(line, column), document.definition(line, column), document.completions(line, column)


def test_diagnostics_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @f(%x: tensor<4xf32>) {\n  %x = graph.exp %x : tensor<4xf32>\n  return\n}\n")
    assert main([str(path), "--diagnostics=json", "-o", str(tmp_path / "out")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert {key: found[key] for key in ("severity", "message", "line", "column", "end")} == {
        "severity": "error",
        "message": "redefinition of SSA value '%x'",
        "line": 2,
        "column": 3,
        "end": {"line": 2, "column": 5},
    }
    assert [(note["message"], note["line"], note["column"]) for note in found["notes"]] == [("previously defined here", 1, 14)]


def test_colours_of_all_texts() -> None:
    """No character is an error of the lexer, and what stands in a text comes back."""
    pytest.importorskip("pygments", reason="pygments is not installed (extra lamina[lsp])")
    from lamina.tools.highlighting import IrLexer
    from pygments.token import Error, Name

    for path in sorted((Path(__file__).parents[2] / "filecheck").rglob("*.mlir"))[::8]:
        text = path.read_text().strip() + "\n"
        tokens = list(IrLexer(stripnl=False, ensurenl=False).get_tokens(text))
        assert not [value for kind, value in tokens if kind is Error]
        assert "".join(value for _, value in tokens) == text
    assert (Name.Builtin, "graph.exp") in list(IrLexer().get_tokens("%y = graph.exp %x : tensor<4xf32>"))
