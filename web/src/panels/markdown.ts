// Markdown trees as elements. Links open elsewhere and do not reveal where they were clicked.

import { type Block, type Inline, parseMarkdown } from "../model/markdown.ts";
import { copyText, h } from "./dom.ts";

export function renderMarkdown(text: string): Node[] {
  return parseMarkdown(text).map(renderBlock);
}

function renderBlock(block: Block): Node {
  switch (block.kind) {
    case "paragraph":
      return h("p", {}, ...block.children.map(renderInline));
    case "heading":
      return h(block.level < 3 ? "h3" : "h4", {}, ...block.children.map(renderInline));
    case "code":
      return renderCode(block.text, block.open);
    case "list": {
      const items = block.items.map((item) => h("li", {}, ...item.map((inner) => loose(inner))));
      return block.ordered ? h("ol", { start: block.start }, ...items) : h("ul", {}, ...items);
    }
    case "quote":
      return h("blockquote", {}, ...block.children.map(renderBlock));
    case "rule":
      return h("hr");
    case "table":
      return h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...block.head.map((cell) => h("th", {}, ...cell.map(renderInline))))),
        h("tbody", {}, ...block.rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, ...cell.map(renderInline)))))),
      );
  }
}

// A paragraph in a list is its text: lists read better tight.
function loose(block: Block): Node {
  if (block.kind !== "paragraph") return renderBlock(block);
  const fragment = document.createDocumentFragment();
  fragment.append(...block.children.map(renderInline));
  return fragment;
}

function renderCode(text: string, open: boolean): Node {
  const box = h("div", { class: "codebox" }, h("pre", { tabindex: "0" }, h("code", {}, text)));
  if (!open) {
    const copy = h("button", { class: "button small copy" }, "Copy");
    copy.addEventListener("click", () => void copyText(text).then((done) => (copy.textContent = done ? "Copied" : "Not allowed")));
    box.append(copy);
  }
  return box;
}

function renderInline(inline: Inline): Node {
  switch (inline.kind) {
    case "text":
      return document.createTextNode(inline.text);
    case "code":
      return h("code", {}, inline.text);
    case "link":
      return h(
        "a",
        { href: inline.href, target: "_blank", rel: "noopener noreferrer nofollow" },
        ...inline.children.map(renderInline),
      );
    default:
      return h(inline.kind, {}, ...inline.children.map(renderInline));
  }
}
