export const CLIENT_NAMES = ['claude', 'codex', 'gemini', 'opencode'] as const;

/** The command-line clients that this program can start. */
export type ClientName = (typeof CLIENT_NAMES)[number];
