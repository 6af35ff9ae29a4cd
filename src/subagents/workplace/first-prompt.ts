import { createHash } from 'node:crypto';
import type { Config } from '../../core/config.ts';
import { firstPromptText } from '../../core/runs/first-prompt-text.ts';
import type { Run } from '../../core/runs/run.ts';
import type { RunSettings } from '../../core/runs/settings.ts';
import { decideOnData } from '../../hooks/invocation.ts';
import { decideSubagentStart } from '../../hooks/subagent-context.ts';
import { loadConfig } from '../../store/config.ts';
import { noteGiven } from '../../store/given-note.ts';
import { redactText } from '../../store/redact-rows.ts';
import type { RunsWorld } from '../features.ts';
import { contextFiles } from './context-files.ts';
import { projectOfDirectory } from './run-project.ts';
import { directoryBefore, uncommittedFiles } from './worktree.ts';

/** The agent that has no name of its own: it works on code, whatever the project. */
const MAIN_AGENT = 'main';

type PromptWorld = Pick<RunsWorld, 'paths' | 'env' | 'now'>;

/** What the client is asked first: who it is, the workspace's files (R51), what is known, and the task. Never throws. */
export async function firstPrompt(run: Run, settings: RunSettings, world: PromptWorld): Promise<string> {
  const config = loadConfig(world.paths);
  const { workspace } = settings.agents.find(({ id }) => id === run.agentId) ?? { workspace: null };
  // Behind a working tree of its own the place that it was made from, with what is not committed.
  const own = run.worktree === null ? [run.cwd] : [run.cwd, directoryBefore(run)];
  return firstPromptText({
    language: config.language,
    task: run.task,
    requester: run.requester.key,
    childKey: run.childKey,
    nonce: nonceOf(run),
    uncommitted: run.worktree === null ? 0 : await uncommittedFiles(run.worktree.repository, world.env),
    files: await contextFiles(workspace === null ? own : [workspace], settings.contextFiles, world.env),
    knowledge: knowledgeFor(run, config, world),
    isInline: settings.announce.mode === 'inline',
  });
}

/** Of this run alone, and the same at each try: whoever wrote the project's files could not know it. */
function nonceOf({ id }: Run): string {
  return createHash('sha256').update(`first prompt of ${id}`).digest('hex').slice(0, 16);
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
  } as const;
  try {
    const decideWith = (knowledge: Parameters<Parameters<typeof decideOnData>[0]>[0]) =>
      decideSubagentStart(event, { ...context, knowledge });
    const text = decideOnData(decideWith, { paths, now: now() }).reply?.context ?? '';
    if (text === '') return text;
    // As the hook does it, so that `status` shows this agent too.
    const { name, path } = context.project;
    const { sessionId, agentId, agentType } = event;
    const agent = { sessionId, agentId, agentType, project: name, projectPath: path ?? '' };
    noteGiven({ ...agent, ts: now().toISOString(), text }, paths);
    return text;
  } catch {
    return ''; // A sub-agent without it is better than none; doctor says what is wrong with the database.
  }
}
