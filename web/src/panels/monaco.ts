// Monaco behind the small editor interface, with the features and languages that are wanted; its own chunk, loaded late.

import * as monaco from "monaco-editor/editor/editor.api";
import "monaco-editor/features/bracketMatching/register";
import "monaco-editor/features/caretOperations/register";
import "monaco-editor/features/clipboard/register";
import "monaco-editor/features/codeEditor/register";
import "monaco-editor/features/comment/register";
import "monaco-editor/features/contextmenu/register";
import "monaco-editor/features/cursorUndo/register";
import "monaco-editor/features/diffEditor/register";
import "monaco-editor/features/find/register";
import "monaco-editor/features/folding/register";
import "monaco-editor/features/gotoLine/register";
import "monaco-editor/features/hover/register";
import "monaco-editor/features/indentation/register";
import "monaco-editor/features/lineSelection/register";
import "monaco-editor/features/linesOperations/register";
import "monaco-editor/features/links/register";
import "monaco-editor/features/longLinesHelper/register";
import "monaco-editor/features/multicursor/register";
import "monaco-editor/features/smartSelect/register";
import "monaco-editor/features/toggleTabFocusMode/register";
import "monaco-editor/features/unicodeHighlighter/register";
import "monaco-editor/features/wordHighlighter/register";
import "monaco-editor/features/wordOperations/register";
import "./languages.ts";
import EditorWorker from "monaco-editor/editor/editor.worker?worker";
import type { Range } from "../wire/types.ts";
import type { CodeEditor, CodeEvents, MarkStyle } from "./code.ts";
import { type Shown, token } from "./theme.ts";

self.MonacoEnvironment = { getWorker: () => new EditorWorker() };

const rules = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, rules];
const colours = new Map<string, string>();

// A class for a colour: decorations take class names only.
function colourClass(color: string): string {
  let name = colours.get(color);
  if (!name) {
    name = `fh-c${colours.size}`;
    colours.set(color, name);
    rules.insertRule(`.${name} { --mark: ${color}; }`);
    rules.insertRule(`.fh-label.${name} { color: ${color} !important; }`);
  }
  return name;
}

export function setTheme(shown: Shown): void {
  const colors = {
    "editor.background": token("bg"),
    "editor.foreground": token("fg"),
    "editorLineNumber.foreground": shown === "light" ? "#667081" : "#828c9c",
    "editorLineNumber.activeForeground": token("fg"),
    "editor.lineHighlightBorder": "#00000000",
    "editor.lineHighlightBackground": token("bg1"),
    "editorOverviewRuler.border": "#00000000",
    "editorWidget.background": token("bg2"),
    "editorWidget.border": token("line"),
    "input.background": token("bg"),
    "scrollbar.shadow": "#00000000",
    focusBorder: token("you"),
  };
  const base = shown === "light" ? "vs" : shown === "contrast" ? "hc-black" : "vs-dark";
  monaco.editor.defineTheme("fourhands", { base, inherit: true, rules: [], colors: shown === "contrast" ? {} : colors });
  monaco.editor.setTheme("fourhands");
}

export function createEditor(holder: HTMLElement, path: string, text: string, events: CodeEvents): CodeEditor {
  return new MonacoEditor(holder, path, text, events);
}

const DIFF: monaco.editor.IDiffEditorConstructionOptions = {
  originalEditable: false,
  renderSideBySide: true,
  useInlineViewWhenSpaceIsLimited: true,
};

// Let a diff editor show two texts; gives the way to end it. The view model is made here because Monaco never ends one that
// it made itself, and a difference that is still being looked for would fail when its texts are gone.
function showBoth(editor: monaco.editor.IStandaloneDiffEditor, original: monaco.editor.ITextModel, modified: monaco.editor.ITextModel): () => void {
  const both = editor.createViewModel({ original, modified });
  editor.setModel(both);
  return () => {
    editor.dispose();
    both.dispose();
  };
}

// Two texts beside each other, only to look at; gives the way to end it.
export function createDiff(holder: HTMLElement, path: string, before: string, after: string): () => void {
  const uri = (side: string) => monaco.Uri.from({ scheme: "fourhands", authority: side, path: `/${path}` });
  const [original, modified] = [monaco.editor.createModel(before, undefined, uri("before")), monaco.editor.createModel(after, undefined, uri("after"))];
  const editor = monaco.editor.createDiffEditor(holder, { ...OPTIONS, ...DIFF, readOnly: true, fontFamily: token("mono"), hideUnchangedRegions: { enabled: true } });
  const end = showBoth(editor, original, modified);
  return () => {
    end();
    original.dispose();
    modified.dispose();
  };
}

const OPTIONS: monaco.editor.IEditorOptions = {
  fontSize: 13,
  lineHeight: 18,
  automaticLayout: true,
  minimap: { enabled: false },
  scrollBeyondLastLine: false,
  overviewRulerLanes: 3,
  renderLineHighlight: "gutter",
  smoothScrolling: false,
  fixedOverflowWidgets: true,
  glyphMargin: false,
  occurrencesHighlight: "off",
  selectionHighlight: true,
  folding: true,
  lineNumbersMinChars: 4,
  padding: { top: 8, bottom: 8 },
  unicodeHighlight: { ambiguousCharacters: false },
  scrollbar: { useShadows: false, verticalScrollbarSize: 12, horizontalScrollbarSize: 10 },
};

class MonacoEditor implements CodeEditor {
  private readonly model: monaco.editor.ITextModel;
  private readonly editor: monaco.editor.IStandaloneCodeEditor;
  private readonly decorations = new Map<string, monaco.editor.IEditorDecorationsCollection>();
  private diff: { editor: monaco.editor.IStandaloneDiffEditor; other: monaco.editor.ITextModel; holder: HTMLElement; end: () => void } | null = null;
  private wanted: [number, number] | null = null;
  private own = false; // a change that we make, not the person

  constructor(
    private readonly holder: HTMLElement,
    path: string,
    text: string,
    events: CodeEvents,
  ) {
    const uri = monaco.Uri.from({ scheme: "fourhands", path: `/${path}` });
    monaco.editor.getModel(uri)?.dispose();
    this.model = monaco.editor.createModel(text, undefined, uri);
    const place = document.createElement("div");
    place.style.cssText = "position:absolute;inset:0";
    holder.append(place);
    this.editor = monaco.editor.create(place, {
      ...OPTIONS,
      model: this.model,
      fontFamily: token("mono"),
      ariaLabel: path,
    });
    this.model.onDidChangeContent(() => {
      if (!this.own) events.changed();
    });
    this.editor.onDidChangeCursorPosition(({ position }) => events.moved(position.lineNumber, position.column));
    this.editor.onDidFocusEditorText(() => {
      const position = this.editor.getPosition();
      if (position) events.moved(position.lineNumber, position.column);
    });
    this.editor.onDidLayoutChange((layout) => {
      if (layout.height > 0 && this.wanted) this.reveal(...this.wanted);
    });
  }

  text(): string {
    return this.model.getValue();
  }

  setText(text: string): void {
    if (text === this.model.getValue()) return;
    const view = this.editor.saveViewState();
    this.own = true;
    this.model.pushEditOperations([], [{ range: this.model.getFullModelRange(), text }], () => null);
    this.own = false;
    if (view) this.editor.restoreViewState(view);
  }

  reveal(line: number, column: number): void {
    if (this.editor.getLayoutInfo().height <= 0) {
      this.wanted = [line, column];
      return;
    }
    this.wanted = null;
    const lineNumber = Math.min(line, this.model.getLineCount());
    this.editor.setPosition({ lineNumber, column });
    this.editor.revealLineInCenter(lineNumber, monaco.editor.ScrollType.Immediate);
  }

  decorate(id: string, ranges: readonly Range[], style: MarkStyle): void {
    const colour = colourClass(style.color);
    const last = this.model.getLineCount();
    const all = ranges
      .filter((range) => range.startLine <= last)
      .map((range, index): monaco.editor.IModelDeltaDecoration => {
        const whole = !range.startColumn && !range.endColumn;
        const end = Math.min(range.endLine, last);
        const endColumn = range.endColumn ? range.endColumn + 1 : this.model.getLineMaxColumn(end);
        return {
          range: new monaco.Range(range.startLine, range.startColumn ?? 1, end, endColumn),
          options: {
            isWholeLine: whole,
            className: `fh-mark ${colour}`,
            linesDecorationsClassName: `fh-bar ${colour}`,
            hoverMessage: { value: style.hover },
            overviewRuler: { color: style.color, position: monaco.editor.OverviewRulerLane.Full },
            stickiness: monaco.editor.TrackedRangeStickiness.NeverGrowsWhenTypingAtEdges,
            ...(index === 0 && style.label && range.startLine !== end ? {} : this.labelOf(style, colour, index)),
          },
        };
      });
    const first = ranges[0];
    if (first && style.label && first.startLine !== first.endLine && first.startLine <= last) {
      // The label stands behind the first line, not behind the last.
      const column = this.model.getLineMaxColumn(first.startLine);
      all.push({
        range: new monaco.Range(first.startLine, column, first.startLine, column),
        options: { showIfCollapsed: true, ...this.labelOf(style, colour, 0) },
      });
    }
    const old = this.decorations.get(id);
    if (old) old.set(all);
    else this.decorations.set(id, this.editor.createDecorationsCollection(all));
  }

  private labelOf(style: MarkStyle, colour: string, index: number): Partial<monaco.editor.IModelDecorationOptions> {
    if (!style.label || index > 0) return {};
    return { after: { content: style.label, inlineClassName: `fh-label ${colour}` } };
  }

  clear(id: string): void {
    this.decorations.get(id)?.clear();
    this.decorations.delete(id);
  }

  marks(): string[] {
    return [...this.decorations.keys()];
  }

  visibleLines(): [number, number] {
    const ranges = this.editor.getVisibleRanges();
    return [ranges[0]?.startLineNumber ?? 0, ranges.at(-1)?.endLineNumber ?? 0];
  }

  compare(other: string | null): void {
    if (this.diff) {
      this.diff.end();
      this.diff.other.dispose();
      this.diff.holder.remove();
      this.diff = null;
    }
    if (other === null) return;
    const holder = document.createElement("div");
    holder.style.cssText = "position:absolute;inset:0;z-index:2";
    this.holder.append(holder);
    const theirs = monaco.editor.createModel(other, this.model.getLanguageId());
    const editor = monaco.editor.createDiffEditor(holder, {
      ...OPTIONS,
      ...DIFF,
      fontFamily: token("mono"),
    });
    this.diff = { editor, other: theirs, holder, end: showBoth(editor, theirs, this.model) };
  }

  setReadOnly(readOnly: boolean): void {
    this.editor.updateOptions({ readOnly });
  }

  language(): string {
    const id = this.model.getLanguageId();
    return monaco.languages.getLanguages().find((one) => one.id === id)?.aliases?.[0] ?? id;
  }

  focus(): void {
    this.editor.focus();
  }

  hasFocus(): boolean {
    return this.editor.hasTextFocus() || (this.diff?.editor.getModifiedEditor().hasTextFocus() ?? false);
  }

  dispose(): void {
    this.compare(null);
    this.editor.dispose();
    this.model.dispose();
  }
}
