import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'jsonc-parser';
import { isRecord } from '../core/guards.ts';
import { HOOKS } from '../core/hook-names.ts';
import type { Environment } from '../core/state-paths.ts';
import type { RunCommand } from '../sys/run-command.ts';
import { type Check, failed, ok, warning } from './check.ts';
import { clientFeatures, clientWarnings, findClientVersion } from './client-version.ts';
import { locate, ownerOf } from './install.ts';
import { recogniseEntry } from './settings-file.ts';

const INSTALL = 'self-generation install';

type World = { readonly env: Environment; readonly platform: string; readonly run: RunCommand };

/** Whether each event that the client knows runs our hook, once. */
export async function checkRegistration({ env, platform, run }: World): Promise<Check[]> {
  const place = locate(env, platform);
  if (place.kind === 'failed')
    return [failed('registration', `cannot ${place.action}: ${place.reason}`, place.advice)];
  const client = await findClientVersion({ env, platform, run });
  const version = client.kind === 'known' ? client.version : undefined;
  const clientCheck =
    client.kind === 'known'
      ? ok('client', `Claude Code ${client.version} at ${client.path}`)
      : warning('client', client.reason, 'Install Claude Code, or put "claude" on the PATH');
  const settings = place.settings;
  if (!existsSync(settings))
    return [clientCheck, failed('registration', `there is no ${settings}`, `Run "${INSTALL}"`)];
  const value: unknown = parse(readFileSync(settings, 'utf8').replace(/^\ufeff/, ''), [], {
    allowTrailingComma: true,
  });
  const registered = countOurs(
    value,
    (entry) => recogniseEntry(entry, ownerOf(place, platform, undefined))?.kind,
  );
  const wanted = clientFeatures(version).events;
  const missing = wanted.filter((event) => (registered.get(event) ?? 0) === 0);
  const twice = [...registered].filter(([, count]) => count > 1).map(([event]) => event);
  const unknown =
    version === undefined
      ? []
      : [...registered.keys()].filter((event) => !wanted.some((one) => one === event));
  const checks = [clientCheck];
  if (isRecord(value) && value.disableAllHooks === true) {
    checks.push(
      failed('registration', `disableAllHooks is true in ${settings}`, 'Remove that line: no hook runs'),
    );
  }
  if (missing.length > 0)
    checks.push(failed('registration', `not registered: ${missing.join(', ')}`, `Run "${INSTALL}"`));
  if (twice.length > 0)
    checks.push(warning('registration', `registered twice: ${twice.join(', ')}`, `Run "${INSTALL}"`));
  if (unknown.length > 0) {
    checks.push(
      warning('registration', `this client does not know ${unknown.join(', ')}`, `Run "${INSTALL}"`),
    );
  }
  if (checks.length === 1)
    checks.push(ok('registration', `${registered.size} of ${HOOKS.length} hooks in ${settings}`));
  for (const text of clientWarnings(client)) checks.push(warning('client', text, 'Update Claude Code'));
  return checks;
}

/** Our entries for each event. */
function countOurs(settings: unknown, kindOf: (entry: unknown) => string | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  const hooks = isRecord(settings) && isRecord(settings.hooks) ? settings.hooks : {};
  for (const [event, groups] of Object.entries(hooks)) {
    for (const group of Array.isArray(groups) ? groups : []) {
      const entries = isRecord(group) && Array.isArray(group.hooks) ? group.hooks : [];
      const ours = entries.filter((entry) => kindOf(entry) !== undefined).length;
      if (ours > 0) counts.set(event, (counts.get(event) ?? 0) + ours);
    }
  }
  return counts;
}
