import { existsSync } from 'node:fs';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { realPath } from '../sys/atomic-file.ts';
import type { Manifest, McpRecord } from './manifest.ts';
import { type McpOwner, mcpFile } from './mcp-clients.ts';
import { commandPath, removeCommand } from './slash-command.ts';
import type { SetupStep } from './steps.ts';
import { type FilePlan, planUndo } from './undo-file.ts';

type Known = Pick<McpRecord, 'client' | 'path'> & Partial<McpRecord>;

/**
 * What is to become of every file that install told of the MCP server, and of those of this environment's clients: an
 * install that was cut off has written nothing down. @throws Error when a file cannot be read.
 */
export function planMcp(owner: McpOwner, manifest: Manifest | undefined): FilePlan[] {
  const recorded: readonly Known[] = manifest?.mcp ?? [];
  const here: Known[] = [
    ...CLIENT_NAMES.map((client) => ({ client, path: mcpFile(client, owner).path })),
    // Nobody else writes that very text.
    { client: 'command', path: commandPath(owner.place), before: { kind: 'absent' } },
  ];
  const isRecorded = ({ path }: Known) => recorded.some((one) => realPath(one.path) === realPath(path));
  const others = here.filter((one) => !isRecorded(one) && existsSync(one.path));
  const planFor = (record: Known) =>
    planUndo(
      record,
      record.client === 'command' ? removeCommand : mcpFile(record.client, owner, record.path).remove,
    );
  return [...recorded.map(planFor), ...others.flatMap((record) => orNothing(() => planFor(record)))];
}

/** Files of which nothing is known, and in which nothing is seen to be ours, are nobody's business here. */
function orNothing(plan: () => FilePlan): FilePlan[] {
  try {
    const made = plan();
    return made.kind === 'leave' || made.kind === 'refused' ? [] : [made];
  } catch {
    return [];
  }
}

/** Commands that the user has made their own: they stay. */
export function changedCommands(plans: readonly FilePlan[], manifest: Manifest | undefined): SetupStep[] {
  const paths = (manifest?.mcp ?? []).filter(({ client }) => client === 'command').map(({ path }) => path);
  return plans
    .filter(({ kind, path, textNow }) => kind === 'leave' && textNow !== undefined && paths.includes(path))
    .map(({ path }) => ({ what: 'mcp', path, change: 'kept', note: 'you have changed it' }));
}
