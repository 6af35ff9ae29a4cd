import { join } from 'node:path';
import { readAgentFiles, writingAgents } from '../../clients/claude/setup.ts';
import { isCodeAgent } from '../../hooks/subagent-context.ts';
import { parseSettings, readConfig } from '../../settings/hook-settings.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import { type CheckWorld, type Finding, ok, warning } from '../checks.ts';
import { knownManifest, locate } from '../manifest.ts';

const GENERAL = 'general-purpose';
const REMEDY = `self-generation config set subagentContext.agents '["${GENERAL}"]'`;

/** Whether any sub-agent of Claude Code that can change files is given context; nothing where that client is not set up. */
export function checkAgents({
  paths,
  env,
  platform,
}: Pick<CheckWorld, 'paths' | 'env' | 'platform'>): Finding[] {
  const place = locate(env, platform);
  if (place.kind === 'failed' || knownManifest(paths.manifest)?.settings.length === 0) return [];
  const settings = parseSettings(readTextFile(paths.config) ?? '{}');
  if (settings === undefined) return []; // The check of config.json says so.
  const { subagentContext } = readConfig(settings);
  const own = writingAgents(readAgentFiles(join(place.claudeDirectory, 'agents')).map(({ text }) => text));
  const agents = [...new Set([GENERAL, ...own])];
  const told = agents.filter((agent) => isCodeAgent(agent, subagentContext));
  if (told.includes(GENERAL)) return [ok(`given to ${told.join(', ')}`)];
  const missing = `${GENERAL}, Claude Code's own agent for all work, is given nothing`;
  if (told.length > 0) return [ok(`given to ${told.join(', ')}; ${missing}`)];
  const isExcluded = subagentContext.excludeAgents.some((name) => GENERAL.includes(name));
  const remedy = isExcluded ? `Take it out of subagentContext.excludeAgents, then: ${REMEDY}` : REMEDY;
  return [warning(`no sub-agent would be given anything: ${missing}`, remedy)];
}
