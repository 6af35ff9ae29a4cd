import { isRecord, type Json } from '../core/guards.ts';
import { isSetting, type Report, type Section, type Setting } from './setting.ts';

export const NO_SUCH_SETTING = 'no such setting; it has no effect';

/** What a document says about the section; what is good for nothing is reported, as is a name that is no setting. */
export function takeSection(section: Section, document: unknown, report: Report): Json {
  const taken: Json = {};
  for (const [name, found] of Object.entries(isRecord(document) ? document : {})) {
    const row = Object.hasOwn(section, name) ? section[name] : undefined;
    if (row === undefined) report(name, found, NO_SUCH_SETTING);
    else if (isSetting(row)) taken[name] = takeSetting(row, found, under(name, report));
    else if (isRecord(found)) taken[name] = takeSection(row, found, under(`${name}.`, report));
    else report(name, found, 'expected an object; its settings have defaults');
  }
  return taken;
}

/** What is taken of what stands at a setting; undefined, which is reported: the default. */
export function takeSetting(row: Setting, found: unknown, report: Report): unknown {
  const value = row.read(found, report);
  if (value === undefined)
    report('', found, `expected ${row.expected}; ${JSON.stringify(row.default)} is used`);
  return value;
}

/** Reports what is wrong below a place. */
export function under(place: string, report: Report): Report {
  return (key, found, message) => report(place + key, found, message);
}
