import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Node } from 'jsonc-parser';
import { clientNamed } from '../../clients/clients.ts';
import { lookOr } from '../../core/guards.ts';
import { prunesMainSessions } from '../../settings/prune-settings.ts';
import { realPath } from '../../system/atomic-file.ts';
import { LOG_DAYS, MS_PER_DAY, ok, warning } from '../checks.ts';
import { readText } from '../file-plan.ts';
import {
  appendTo,
  holderIn,
  insertAt,
  items,
  jsonOf,
  parseDocument,
  propertyValue,
  removeNode,
  reparse,
  replaceNode,
  withoutBlank,
} from '../json-file.ts';
import type { Place } from '../manifest.ts';
import { type ClientSetup, userOf } from './client-setup.ts';

declare const SELF_GENERATION_OPENCODE_PLUGIN: string | undefined;

/** The plugin of OpenCode, written in by the build; from source one that does nothing. */
const PLUGIN_TEXT: string =
  typeof SELF_GENERATION_OPENCODE_PLUGIN === 'string'
    ? SELF_GENERATION_OPENCODE_PLUGIN
    : "export default { id: 'self-generation', server: async () => ({}) };\n";

const FAILURE_LINE = /^(\S+) ERROR (.*)$/;

const PRUNES =
  'OpenCode: what repeats itself is left out of the requests of main sessions; "config set prune.enabled false" ends that.';
const LEAVES =
  'OpenCode: main sessions stay as they are; "config set prune.enabled true" leaves out of their requests what repeats itself.';
const KEY = 'plugin';

/** OpenCode's files in the user's directory, the strongest first. */
const FILES = ['opencode.jsonc', 'opencode.json', 'config.json'];

/**
 * The file in the directory of this one in which a plugin has to be named: of several that list plugins OpenCode goes by the
 * strongest alone, so that a list in another one would switch off all that the user has there.
 */
function pluginPath(path: string): string {
  const files = FILES.map((name) => join(dirname(path), name));
  const listIn = (file: string) => propertyValue(parseDocument(readText(file) ?? '').root, KEY);
  return files.find((file) => lookOr(() => listIn(file) !== undefined, false)) ?? path;
}

/** The entry of OpenCode's configuration that loads our plugin: how it is set, taken out and seen. */
function pluginEntry({ paths, binaryBefore = paths.binary }: Place) {
  const wanted = pathToFileURL(paths.opencodePlugin).href;
  const before = join(dirname(dirname(binaryBefore)), 'opencode-plugin.js');
  const files = [paths.opencodePlugin, realPath(paths.opencodePlugin), before];
  const isOurs = (node: Node) => {
    const name = jsonOf(nameIn(node));
    return typeof name === 'string' && files.includes(lookOr(() => fileURLToPath(name), name));
  };
  const find = (text: string) => items(propertyValue(parseDocument(text).root, KEY)).find(isOurs);
  return {
    /** The text with the entry; one that is there keeps its place and its options. @throws Refused */
    set: (text = ''): string => {
      const document = parseDocument(
        text,
        `${JSON.stringify(clientNamed('opencode').server.fresh, null, 2)}\n`,
      );
      const list = holderIn(document.text, document.root, KEY, 'array');
      const standing = items(list).find(isOurs);
      if (list === undefined) return reparse(insertAt(document, [KEY], [wanted])).text;
      if (standing === undefined) return reparse(appendTo(document, list, { value: wanted })).text;
      const name = nameIn(standing);
      return jsonOf(name) === wanted ? document.text : reparse(replaceNode(document, name, wanted)).text;
    },
    /** The text without it, and without its list if that was not in the original and is empty. @throws Refused */
    remove: (text: string, original = ''): string => {
      const standing = find(text);
      return standing === undefined ? text : withoutBlank(removeNode(text, standing), KEY, original);
    },
    /** Whether it stands there; false for a text that cannot be read. */
    isIn: (text: string): boolean => lookOr(() => find(text) !== undefined, false),
  };
}

/** A plugin is a text, or a list of it and its options. */
function nameIn(node: Node): Node {
  return (node.type === 'array' ? node.children?.[0] : undefined) ?? node;
}

/** The plugin and its entry, as it was with earlier installs, whichever of OpenCode's files has the list by now. */
export const opencode: ClientSetup = {
  paths: (place) => [pluginPath(clientNamed('opencode').server.place(userOf(place)).path)],
  partAt: (path, place) => {
    const { set, remove, isIn } = pluginEntry(place);
    return { path, what: 'plugin', set, remove, holdsOurs: isIn };
  },
  script: ({ paths }) => ({ path: paths.opencodePlugin, text: PLUGIN_TEXT }),
  finish: async ({ earlier, place: { paths } }) => {
    const isNew = earlier?.clients?.some(({ client }) => client === 'opencode') !== true;
    return { records: [], notes: isNew ? [prunesMainSessions(paths) ? PRUNES : LEAVES] : [] };
  },
  check: ({ paths, install, now }, place, records) => {
    const remedy = `Run: ${install} --opencode`;
    const { isIn } = pluginEntry(place);
    const files = [...new Set(records.map(({ path }) => pluginPath(path)))];
    const findings = files.flatMap((path) =>
      isIn(readText(path) ?? '') ? [] : [warning(`the plugin is not in ${path}`, remedy)],
    );
    if (readText(paths.opencodePlugin) !== PLUGIN_TEXT)
      findings.push(warning(`${paths.opencodePlugin} is not that of this program`, remedy));
    const failure = lookOr(() => readText(paths.opencodeLog) ?? '', '')
      .split('\n')
      .findLast((line) => FAILURE_LINE.test(line));
    const [, ts = '', said = ''] = FAILURE_LINE.exec(failure ?? '') ?? [];
    if (Date.parse(ts) > now.getTime() - LOG_DAYS * MS_PER_DAY)
      findings.push(warning(`${said} (${ts})`, `All of its log: ${paths.opencodeLog}`));
    return findings.length > 0 ? findings : [ok(`loads the plugin, which is in ${files.join(', ')}`)];
  },
};
