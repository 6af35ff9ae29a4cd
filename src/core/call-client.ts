import { CLIENT_NAMES, type ClientName } from './client-name.ts';

/** In which client a call was made: the ids of all but Claude Code's own begin with the client's name. */

/** The id under which a client's call stands in the log. `id`: one that no other of its calls has. */
export function callIdIn(client: ClientName, id: string): string {
  return `${client}:${id}`;
}

/** In the id of a call: no other one has it. */
const RANDOM = /(?=[A-Za-z]*\d)[A-Za-z\d]{12}/;

/** Whether a client has given this id to one call only: some services count the calls of each answer from one. */
export function isUniqueCallId(id: string): boolean {
  return RANDOM.test(id);
}

/** The client that made the call with this id, as callIdIn() has written it. */
export function clientOfCall(id: string): ClientName {
  const name = id.slice(0, Math.max(0, id.indexOf(':')));
  return CLIENT_NAMES.includes(name) ? name : 'claude';
}
