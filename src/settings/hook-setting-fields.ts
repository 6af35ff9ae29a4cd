import { isRecord, type Json } from '../core/guards.ts';
import { type Config, HOOK_SETTINGS } from './hook-settings.ts';
import { RUN_SETTINGS } from './run-settings.ts';
import { isSetting, readSection, type Section, type Setting } from './setting.ts';
import { takeSection, takeSetting } from './take-section.ts';

/** A field that was not taken as it stands: where, what was found, what is used instead. */
export type ConfigProblem = { readonly key: string; readonly found: unknown; readonly message: string };

export type ConfigField = Setting & { readonly key: string };

const SETTINGS = { ...HOOK_SETTINGS, ...RUN_SETTINGS };

/** One row per setting, in the order in which they are listed: the README's table and `config` read this. */
export const CONFIG_FIELDS = fieldsOf(SETTINGS, '');

function fieldsOf(section: Section, place: string): ConfigField[] {
  return Object.entries(section).flatMap(([name, row]) =>
    isSetting(row) ? { key: place + name, ...row } : fieldsOf(row, `${place}${name}.`),
  );
}

/** Whether nothing is wrong with the value. */
export function isAccepted(field: ConfigField, value: unknown): boolean {
  let problems = 0;
  takeSetting(field, value, () => problems++);
  return problems === 0;
}

/** What is in force at every setting, and what is wrong with the document. Unknown keys are kept by writers. */
export function parseConfig(document: unknown): { config: Config & Json; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  if (!isRecord(document)) {
    const message = 'expected a JSON object; every setting has its default';
    problems.push({ key: '', found: document, message });
  }
  takeSection(SETTINGS, document, (key, found, message) => problems.push({ key, found, message }));
  return { config: readSection(SETTINGS, document), problems };
}

/** The value at a key, or undefined. A dot leads into a section. */
export function readPath(source: unknown, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), source);
}

/** Sets the value at a key in place, making the sections between. */
export function writePath(target: Json, key: string, value: unknown): void {
  if (key.includes('__proto__')) return; // Would change every object instead of this one.
  const names = key.split('.');
  const last = names.pop() as string;
  let section = target;
  for (const name of names) {
    const found = readPath(section, name);
    const next: Json = isRecord(found) ? found : {};
    section[name] = next;
    section = next;
  }
  section[last] = value;
}
