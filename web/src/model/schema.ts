// What a command asks for, read from its JSON Schema, and how typed text becomes a value.

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
  hand: boolean | string[]; // whether it needs the person's signature, or which arguments do
  readOnly: boolean;
  undoable: boolean;
  example: Record<string, unknown> | null;
  announced: boolean; // run by a program outside
}

export interface Manifest {
  version: string;
  commands: unknown;
}

type Bag = Record<string, unknown>;
const DEPTH = 8;

// The commands of a manifest of any origin: what is missing or odd in one gets a default, and one that cannot be used is
// passed over and told of. One odd entry must never cost the others. Null where there is no list at all.
export function readCommands(commands: unknown, odd: (text: string) => void): ManifestCommand[] | null {
  if (!Array.isArray(commands)) {
    odd("the manifest has no list of commands");
    return null;
  }
  const found = new Map<string, ManifestCommand>();
  commands.forEach((entry: unknown, index) => {
    const command = readCommand(entry);
    if (!command) odd(`command ${index + 1} of the manifest has no id and is passed over`);
    else if (found.has(command.id)) odd(`${command.id} is in the manifest twice; the first one counts`);
    else found.set(command.id, command);
  });
  return [...found.values()];
}

function readCommand(entry: unknown): ManifestCommand | null {
  if (!isBag(entry) || typeof entry.id !== "string" || entry.id === "") return null;
  const actors = Array.isArray(entry.actors) ? entry.actors.filter((one) => typeof one === "string") : ["person", "agent"];
  return {
    id: entry.id,
    label: text(entry.label) || text(entry.name) || entry.id,
    description: text(entry.description),
    category: text(entry.category) || (entry.id.split(".")[1] ?? ""),
    arguments_schema: readSchema(entry.arguments_schema),
    key: text(entry.key) || null,
    danger: entry.danger === true,
    actors,
    hand: Array.isArray(entry.hand) ? entry.hand.filter((one) => typeof one === "string") : entry.hand === true,
    readOnly: entry.readOnly === true,
    undoable: entry.undoable === true,
    example: isBag(entry.example) ? entry.example : null,
    announced: entry.announced === true,
  };
}

// A schema of which every member that is read here is of the right kind; the others are left out.
function readSchema(value: unknown, depth = DEPTH): Schema {
  if (!isBag(value) || depth === 0) return {};
  const { type, properties, required, description, enum: choices, anyOf, items } = value;
  const schema: Schema = { ...value };
  const keep = <Name extends keyof Schema>(name: Name, wanted: boolean, good: () => Schema[Name]) => {
    if (wanted) schema[name] = good();
    else delete schema[name];
  };
  const texts = (list: unknown): string[] => (list as unknown[]).filter((one): one is string => typeof one === "string");
  const inner = (one: unknown): Schema => readSchema(one, depth - 1);
  keep("type", typeof type === "string" || Array.isArray(type), () => (typeof type === "string" ? type : texts(type)));
  keep("properties", isBag(properties), () => Object.fromEntries(Object.entries(properties as Bag).map(([name, one]) => [name, inner(one)])));
  keep("required", Array.isArray(required), () => texts(required));
  keep("description", typeof description === "string", () => description as string);
  keep("enum", Array.isArray(choices), () => choices as unknown[]);
  keep("anyOf", Array.isArray(anyOf), () => (anyOf as unknown[]).map(inner));
  keep("items", items !== undefined, () => inner(items));
  return schema;
}

function isBag(value: unknown): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
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
      // A person who types a line into a one-line box means Enter at its end where they write \n.
      return argument.name === "text" || argument.name === "content" ? text.replaceAll("\\n", "\n") : text;
  }
}

function example(name: string): string {
  return name === "ranges" ? '[{"startLine": 1, "endLine": 3}]' : name === "sizes" ? "[50, 50]" : "{}";
}
