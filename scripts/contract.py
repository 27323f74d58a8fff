"""The page on the source documents: every item with its state, from the files in `tests/sources` that play them."""

import importlib
from pathlib import Path

from tests.sources.contract import STATES, Document, Item

SOURCES = Path(__file__).parent.parent / "tests" / "sources"

MEANING = {
    "works": "the literal call does what the document says",
    "differs": "on purpose; what a literal client gets instead is said",
    "not here": "Windows, and what only that needs; WSL is the way there",
    "to come": "the literal call is played, and fails so far",
}


def documents() -> list[Document]:
    """All source documents, in order."""
    names = sorted(path.stem for path in SOURCES.glob("test_[0-9]*.py"))
    return [importlib.import_module(f"tests.sources.{name}").DOCUMENT for name in names]


def sources_page(note: str) -> str:
    """Describe what became of every item of every source document."""
    all_of_them = documents()
    head = "| document | items | " + " | ".join(STATES) + " |\n|---|---|" + "---|" * len(STATES)
    rows = [
        f"| [{one.number} · {one.title}](#{_anchor(one)}) | {len(one.items)} | "
        + " | ".join(str(sum(item.state == state for item in one.items)) for state in STATES)
        + " |"
        for one in all_of_them
    ]
    lines = [
        "# The source documents, item by item",
        note,
        "Fourhands grew from five documents. Here is each thing that they ask for, in their own calls, and what became "
        "of it. Every item is played against a running server by `tests/sources`, so this page cannot claim more than "
        "is so.",
        "\n".join(f"- **{state}**: {MEANING[state]}." for state in STATES),
        "\n".join([head, *rows]),
        *(_document(one) for one in all_of_them),
    ]
    return "\n\n".join(lines) + "\n"


def _document(document: Document) -> str:
    head = "| id | the document has | state | here |\n|---|---|---|---|"
    return f"## {document.number} · {document.title}\n\n" + "\n".join([head, *map(_row, document.items)])


def _row(item: Item) -> str:
    return f"| {item.id} | {_code(item.says)} | {item.state} | {_cell(item.here)} |"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{_cell(text)}{pad}{fence}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _anchor(document: Document) -> str:
    return f"{document.number}--{document.title.lower().replace(' ', '-')}"
