import { readFileSync } from 'node:fs';

/** The directory in which the recorded sessions ran. */
export const PROJECT = '/home/dev/app';
export const SESSION = '5ccbac7a-90c5-4c33-840b-85f1c3800580';

export type Payload = Record<string, unknown>;

/** A recorded payload of the client (test/fixtures/hook-payloads), with some fields replaced; undefined removes one. */
export function payload(name: string, changes: Payload = {}): Payload {
  const file = `${import.meta.dir}/../fixtures/hook-payloads/${name}.json`;
  return { ...(JSON.parse(readFileSync(file, 'utf8')) as Payload), ...changes };
}

export function prompt(text: string, changes: Payload = {}): Payload {
  return payload('user-prompt-submit', { prompt: text, ...changes });
}

export function bashFailure(error: string, changes: Payload = {}): Payload {
  return payload('post-tool-use-failure-bash', { error, ...changes });
}

export function bashSuccess(command: string, changes: Payload = {}): Payload {
  return payload('post-tool-use-bash', { tool_input: { command }, ...changes });
}

export function agentStart(agentType: string, changes: Payload = {}): Payload {
  return payload('subagent-start', { agent_type: agentType, ...changes });
}
