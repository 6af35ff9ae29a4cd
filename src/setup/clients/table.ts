import type { ClientName } from '../../core/client-name.ts';
import type { ClientSetup } from './client-setup.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';

/** What each client is given beside the MCP server, by its name. Claude Code's hooks are in settings-file.ts. */
export const CLIENT_SETUPS: Readonly<Record<ClientName, ClientSetup>> = { codex, gemini, opencode };

/** The clients that `install` has a flag for. */
export const INSTALL_CLIENTS: readonly ClientName[] = ['claude', ...Object.keys(CLIENT_SETUPS)];
