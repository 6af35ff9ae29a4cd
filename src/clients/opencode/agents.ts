import { isRecord, type Json, lookOr, readRecord } from '../../core/guards.ts';
import { frontmatterOf } from '../user-files.ts';
import { saidOfTools } from './configuration.ts';

/** Of these, one knows whether to tell them. */
const BUILT_IN = ['build', 'plan', 'general', 'explore'];
/** A shorter one would be found inside nearly every other, and nothing in it means something to a shell in quotes. */
const USABLE_NAME = /^[\p{L}\p{N}_./ -]{3,100}$/u;

/** An agent's file: its path below the folder of agents, and its text. */
export type AgentFile = { readonly name: string; readonly text: string };

/**
 * The user's own sub-agents of OpenCode that may change files: of its configuration, and of files of their own. Each once.
 * Never throws: what cannot be understood is passed over.
 */
export function writingSubAgents(config: string, files: readonly AgentFile[]): string[] {
  const configured = lookOr(() => Bun.JSONC.parse(config), undefined);
  const agents: readonly (readonly [string, unknown])[] = [
    ...Object.entries(readRecord(isRecord(configured) ? configured : {}, 'agent')),
    ...files.map(
      ({ name, text }) =>
        [name.replace(/\.md$/, ''), lookOr(() => Bun.YAML.parse(frontmatterOf(text)), undefined)] as const,
    ),
  ];
  const writing = agents.filter(
    ([name, agent]) =>
      USABLE_NAME.test(name) &&
      isRecord(agent) &&
      mayBeSubAgent(agent) &&
      mayWrite(agent) &&
      !BUILT_IN.some((one) => one.includes(name)),
  );
  return [...new Set(writing.map(([name]) => name))];
}

/** Without a word of it, an agent is both. */
function mayBeSubAgent({ mode = 'all', disable }: Json): boolean {
  return (mode === 'subagent' || mode === 'all') && disable !== true;
}

function mayWrite(agent: Json): boolean {
  const said = saidOfTools(agent);
  const edit = said.edit ?? said['*'] ?? 'allow';
  return edit !== 'deny' && !(isRecord(edit) && Object.values(edit).every((action) => action === 'deny'));
}
