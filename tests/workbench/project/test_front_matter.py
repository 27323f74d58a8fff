"""The front matter of a skill: what is read of it, and what is refused with a reason."""

import contextlib

import pytest

from fourhands.workbench.project.front_matter import BadFrontMatter, front_matter

# What stands between the fences, and the texts that are read.
READ: list[tuple[str, dict[str, str]]] = [
    ("", {}),
    ("name: pdf\ndescription: Reads PDFs.", {"name": "pdf", "description": "Reads PDFs."}),
    ("description: Use when: the user asks", {"description": "Use when: the user asks"}),
    ("description: plain # a comment", {"description": "plain"}),
    ("description: no#comment", {"description": "no#comment"}),
    ("# all of it\n\nname:   x  ", {"name": "x"}),
    ('description: "with: \\"quotes\\", \\u00e9 and \\n"', {"description": 'with: "quotes", é and \n'}),
    ("description: 'it''s' # so", {"description": "it's"}),
    ("description: >\n  folded\n  text\n\n  second\nname: a", {"description": "folded text\n\nsecond", "name": "a"}),
    ("description: |-\n  two\n    lines", {"description": "two\n  lines"}),
    ("description: goes on\n  in the next\n  line\nname: a", {"description": "goes on in the next line", "name": "a"}),
    ("description:\n  below its key\nname: a", {"description": "below its key", "name": "a"}),
    ('description: "over\n  lines"', {"description": "over lines"}),
    ("metadata:\n  author: me\n  tags: [a]\nname: a", {"name": "a"}),
    ("allowed-tools:\n- Bash\n- Read\nname: a", {"allowed-tools": None, "name": "a"}),  # type: ignore[dict-item]
    ("tags: [a, b]\nother: {a: 1}\nanchor: &x y\nname: a", {"name": "a"}),
    ("empty:\nname: a", {"name": "a"}),
    ("name: a\r", {"name": "a"}),
    ("version: 1.0", {"version": "1.0"}),
]

# A whole file, and a part of the reason.
REFUSED: list[tuple[str, str]] = [
    ("", "does not begin with"),
    ("# Title\n", "does not begin with"),
    (" ---\nname: a\n---\n", "does not begin with"),
    ("---\nname: a\n", "no end"),
    ("---\nname a\n---\n", "line 2 is not"),
    ("---\n  indented: a\n---\n", "line 2 is not"),
    ("---\nname: a\nname: b\n---\n", "name stands in it twice"),
    ('---\nname: "a\n---\n', "no end"),
    ("---\nname: 'a' b\n---\n", "something behind it"),
    ('---\nname: "\\q"\n---\n', "unknown escape"),
    ('---\nname: "\\ud800"\n---\n', "no character"),
    ('---\nname: "\\UFFFFFFFF"\n---\n', "no character"),
]


@pytest.mark.parametrize(("inner", "wanted"), READ)
def test_texts_are_read_and_all_else_is_passed_over(inner: str, wanted: dict[str, str | None]) -> None:
    wanted = {key: value for key, value in wanted.items() if value is not None}
    assert front_matter(f"---\n{inner}\n---\n# Body\nname: not this\n") == wanted
    assert front_matter(f"\ufeff---\n{inner}\n...\n") == wanted


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_cannot_be_read_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadFrontMatter, match=reason):
        front_matter(text)


def test_hostile_text_takes_no_time() -> None:
    for evil in ("\\" * 8000, '"' + "\\a" * 4000, "'" * 8001, ": " * 4000, "- " * 4000, " " * 8000):
        for text in (f"---\nname: {evil}\n---\n", f"---\n{evil}\n---\n", f'---\nname: "{evil}\n---\n'):
            with contextlib.suppress(BadFrontMatter):
                front_matter(text)
