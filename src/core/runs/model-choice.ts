import type { ClientName } from '../client-name.ts';
import { cutText, oneLine } from '../text.ts';

/** A model that somebody wants, and for which client; null: for whichever it is. */
export type WantedModel = { readonly model: string | null; readonly client: ClientName | null };

const NAME_LENGTH_MAX = 200;
const ECHO_LENGTH_MAX = 80;

/**
 * The first of these that can be a model of the client (R16): what was asked for, the agent's, the defaults', the caller's;
 * null: the client chooses. Others are left out, with a warning (R20) unless the settings mean another client.
 */
export function chooseModel(
  requested: string | undefined,
  others: readonly WantedModel[],
  client: ClientName,
) {
  const asked = requested?.trim() || null;
  const warnings: string[] = [];
  const wanted = [{ model: asked, client }, ...others];
  for (const { model, client: meantFor } of wanted) {
    const name = model?.trim() ?? '';
    if (name === '' || (meantFor !== null && meantFor !== client)) continue;
    const problem = modelProblem(name, client);
    if (problem === undefined) return { requested: asked, resolved: name, warnings };
    const shown = cutText(oneLine(name), ECHO_LENGTH_MAX);
    warnings.push(`model "${shown}" is not used: ${problem}; the default is used instead`);
  }
  return { requested: asked, resolved: null, warnings };
}

function modelProblem(name: string, client: ClientName): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return 'it is too long for a name';
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._:/@[\]+-]*$/u.test(name)) return 'a model has no such name';
  if (client === 'opencode' && !/^[^/]+\/.+/.test(name)) return 'opencode names models as provider/model';
  return undefined;
}
