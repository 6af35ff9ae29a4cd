import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { lookOr } from '../../core/guards.ts';
import { canonicalProjectPath, getProjectName, projectPathSpellings } from '../../core/project.ts';
import { maskSensitivePath, redactSecrets, stripPrivateTags } from '../../core/redact.ts';
import type { Environment } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import { redactText } from '../../database/adopt.ts';
import type { Project } from '../../hooks/decision.ts';
import { decideOnData, noteTold } from '../../hooks/invocation.ts';
import { decideSubagentStart } from '../../hooks/subagent-context.ts';
import { type Config, loadConfig } from '../../settings/hook-settings.ts';
import { isMainOnly, type RunSettings } from '../../settings/run-settings.ts';
import { pathExists, readTextFile } from '../../system/runtime-bun.ts';
import { PLAN_RULES, planPrompt } from '../context/plan.ts';
import { EXPLORE_TOOL } from '../model/profile.ts';
import { type ContextFile, explorePrompt, firstPromptText } from '../model/prompts.ts';
import type { Run } from '../model/run.ts';
import { isToolAllowed } from '../model/tool-policy.ts';
import { readRuns } from '../store/rows.ts';
import { handoverText } from '../store/runs.ts';
import type { RunsWorld } from '../world.ts';
import { gitIn } from './git.ts';
import { directoryBefore, uncommittedFiles } from './worktree.ts';

/** The project of a directory as the hooks know it: one for all worktrees of a repository. */
export function projectOfDirectory(directory: string): Project & { readonly path: string } {
  const path = canonicalProjectPath(directory, { readTextFile, pathExists });
  return { name: getProjectName(path), path, spellings: projectPathSpellings(path, directory) };
}

/**
 * The files of a workspace that sub-agents are given. A repository is somebody else's: what it calls `AGENTS.md` may lead
 * to a key. So a file is one that git tracks, or a plain file of that very name that git does not ignore.
 */

/** Of each file, in UTF-16 units. */
const FILE_LENGTH_MAX = 32 * 1024;
const FILE_BYTES_MAX = 4 * FILE_LENGTH_MAX;
const FILES_MAX = 8;
const LEVELS_MAX = 32;
/** Files with a project's rules for agents. */
const RULES = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'];

/** The files of these names, each from the first workspace that has it, or the nearest directory above. Without secrets. */
export async function contextFiles(
  workspaces: readonly string[],
  names: readonly string[],
  env: Environment,
): Promise<ContextFile[]> {
  const places = workspaces.flatMap((workspace) => {
    const chain = withinRepository(workspace);
    return chain.map((place) => ({ place, root: chain.at(-1) ?? workspace }));
  });
  const files: ContextFile[] = [];
  for (const name of names.filter((one) => !isMainOnly(one) && !isAbsolute(one)).slice(0, FILES_MAX)) {
    for (const { place, root } of places) {
      const found = lookOr(() => readPlaced(root, join(place, name)), undefined);
      const text = found && textOf(found);
      if (found === undefined || text === undefined || !(await isOfRepository(found, env))) continue;
      files.push({ name, ...text });
      break;
    }
  }
  return files;
}

/**
 * The file of rules that a project has instead of the `AGENTS.md` that sub-agents would be given. Null: there is none, or
 * it is among these names, or they do not ask for rules. No client reads one by itself when it works as a sub-agent.
 */
export function ungivenRules(workspace: string, names: readonly string[]): string | null {
  const places = withinRepository(workspace);
  const isThere = (name: string) => places.some((place) => pathExists(join(place, name)));
  if (!names.includes('AGENTS.md') || names.some((name) => RULES.includes(name) && isThere(name)))
    return null;
  return RULES.find(isThere) ?? null;
}

/** The directory and those above it up to its repository's root, else only itself; of one owner, as others could add files. */
function withinRepository(directory: string): string[] {
  const start = resolve(directory);
  const owner = lookAt(start)?.uid;
  const chain: string[] = [];
  for (let at = start; chain.length < LEVELS_MAX && lookAt(at)?.uid === owner; at = dirname(at)) {
    chain.push(at);
    if (isRepository(at)) return chain;
    if (dirname(at) === at) break;
  }
  return [start];
}

function isRepository(directory: string): boolean {
  const mark = join(directory, '.git');
  return pathExists(join(mark, 'HEAD')) || lookAt(mark)?.isFile() === true;
}

/** Undefined: missing, or hidden from us. */
function lookAt(path: string): Stats | undefined {
  return lookOr(() => statSync(path), undefined);
}

/** A file below a root, with what shows whether its name can be trusted. */
type PlacedFile = {
  readonly root: string;
  /** From the root, without links. */
  readonly path: string;
  /** Whether no link leads to it, and it has no other name. */
  readonly isPlain: boolean;
  readonly hasOtherNames: boolean;
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
};

/** Undefined when links lead out of the root, or its name says that it is secret. @throws Error if it cannot be read */
function readPlaced(root: string, path: string): PlacedFile | undefined {
  const home = realpathSync(root);
  const real = realpathSync(path);
  const way = relative(home, real);
  if (way.startsWith('..') || isAbsolute(way) || way.split(sep).includes('.git')) return undefined;
  if (isMainOnly(real) || [way, path].some((one) => maskSensitivePath(one) !== one)) return undefined;
  // Only looked at: to open a device, or a pipe, may do something.
  if (!lstatSync(real).isFile()) return undefined;
  const { bytes, size, names } = readBeginning(real);
  const isPlain = names === 1 && real === resolve(home, relative(root, path));
  return { root: home, path: way, isPlain, hasOtherNames: names > 1, bytes, isWhole: bytes.length === size };
}

function readBeginning(path: string): { bytes: Uint8Array; size: number; names: number } {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error(`Cannot read "${path}": it is no file`);
    const buffer = Buffer.alloc(Math.min(stats.size, FILE_BYTES_MAX));
    const length = readSync(file, buffer, 0, buffer.length, 0);
    return { bytes: buffer.subarray(0, length), size: stats.size, names: stats.nlink };
  } finally {
    closeSync(file);
  }
}

/**
 * A tracked file is public to everybody with the repository, unless it is a hard link with other content. One that is not
 * tracked, or of which git cannot speak, has to be plain; an ignored one is private.
 */
async function isOfRepository(found: PlacedFile, env: Environment): Promise<boolean> {
  const { root, path, isPlain, hasOtherNames } = found;
  if (!isRepository(root)) return isPlain;
  const name = path.split(sep).join('/');
  const listing = ['ls-files', '-z', '--stage', '--others', '--exclude-standard', '--', name];
  const answer = await (await gitIn(root, env))(['--literal-pathspecs', ...listing]);
  if (answer.kind === 'failed') return isPlain;
  const line = answer.stdout.split('\0')[0] ?? '';
  if (line === name) return isPlain;
  const [, blob, tracked] = /^100\d{3} ([0-9a-f]+) 0\t([\s\S]*)$/.exec(line) ?? [];
  return blob !== undefined && tracked === name && (!hasOtherNames || isBlob(found, blob));
}

function isBlob({ bytes, isWhole }: PlacedFile, blob: string): boolean {
  const hash = createHash(blob.length === 40 ? 'sha1' : 'sha256');
  return isWhole && hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex') === blob;
}

/** Without secrets, and then cut: half of one is not recognised. Undefined when it is no text. */
function textOf({ bytes, isWhole }: PlacedFile): Pick<ContextFile, 'text' | 'isCut'> | undefined {
  // A character that the end cuts in two is left out by the decoder as long as it is told that more follows.
  const decoded = new TextDecoder().decode(bytes, { stream: !isWhole });
  if (decoded.trim() === '' || decoded.includes('\0')) return undefined;
  const text = redactSecrets(stripPrivateTags(decoded));
  const taken = cutText(text, FILE_LENGTH_MAX);
  return { text: taken, isCut: taken.length < text.length || !isWhole };
}

/** The agent without a name of its own, which works on code. */
const MAIN_AGENT = 'main';

type PromptWorld = Pick<RunsWorld, 'paths' | 'env' | 'now'>;

/** The first prompt: the role, the workspace's files (R51), known lessons, and the task; of a question the task alone. Never throws. */
export async function firstPrompt(run: Run, settings: RunSettings, world: PromptWorld): Promise<string> {
  // Of what is done for another machine, that has made the prompt.
  if (run.profile?.kind === 'ask' || run.pool?.kind === 'served') return run.task;
  const config = loadConfig(world.paths);
  const { workspace } = settings.agents.find(({ id }) => id === run.agentId) ?? { workspace: null };
  // Behind its own worktree also the directory that it was made from, with uncommitted files.
  const own = run.worktree === null ? [run.cwd] : [run.cwd, directoryBefore(run)];
  return firstPromptText({
    language: config.language,
    ...askedOf(run, world),
    requester: run.requester.key,
    childKey: run.childKey,
    // Of this run alone, and the same at each try: the authors of the project's files could not know it.
    nonce: createHash('sha256').update(`first prompt of ${run.id}`).digest('hex').slice(0, 16),
    uncommitted: run.worktree === null ? 0 : await uncommittedFiles(run.worktree.repository, world.env),
    files: await contextFiles(workspace === null ? own : [workspace], settings.contextFiles, world.env),
    knowledge: knowledgeFor(run, config, world),
    isInline: run.profile === null && run.part === null && settings.announce.mode === 'inline',
    isPart: run.part !== null,
    instructions: run.instructions,
  });
}

/** The task, and what the run was handed: in the task of a profile, beside any other. */
function askedOf({ id, task, profile, policy, handover: report }: Run, { paths }: PromptWorld) {
  const handover = report === null ? '' : (readRuns(paths, (db) => handoverText(id, db)) ?? '');
  if (profile?.kind !== 'explore' && profile?.kind !== 'plan')
    return { task, profile: null, rules: '', mayExplore: false, handover };
  const isPlan = profile.kind === 'plan';
  return {
    task: isPlan ? planPrompt(task, handover) : explorePrompt(task, handover),
    profile: profile.kind,
    rules: isPlan ? PLAN_RULES : '',
    mayExplore: isToolAllowed(policy, EXPLORE_TOOL),
    handover: '',
  };
}

/** What the hook would tell a sub-agent of this name; nothing when the database cannot be read. */
function knowledgeFor(run: Run, config: Config, { paths, now }: Omit<PromptWorld, 'env'>): string {
  const { subagentContext } = config;
  const agents =
    run.agentId === MAIN_AGENT ? [...subagentContext.agents, MAIN_AGENT] : subagentContext.agents;
  const context = {
    config: { ...config, subagentContext: { ...subagentContext, agents } },
    now: now(),
    project: projectOfDirectory(run.cwd),
    clean: redactText,
  };
  const event = {
    name: 'SubagentStart',
    sessionId: run.requester.session ?? run.childKey,
    cwd: run.cwd,
    agentId: run.id,
    agentType: run.agentId,
    client: run.requester.client ?? run.client,
  } as const;
  try {
    const from = { paths, now: context.now };
    const decision = decideOnData((knowledge) => decideSubagentStart(event, { ...context, knowledge }), from);
    // As the hook does it, so that `status` shows this agent too, and the ledger has what it was told.
    noteTold(decision, context, { event, paths, now: context.now });
    return decision.reply?.context ?? '';
  } catch {
    return ''; // A sub-agent without it is better than none; doctor says what is wrong with the database.
  }
}
