import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Config } from '../../core/config.ts';
import { type ContextFile, firstPromptText } from '../../core/runs/first-prompt-text.ts';
import type { Run } from '../../core/runs/run.ts';
import { isMainOnly } from '../../core/runs/run-settings-lists.ts';
import type { RunSettings } from '../../core/runs/settings.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import type { Project } from '../../hooks/decision.ts';
import { decideOnData } from '../../hooks/invocation.ts';
import { decideSubagentStart } from '../../hooks/subagent-context.ts';
import { loadConfig } from '../../store/config.ts';
import { noteGiven } from '../../store/given-note.ts';
import { redactText } from '../../store/redact-rows.ts';
import { pathExists } from '../../sys/runtime-bun.ts';
import { projectOfDirectory } from './run-project.ts';

/** Of each file, in UTF-16 units. */
const FILE_LENGTH_MAX = 32 * 1024;
const FILES_MAX = 8;
const UTF8_BYTES_MAX = 4;
const LEVELS_MAX = 32;
/** The agent that has no name of its own: it works on code, whatever the project. */
const MAIN_AGENT = 'main';

export type PromptWorld = { readonly paths: StatePaths; readonly now: () => Date };

/**
 * What the client is asked first: who it is, the files of the workspace that sub-agents are given (R51), what is known
 * in this project, and the task. A file that is missing or cannot be had is left out. Never throws.
 */
export function firstPrompt(run: Run, settings: RunSettings, world: PromptWorld): string {
  const config = loadConfig(world.paths);
  const { workspace } = settings.agents.find(({ id }) => id === run.agentId) ?? { workspace: null };
  return firstPromptText({
    language: config.language,
    task: run.task,
    requester: run.requester.key,
    childKey: run.childKey,
    nonce: nonceOf(run),
    files: contextFiles(workspace === null ? directoriesOf(run) : [workspace], settings.contextFiles),
    knowledge: knowledgeFor(run, config, world),
    isInline: settings.announce.mode === 'inline',
  });
}

/** Of this run alone, and the same at each try: whoever wrote the project's files could not know it. */
function nonceOf({ id }: Run): string {
  return createHash('sha256').update(`first prompt of ${id}`).digest('hex').slice(0, 16);
}

/** What the hook would tell a sub-agent of this name; nothing when the database cannot be read. */
function knowledgeFor(run: Run, config: Config, { paths, now }: PromptWorld): string {
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
  } as const;
  try {
    const decideWith = (knowledge: Parameters<Parameters<typeof decideOnData>[0]>[0]) =>
      decideSubagentStart(event, { ...context, knowledge });
    const text = decideOnData(decideWith, { paths, now: now() }).reply?.context ?? '';
    if (text !== '') note(text, { event, project: context.project }, { paths, now });
    return text;
  } catch {
    return ''; // A sub-agent without it is better than none; doctor says what is wrong with the database.
  }
}

type Told = {
  readonly event: { readonly sessionId: string; readonly agentId: string; readonly agentType: string };
  readonly project: Project;
};

/** As the hook does it, so that `status` shows this agent too. */
function note(text: string, { event, project }: Told, { paths, now }: PromptWorld): void {
  const { sessionId, agentId, agentType } = event;
  const ts = now().toISOString();
  noteGiven(
    { ts, sessionId, agentId, agentType, project: project.name, projectPath: project.path ?? '', text },
    paths,
  );
}

/** Where the run works; behind a working tree of its own the place that it was made from, with what is not committed. */
function directoriesOf({ cwd, worktree }: Run): string[] {
  return worktree === null ? [cwd] : [cwd, join(worktree.repository, relative(worktree.path, cwd))];
}

/** The files, in the order of the settings; each from the first of these, or the nearest above it in its repository. */
function contextFiles(workspaces: readonly string[], names: readonly string[]): ContextFile[] {
  const places = workspaces.flatMap((workspace) => {
    const chain = withinRepository(workspace);
    return chain.map((place) => ({ place, root: chain.at(-1) ?? workspace }));
  });
  return names
    .filter((name) => !isMainOnly(name) && !isAbsolute(name))
    .slice(0, FILES_MAX)
    .flatMap((name) => {
      for (const { place, root } of places) {
        const file = readInside(root, join(place, name));
        if (file !== undefined) return [{ name, ...file }];
      }
      return [];
    });
}

/**
 * The directory and those above it, up to the root of the repository; only itself outside of one. All of one owner:
 * others could put a file above, or what looks like a repository.
 */
function withinRepository(directory: string): string[] {
  const start = resolve(directory);
  const owner = ownerOf(start);
  const chain: string[] = [];
  for (let at = start; chain.length < LEVELS_MAX && ownerOf(at) === owner; at = dirname(at)) {
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

function ownerOf(directory: string): number | undefined {
  return lookAt(directory)?.uid;
}

function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // Missing, or hidden from us.
  }
}

/** The beginning of a text file; undefined when there is none, or when it lies outside of the root behind its links. */
function readInside(root: string, path: string): Pick<ContextFile, 'text' | 'isCut'> | undefined {
  try {
    const real = realpathSync(path);
    const home = realpathSync(root);
    if (!real.startsWith(home.endsWith(sep) ? home : home + sep) || isMainOnly(real)) return undefined;
    const { text, bytes } = readBeginning(real, FILE_LENGTH_MAX * UTF8_BYTES_MAX);
    if (text.trim() === '' || text.includes('\0')) return undefined;
    const taken = cutText(text, FILE_LENGTH_MAX);
    return { text: taken, isCut: taken.length < text.length || bytes > FILE_LENGTH_MAX * UTF8_BYTES_MAX };
  } catch {
    return undefined; // Missing, or not to be read: the project has no such file for a sub-agent.
  }
}

function readBeginning(path: string, bytesMax: number): { text: string; bytes: number } {
  // Without O_NONBLOCK a pipe of this name would be waited for.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error(`Cannot read "${path}": it is no file`);
    const buffer = Buffer.alloc(Math.min(stats.size, bytesMax));
    const length = readSync(file, buffer, 0, buffer.length, 0);
    // A character that the end cuts in two is left out by the decoder as long as it is told that more follows.
    const text = new TextDecoder('utf-8').decode(buffer.subarray(0, length), {
      stream: stats.size > bytesMax,
    });
    return { text, bytes: stats.size };
  } finally {
    closeSync(file);
  }
}
