"""lamina-lsp: a language server for IR, over standard input and output (extra `lamina[lsp]`).

    lamina-lsp            # an editor starts it; docs/editors.md has a configuration

It reports diagnostics as a text changes, and answers hover, go to definition, references, and completion.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from ..diagnostics import Diagnostic, FilePosition
from .diagnostic_json import end_of
from .language_text import Document, Span

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

_SEVERITIES = {"error": 1, "warning": 2, "remark": 3, "note": 3}
_KINDS = {"op": 3, "word": 14, "attribute": 10, "dialect": 9, "pass": 3, "value": 6, "symbol": 18}
"""Numbers of the protocol: Function, Keyword, Property, Module, Function, Variable, Reference."""


def make_server() -> LanguageServer:
    """A server with all features, which serves once it is started.

    Raises:
        ImportError: pygls is not installed.
    """
    from importlib.metadata import version

    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer

    server = LanguageServer("lamina-lsp", version("lamina"))
    documents: dict[str, Document] = {}

    def document(uri: str) -> Document:
        """The document of an editor, empty if it has closed it or never opened it."""
        held = server.workspace.text_documents.get(uri)
        text = "" if held is None else held.source
        if uri not in documents or documents[uri].text != text:
            documents[uri] = Document(text, unquote(urlparse(uri).path) or uri)
        return documents[uri]

    def place(params: Any) -> tuple[Document, int, int]:
        """What a request is about. Columns count UTF-16 units in most editors, characters here."""
        found, at = document(params.text_document.uri), params.position
        if at.line >= len(found.lines):
            return found, at.line, 0
        line, units = found.lines[at.line], server.workspace.position_codec
        column = units.position_from_client_units([line], lsp.Position(0, min(at.character, units.client_num_units(line))))
        return found, at.line, column.character

    def between(found: Document, start: tuple[int, int], end: tuple[int, int]) -> lsp.Range:
        """A range in the units of the editor."""
        units = server.workspace.position_codec
        return units.range_to_client_units(found.lines, lsp.Range(lsp.Position(*start), lsp.Position(*end)))

    def location(uri: str, found: Document, span: Span) -> lsp.Location:
        return lsp.Location(uri, between(found, (span.line, span.start), (span.line, span.end)))

    def publish(uri: str) -> None:
        found = document(uri)
        shown = [as_diagnostic(each, found, uri, between) for each in found.diagnostics]
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=shown))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        documents.pop(params.text_document.uri, None)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found, line, column = place(params)
        text = found.hover(line, column)
        return None if text is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        found, line, column = place(params)
        span = found.definition(line, column)
        return None if span is None else location(params.text_document.uri, found, span)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        found, line, column = place(params)
        return [location(params.text_document.uri, found, span) for span in found.references(line, column)]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "%", "@"]))
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found, line, column = place(params)
        return [
            lsp.CompletionItem(each.label, kind=lsp.CompletionItemKind(_KINDS[each.kind]), detail=each.detail)
            for each in found.completions(line, column)
        ]

    return server


Between = Callable[[Document, tuple[int, int], tuple[int, int]], Any]
"""The range of the protocol from a line and column, counted from 0, to another."""


def as_diagnostic(diagnostic: Diagnostic, document: Document, uri: str, between: Between) -> Any:
    """A message as the protocol has it; notes are related information, a remedy stands in the next line."""
    from lsprotocol import types as lsp

    def token_at(place: FilePosition | None) -> lsp.Range:
        start = place or FilePosition(document.name, 1, 1)
        end = end_of(start, document.text)
        return between(document, (start.line - 1, start.column - 1), (end.line - 1, end.column - 1))

    return lsp.Diagnostic(
        range=token_at(diagnostic.location),
        message="\n".join(part for part in (diagnostic.message, diagnostic.remedy) if part),
        severity=lsp.DiagnosticSeverity(_SEVERITIES.get(diagnostic.severity, 1)),
        source="lamina",
        related_information=[
            lsp.DiagnosticRelatedInformation(lsp.Location(uri, token_at(note.location)), note.message)
            for note in diagnostic.notes
        ],
    )


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="lamina-lsp", description="A language server for IR over standard input and output.")
    parser.parse_args(args)
    try:
        server = make_server()
    except ImportError as error:
        print(f"lamina-lsp: error: {error.name} is not installed: pip install 'lamina[lsp]'", file=sys.stderr)
        return 2
    server.start_io()
    return 0


if __name__ == "__main__":
    sys.exit(main())
