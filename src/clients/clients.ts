import type { ClientName } from '../core/client-name.ts';
import { claudeRun } from './claude/client.ts';
import type { RunClient } from './client.ts';
import { codexRun } from './codex/client.ts';
import { geminiRun } from './gemini/client.ts';
import { opencodeRun } from './opencode/client.ts';

/** Every client as a sub-agent. */
export const RUN_CLIENTS: Readonly<Record<ClientName, RunClient>> = {
  claude: claudeRun,
  codex: codexRun,
  gemini: geminiRun,
  opencode: opencodeRun,
};

/** The client of this name. */
export function runClient(name: ClientName): RunClient {
  return RUN_CLIENTS[name];
}
