import type { ClientName } from '../../core/client-name.ts';
import { claudeRun } from './claude-run.ts';
import { codexRun } from './codex-run.ts';
import { geminiRun } from './gemini-run.ts';
import { opencodeRun } from './opencode-run.ts';
import type { RunClient } from './run-client.ts';

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
