// A form that an agent asks a person to fill in: its fields, what was typed, and what is wrong with it at its place.

import { limitsOf, typedDefault, typedValue, type FieldValue } from "../model/form.ts";
import { BadValue } from "../model/schema.ts";
import type { FormField } from "../wire/types.ts";
import { h } from "./dom.ts";

const FEW = 6; // choices that are shown all at once
const LONG = 200; // characters for which one line is too short

interface Part {
  field: FormField;
  element: HTMLElement;
  control: HTMLElement; // takes the focus
  read: () => FieldValue | null;
  error: HTMLElement;
}

export class FormFields {
  readonly element = h("div", { class: "fields" });
  private readonly parts: Part[];

  constructor(fields: readonly FormField[], id: string) {
    this.parts = fields.map((field, number) => part(field, `${id}-${number}`));
    this.element.append(...this.parts.map((one) => one.element));
  }

  // What takes the focus when the form appears.
  get first(): HTMLElement | null {
    return this.parts[0]?.control ?? null;
  }

  // The values; null where something is missing or is none, which is then said at its field.
  values(): Record<string, FieldValue> | null {
    const found: Record<string, FieldValue> = {};
    let wrong: Part | null = null;
    for (const one of this.parts) {
      let words = "";
      try {
        const value = one.read();
        if (value !== null) found[one.field.name] = value;
        else if (one.field.required) words = `${one.field.title} has to be filled in`;
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        words = error.message;
      }
      tell(one, words);
      if (words) wrong ??= one;
    }
    wrong?.control.focus();
    return wrong ? null : found;
  }

  // Say what is wrong with one field; false where there is none of this name.
  refuse(name: unknown, words: string): boolean {
    const one = this.parts.find((part) => part.field.name === name);
    if (!one) return false;
    tell(one, words);
    one.control.focus();
    return true;
  }
}

function tell({ element, control, error }: Part, words: string): void {
  error.textContent = words;
  element.classList.toggle("wrong", words !== "");
  if (words) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

function part(field: FormField, id: string): Part {
  const limits = limitsOf(field);
  const about = [field.description, limits && `(${limits})`].filter((one) => one).join(" ");
  const describedBy = `${id}-about ${id}-error`;
  const error = h("p", { class: "error", id: `${id}-error`, role: "alert" });
  const notes = [
    about ? h("p", { class: "about", id: `${id}-about` }, about) : null,
    field.secret ? h("p", { class: "level" }, "This seems to be a secret. The agent and its model get what you type here; a form is no safe place for it.") : null,
    error,
  ];
  const named = [field.title, field.required ? null : h("span", { class: "optional" }, " optional")] as const;
  const common = { id, "aria-describedby": describedBy, "aria-required": String(field.required) };
  const finish = (control: HTMLElement, read: Part["read"], ...inner: (Node | null)[]): Part => {
    const element = h("div", { class: "field" }, ...inner, ...notes);
    const made = { field, element, control, read, error };
    element.addEventListener("input", () => tell(made, ""));
    return made;
  };
  if (field.kind === "boolean") {
    const box = h("input", { ...common, type: "checkbox" });
    box.checked = field.default === true;
    return finish(box, () => box.checked, h("label", { class: "check" }, box, h("span", {}, ...named)));
  }
  if (field.kind === "choices" || (field.kind === "choice" && field.choices.length <= FEW)) {
    const { element, first, read } = boxes(field, id, describedBy, named);
    return finish(first, read, element);
  }
  const label = h("label", { for: id }, ...named);
  if (field.kind === "choice") {
    const none = h("option", { value: "" }, field.required ? "Choose …" : "No answer");
    const choose = h("select", common, none, ...field.choices.map((one) => h("option", { value: one.value, title: one.description || undefined }, one.title)));
    choose.value = typeof field.default === "string" ? field.default : "";
    return finish(choose, () => choose.value || null, label, choose);
  }
  const long = field.kind === "text" && !field.format && !field.secret && ((field.most ?? 0) > LONG || typedDefault(field).includes("\n"));
  const input = long ? h("textarea", { ...common, rows: 3 }) : h("input", { ...common, ...lineOf(field), autocomplete: "off", spellcheck: "false" });
  input.value = typedDefault(field);
  return finish(input, () => typedValue(field, input.value), label, input);
}

function lineOf({ kind, format, secret }: FormField): Record<string, string> {
  if (kind === "number") return { type: "text", inputmode: "decimal" };
  if (kind === "integer") return { type: "text", inputmode: "numeric" };
  if (secret) return { type: "password" };
  // Of what has a picker the browser's own; what it would check is checked by the server, in the same words for everybody.
  return { type: { "": "text", email: "text", uri: "text", date: "date", "date-time": "datetime-local" }[format], ...(format === "date-time" ? { step: "1" } : {}) };
}

// A few choices, all to be seen: one of them by round buttons, some of them by boxes.
function boxes(field: FormField, id: string, describedBy: string, named: readonly (string | Node | null)[]): { element: HTMLElement; first: HTMLElement; read: () => FieldValue | null } {
  const several = field.kind === "choices";
  const chosen = new Set(Array.isArray(field.default) ? field.default : [field.default]);
  const inputs = field.choices.map((one) => {
    const input = h("input", { type: several ? "checkbox" : "radio", name: id, value: one.value });
    input.checked = chosen.has(one.value);
    return input;
  });
  const rows = field.choices.map((one, number) => h("label", { class: "check" }, inputs[number], h("span", {}, one.title, one.description ? h("span", { class: "about" }, one.description) : null)));
  if (!several && !field.required) {
    const none = h("input", { type: "radio", name: id, value: "" });
    none.checked = !inputs.some((one) => one.checked);
    inputs.push(none);
    rows.push(h("label", { class: "check" }, none, h("span", { class: "optional" }, "No answer")));
  }
  const role = several ? "group" : "radiogroup";
  const element = h("fieldset", { id, role, "aria-describedby": describedBy, "aria-required": several ? undefined : String(field.required) }, h("legend", {}, ...named), ...rows);
  const values = () => inputs.filter((one) => one.checked).map((one) => one.value);
  const read = several ? () => (values().length || field.required ? values() : null) : () => values()[0] || null;
  return { element, first: inputs.find((one) => one.checked) ?? inputs[0] ?? element, read };
}
