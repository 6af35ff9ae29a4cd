import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readAgentFiles, writingAgents } from '../../clients/claude/setup.ts';
import { writingSubAgents } from '../../clients/opencode/agents.ts';
import type { ClientName } from '../../core/client-name.ts';
import { isRecord, lookOr, parseJson, readTexts } from '../../core/guards.ts';
import { readPath, writePath } from '../../settings/all-settings.ts';
import { type Config, parseSettings } from '../../settings/hook-settings.ts';
import type { RunSettings } from '../../settings/run-settings.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import type { ClientChoices } from '../clients/set-up.ts';
import { editFile, type FileRecord, Refused, readText, type Work } from '../file-plan.ts';
import type { Manifest, Place } from '../manifest.ts';
import { mcpFile } from '../mcp-registration.ts';
import { type LanguageChoice, languageWords } from './language.ts';

/** What install writes into config.json. What its user has set there is never changed. */

/** What the user answered, or the machine says. */
export type Answers = {
  readonly language?: LanguageChoice | undefined;
  readonly analysisOnSessionEnd?: boolean | undefined;
  readonly lessonsModel?: Config['lessons']['model'] | undefined;
  readonly wake?: RunSettings['announce']['wake'] | undefined;
  readonly holdOut?: Config['proof']['holdOut'] | undefined;
};

type ConfigOptions = Answers & {
  /** Where the user is: its `.claude/agents` are read. */
  readonly projectDirectory: string;
  readonly clients?: ClientChoices;
  readonly now: () => Date;
  readonly earlier: Manifest | undefined;
};

/** `written`: the text, where all of it is install's own; `record`: of a file of the user's, to be restored. */
export type WrittenConfig = { readonly written?: string; readonly record?: FileRecord };

/** By the keys of settings. */
type NewSettings = Readonly<Record<string, unknown>>;

/** Writes what is not decided yet: all of it into a new file, into the user's own what install cannot do without. */
export function writeConfig(
  place: Place,
  clients: readonly ClientName[],
  options: ConfigOptions,
  work: Work,
): WrittenConfig {
  if (existsSync(place.paths.config)) return completeConfig(place, clients, options, work);
  const { analysisOnSessionEnd, lessonsModel, wake, holdOut, now, language } = options;
  const { config: path, backups } = place.paths;
  const agents = agentsOf(place, clients, options);
  const settings = settingsText({
    language: language?.language,
    'subagentContext.agents': agents,
    'lessons.model': lessonsModel,
    analysisOnSessionEnd,
    'announce.wake': wake,
    'proof.holdOut': holdOut,
    'prune.enabled': prunes(clients, options),
  });
  const edit = (standing?: string) => standing ?? settings;
  try {
    const note = noteOf(agents, language);
    const { isChanged } = editFile({ path, what: 'config', edit, note }, { backups, now, work });
    return isChanged ? { written: settings } : {};
  } catch (error) {
    if (error instanceof Refused) return {}; // Somebody else writes it, and every setting has its default.
    throw error;
  }
}

const noteOf = (agents: readonly string[] | undefined, language: LanguageChoice | undefined) =>
  [agents && `for ${agents.join(', ')}`, language && languageWords(language)].filter(Boolean).join('; ');

/** What stands in the user's own file stays as it is. */
function completeConfig(
  place: Place,
  clients: readonly ClientName[],
  options: ConfigOptions,
  work: Work,
): WrittenConfig {
  const { earlier, holdOut, now } = options;
  const { config: path, backups } = place.paths;
  const text = readText(path) ?? '{}';
  const values = lookOr(() => parseSettings(text), undefined);
  const isSet = (key: string) => isRecord(values) && readPath(values, key) !== undefined;
  const agents = AGENT_KEYS.some(isSet) ? undefined : agentsOf(place, clients, options);
  const language = isSet('language') ? undefined : newLanguage(options);
  const answers = {
    'subagentContext.agents': agents,
    language: language?.language,
    'proof.holdOut': holdOut,
    'prune.enabled': isSet('prune.enabled') ? undefined : prunes(clients, options),
  };
  const after = withAnswers(text, answers);
  const note = keptNote(values, { place, options, answers: after === undefined ? answers : {} });
  if (after === undefined || after === text) {
    work.steps.push({ what: 'config', path, change: 'unchanged', ...(note && { note }) });
    return { ...(earlier?.config && { record: earlier.config }) };
  }
  const written = noteOf(agents, language);
  if (text === earlier?.configWritten) {
    work.steps.push({ what: 'config', path, change: 'updated', ...(written && { note: written }) });
    if (!work.dryRun) writeFileAtomic(path, after, { mode: 0o600 });
    return { written: after };
  }
  const edit = (standing = '{}') => withAnswers(standing, answers) ?? standing;
  const known = earlier?.config;
  const change = { path, what: 'config', edit, known, ...(written && { note: written }) } as const;
  return { record: editFile(change, { backups, now, work }).record };
}

/** By which the user says who is told something. */
const AGENT_KEYS = ['subagentContext.agents', 'subagentContext.excludeAgents'];

/** An update does not change the language that agents have been told things in. */
function newLanguage({ language, earlier }: ConfigOptions): LanguageChoice | undefined {
  return earlier === undefined || language?.by === 'user' ? language : undefined;
}

/** The settings with these answers; undefined where comments would be lost. */
function withAnswers(text: string, answers: NewSettings): string | undefined {
  const values = parseJson(text);
  if (!isRecord(values)) return undefined;
  const given = Object.entries(answers).filter(([, answer]) => answer !== undefined);
  if (given.every(([key, answer]) => readPath(values, key) === answer)) return text;
  for (const [key, answer] of given) writePath(values, key, answer);
  return textOf(values);
}

function settingsText(answers: NewSettings): string {
  return withAnswers('{}', answers) ?? '{}';
}

const textOf = (values: object) => `${JSON.stringify(values, null, 2)}\n`;

/** A plugin of OpenCode that nobody has asked for tells what was learned, and leaves main sessions as they are. */
function prunes(clients: readonly ClientName[], { clients: choices, earlier }: ConfigOptions) {
  const isAsked = choices?.opencode === true;
  const isThere = earlier?.clients?.some(({ client }) => client === 'opencode') === true;
  return clients.includes('opencode') && !isAsked && !isThere ? false : undefined;
}

type Kept = { readonly place: Place; readonly options: ConfigOptions; readonly answers: NewSettings };

/** The commands that would set what was asked for, where the user has decided otherwise or the file has comments. */
function keptNote(values: unknown, { place, options, answers }: Kept): string | undefined {
  const { analysisOnSessionEnd, lessonsModel, wake, language } = options;
  const named = readTexts(isRecord(values) ? readPath(values, AGENT_KEYS[0] ?? '') : undefined);
  const asked = Object.keys(options.clients ?? {}).filter((client) => options.clients?.[client]);
  const agents = [...new Set([...named, ...opencodeAgents(place, asked, options)])];
  const isSet = isRecord(values) && readPath(values, 'language') !== undefined;
  const wanted: NewSettings = {
    ...answers,
    ...{ analysisOnSessionEnd, 'lessons.model': lessonsModel, 'announce.wake': wake },
    ...(language?.by === 'user' && isSet && { language: language.language }),
    ...(named.length > 0 && agents.length > named.length && { 'subagentContext.agents': agents }),
  };
  const commands = Object.entries(wanted)
    .filter(([key, one]) => one !== undefined && !(isRecord(values) && readPath(values, key) === one))
    .map(
      ([key, one]) => `self-generation config set ${key} ${isWord(one) ? one : `'${JSON.stringify(one)}'`}`,
    );
  return commands.length === 0 ? undefined : `as you have it: ${commands.join('; ')}`;
}

const isWord = (value: unknown) => typeof value === 'string' || typeof value === 'boolean';

/** The general agent, and those of the user and the project that can change files. */
function agentsOf(place: Place, clients: readonly ClientName[], options: ConfigOptions): string[] {
  const { projectDirectory } = options;
  const directories = [join(place.claudeDirectory, 'agents'), join(projectDirectory, '.claude', 'agents')];
  const own = writingAgents(directories.flatMap(readAgentFiles).map(({ text }) => text));
  return [...new Set(['general-purpose', ...own, ...opencodeAgents(place, clients, options)])];
}

/** The user's own of OpenCode, if that is set up. It reads both spellings of the folder. */
function opencodeAgents(
  place: Place,
  clients: readonly ClientName[],
  { projectDirectory }: ConfigOptions,
): string[] {
  if (!clients.includes('opencode')) return [];
  const { path, directory } = mcpFile('opencode', place);
  const folders = [directory, join(projectDirectory, '.opencode')].flatMap((one) => [
    join(one, 'agent'),
    join(one, 'agents'),
  ]);
  const config = lookOr(() => readText(path), undefined) ?? '{}';
  return writingSubAgents(config, folders.flatMap(readAgentFiles));
}
