// The fields of a form that an agent asks a person to fill in: what they typed as values, and what a field takes, in words.

import type { FormField } from "../wire/types.ts";
import { BadValue } from "./schema.ts";

export type FieldValue = NonNullable<FormField["default"]>;

// The value of what was typed into a field of one line or more; null where nothing was.
export function typedValue(field: FormField, typed: string): FieldValue | null {
  if (field.kind === "text" && !field.format) return typed === "" ? null : typed;
  const text = typed.trim();
  if (text === "") return null;
  if (field.format === "date-time") return moment(field, text);
  if (field.kind === "text") return text;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new BadValue(`${field.title} is a number`);
  if (field.kind === "integer" && !Number.isSafeInteger(value)) throw new BadValue(`${field.title} is a whole number`);
  return value;
}

function moment(field: FormField, text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw new BadValue(`${field.title} is a date and a time`);
  return at.toISOString();
}

// A default as it stands in the field at first.
export function typedDefault(field: FormField): string {
  const { default: value } = field;
  if (value === null || typeof value === "boolean" || Array.isArray(value)) return "";
  if (field.format !== "date-time") return String(value);
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

// What a field takes, in a few words; empty where anything will do.
export function limitsOf({ kind, least, most, format }: FormField): string {
  if (format === "email") return "such as ann@example.org";
  if (format === "uri") return "such as https://example.org/";
  const unit = { text: "character", choices: "choice", number: "", integer: "", boolean: "", choice: "" }[kind];
  const from = kind === "text" && least === 0 ? null : least; // says nothing
  if (from === null && most === null) return "";
  const last = most ?? from;
  const units = unit ? ` ${unit}${last === 1 ? "" : "s"}` : "";
  if (from !== null && most !== null) return from === most ? `${from}${units}` : `${from} to ${most}${units}`;
  return from !== null ? `${from}${units} or more` : `at most ${most}${units}`;
}
