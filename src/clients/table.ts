/** Every client, one row each: by the name of its folder and its program. Read by clients.ts alone. */

export { claude } from './claude/client.ts';
export { codex } from './codex/client.ts';
export { gemini } from './gemini/client.ts';
export { opencode } from './opencode/client.ts';
