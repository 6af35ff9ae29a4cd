import type { ClientName } from '../core/client-name.ts';
import { unreachable } from '../core/guards.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import type { OneShotClient } from './one-shot.ts';
import { opencode } from './opencode.ts';

/** The client of this name. */
export function oneShotClient(name: ClientName): OneShotClient {
  switch (name) {
    case 'claude':
      return claude;
    case 'codex':
      return codex;
    case 'gemini':
      return gemini;
    case 'opencode':
      return opencode;
    default:
      return unreachable(name);
  }
}
