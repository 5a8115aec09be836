"""lamina-lsp: a language server for IR, over standard input and output (extra `lamina[lsp]`).

    lamina-lsp            # an editor starts it; docs/editors.md has a configuration

It reports diagnostics as a text changes, and answers hover, go to definition, references, and completion.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from ..diagnostics import Diagnostic, FilePosition
from .diagnostic_json import end_of
from .language_text import Document

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
        text = server.workspace.get_text_document(uri).source
        if uri not in documents or documents[uri].text != text:
            documents[uri] = Document(text, unquote(urlparse(uri).path) or uri)
        return documents[uri]

    def publish(uri: str) -> None:
        found = document(uri)
        shown = [as_diagnostic(each, found, uri) for each in found.diagnostics]
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
        text = document(params.text_document.uri).hover(params.position.line, params.position.character)
        return None if text is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        span = document(params.text_document.uri).definition(params.position.line, params.position.character)
        if span is None:
            return None
        between = lsp.Range(lsp.Position(span.line, span.start), lsp.Position(span.line, span.end))
        return lsp.Location(params.text_document.uri, between)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        spans = document(params.text_document.uri).references(params.position.line, params.position.character)
        at = [lsp.Range(lsp.Position(span.line, span.start), lsp.Position(span.line, span.end)) for span in spans]
        return [lsp.Location(params.text_document.uri, between) for between in at]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "%", "@"]))
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found = document(params.text_document.uri).completions(params.position.line, params.position.character)
        return [
            lsp.CompletionItem(each.label, kind=lsp.CompletionItemKind(_KINDS[each.kind]), detail=each.detail) for each in found
        ]

    return server


def as_diagnostic(diagnostic: Diagnostic, document: Document, uri: str) -> Any:
    """A message as the protocol has it; notes are related information, a remedy stands in the next line."""
    from lsprotocol import types as lsp

    def between(place: FilePosition | None) -> lsp.Range:
        start = place or FilePosition(document.name, 1, 1)
        end = end_of(start, document.text)
        return lsp.Range(lsp.Position(start.line - 1, start.column - 1), lsp.Position(end.line - 1, end.column - 1))

    return lsp.Diagnostic(
        range=between(diagnostic.location),
        message="\n".join(part for part in (diagnostic.message, diagnostic.remedy) if part),
        severity=lsp.DiagnosticSeverity(_SEVERITIES.get(diagnostic.severity, 1)),
        source="lamina",
        related_information=[
            lsp.DiagnosticRelatedInformation(lsp.Location(uri, between(note.location)), note.message)
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
