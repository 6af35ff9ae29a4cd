/** How the clients word that a call was not let through. */
const REFUSALS: readonly RegExp[] = [
  /^Permission (?:to|for) .{0,4000} has been denied/s,
  /^Claude requested permissions to /,
  /^(?:<tool_use_error>)?File is in a directory that is denied by your permission settings/,
  /^The user (?:doesn't want to |rejected permission to |dismissed |has specified a rule which prevents )/,
  /^Tool execution (?:denied by policy|blocked)/,
  /^Tool "[^"]{1,200}" not found/,
  /^Model tried to call unavailable tool /,
  /^exec_command failed for .{0,4000}\bRejected\(/s,
  /^(?:exec command|patch) rejected by user/,
];

/** How the clients word, and their readers, that there is no session any more which they were to go on with. */
const LOST_SESSIONS: readonly RegExp[] = [
  /\bno conversation found with session id\b/i,
  /\bno rollout found for thread id\b/i,
  /\b(?:invalid session identifier|no previous sessions found)\b/i,
  /\bsession not found\b/i,
  /\bdid not resume the session\b/,
];

/** Whether a turn failed with these words because the client has no such session any more. */
export function isSessionLost(error: string): boolean {
  return LOST_SESSIONS.some((lost) => lost.test(error));
}

/** Whether a person or a policy kept the call back: nothing of the project has failed then, and no hook would be told. */
export function isRefused(text: string): boolean {
  return REFUSALS.some((refusal) => refusal.test(text));
}
