// What a command asks for, read from its JSON Schema, and how what somebody typed becomes a value.

export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  $ref?: string;
  minimum?: number;
  maximum?: number;
}

export interface ManifestCommand {
  id: string;
  label: string;
  description: string;
  category: string;
  arguments_schema: Schema;
  key: string | null;
  danger: boolean;
  actors: string[];
  readOnly: boolean;
  undoable: boolean;
  example: Record<string, unknown> | null;
}

export interface Manifest {
  version: string;
  commands: ManifestCommand[];
}

export type Form = "text" | "number" | "boolean" | "choice" | "json";

export interface Argument {
  name: string;
  form: Form;
  required: boolean;
  description: string;
  choices: string[];
  fallback: unknown;
}

export function argumentsOf(schema: Schema): Argument[] {
  const required = new Set(schema.required ?? []);
  const all = Object.entries(schema.properties ?? {}).map(([name, property]): Argument => {
    const plain = withoutNull(property);
    return {
      name,
      form: formOf(plain),
      required: required.has(name),
      description: property.description ?? plain.description ?? "",
      choices: (plain.enum ?? []).filter((value): value is string => typeof value === "string"),
      fallback: property.default,
    };
  });
  return all.sort((a, b) => Number(b.required) - Number(a.required));
}

function withoutNull(schema: Schema): Schema {
  const some = schema.anyOf?.filter((one) => one.type !== "null");
  return some?.length === 1 ? some[0]! : schema;
}

function formOf(schema: Schema): Form {
  if (schema.enum) return "choice";
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  if (type === "string") return "text";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  return "json";
}

export class BadValue extends Error {}

// The value for an argument, undefined where nothing was typed; a text that does not fit is an error that says so.
export function parseValue(argument: Argument, text: string): unknown {
  if (text === "" && !argument.required) return undefined;
  switch (argument.form) {
    case "number": {
      const value = Number(text.trim());
      if (text.trim() === "" || !Number.isFinite(value)) throw new BadValue(`${argument.name} must be a number`);
      return value;
    }
    case "boolean":
      if (/^(yes|true|1|y)$/i.test(text.trim())) return true;
      if (/^(no|false|0|n)$/i.test(text.trim())) return false;
      throw new BadValue(`${argument.name} is yes or no`);
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new BadValue(`${argument.name} must be JSON, such as ${example(argument.name)}`);
      }
    case "choice":
      if (!argument.choices.includes(text)) throw new BadValue(`one of: ${argument.choices.join(", ")}`);
      return text;
    default:
      // Somebody who types a line into a one-line box means Enter at its end where they write \n.
      return argument.name === "text" || argument.name === "content" ? text.replaceAll("\\n", "\n") : text;
  }
}

function example(name: string): string {
  return name === "ranges" ? '[{"startLine": 1, "endLine": 3}]' : name === "sizes" ? "[50, 50]" : "{}";
}
