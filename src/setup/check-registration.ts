import type { HookMode, HookRegistration } from '../core/hook-names.ts';
import { loadRunSettings } from '../store/run-config.ts';
import { type Check, type CheckWorld, failed, ok, warning } from './check.ts';
import { type ClientVersion, clientFeatures, findClientVersion, unknownEvents } from './client-version.ts';
import { readText } from './file-plan.ts';
import { hookModeIn, knownManifest } from './manifest.ts';
import { locate, type Place } from './place.ts';
import { type FoundEntry, inspectHooks, registerHooks, registrationFor } from './settings-file.ts';

/** Which client there is, and whether each event that it knows runs our hook, once. */
export async function checkRegistration(world: CheckWorld): Promise<Check[]> {
  const place = locate(world.env, world.platform);
  if (place.kind === 'failed') {
    return [
      failed('registration', `where the client's settings are is unknown: ${place.reason}`, place.advice),
    ];
  }
  const client = await findClientVersion(world);
  const mode = hookModeIn(knownManifest(place.paths.manifest));
  return [describeClient(client, mode, world.install), ...checkSettings(place, { client, mode }, world)];
}

function describeClient(client: ClientVersion, mode: HookMode, install: string): Check {
  if (client.kind === 'unknown') {
    const detail = `the version of Claude Code is unknown: ${client.reason}`;
    const remedy = `Make "claude --version" work in this shell, or name the version: ${install} --client-version X.Y.Z`;
    return warning('client', detail, remedy);
  }
  const missing = unknownEvents(client.version, mode);
  const detail = `Claude Code ${client.version} at ${client.path}`;
  if (missing.length === 0) return ok('client', detail);
  return warning(
    'client',
    `${detail} does not know ${missing.join(', ')}`,
    `Update Claude Code, then run: ${install}`,
  );
}

type Wanted = { readonly client: ClientVersion; readonly mode: HookMode };

/** What a mode means, for a person. */
const MODE_WORDS = {
  session: 'the rest is read from the transcript',
  'per-call': 'each call is handed to a hook (install --hooks=per-call)',
} as const satisfies Record<HookMode, string>;

function checkSettings(place: Place, { client, mode }: Wanted, { platform, install }: CheckWorld): Check[] {
  const { settings } = place;
  const remedy = `Run: ${install}`;
  const text = readText(settings);
  if (text === undefined) return [failed('registration', `there is no ${settings}`, remedy)];
  const version = client.kind === 'known' ? client.version : undefined;
  const features = clientFeatures(version);
  const wakes = loadRunSettings(place.paths).announce.wake === 'on';
  const registration = registrationFor({ place, platform, features, mode, wakes, binaryBefore: undefined });
  const found = inspectHooks(text, registration);
  if (found.kind === 'refused') {
    return [
      failed('registration', `${settings}, ${found.reason}`, 'Until then the client ignores the whole file'),
    ];
  }
  const off = `disableAllHooks is true in ${settings}: no hook runs`;
  const checks = found.isDisabled ? [failed('registration', off, 'Remove that line')] : [];
  checks.push(
    ...judgeEntries(found.entries, { wanted: registration.hooks, known: features.events, version, remedy }),
  );
  if (checks.length > 0) return checks;
  if (version !== undefined && registerHooks(text, registration).kind === 'edited') {
    return [warning('registration', `${settings} is not as this version would write it`, remedy)];
  }
  return [ok('registration', `${found.entries.length} hooks in ${settings}; ${MODE_WORDS[mode]}`)];
}

type Expectation = {
  readonly wanted: readonly HookRegistration[];
  readonly known: readonly string[];
  readonly version: string | undefined;
  readonly remedy: string;
};

function judgeEntries(
  entries: readonly FoundEntry[],
  { wanted, known, version, remedy }: Expectation,
): Check[] {
  const of = (kind: FoundEntry['kind']) => entries.filter((entry) => entry.kind === kind);
  const eventsOf = (some: readonly FoundEntry[]) => [...new Set(some.map(({ event }) => event))];
  const ours = of('ours');
  const isSame = (one: FoundEntry, other: Pick<FoundEntry, 'name' | 'event'>) =>
    one.event === other.event && one.name === other.name;
  const missing = wanted
    .filter((hook) => !ours.some((entry) => isSame(entry, hook)))
    .map(({ event }) => event);
  const twice = eventsOf(
    ours.filter((entry, index) => ours.findIndex((one) => isSame(one, entry)) !== index),
  );
  const earlier = eventsOf(of('predecessor'));
  const unknown =
    version === undefined ? [] : eventsOf(ours).filter((event) => !known.some((one) => one === event));
  const checks: Check[] = [];
  if (missing.length > 0)
    checks.push(failed('registration', `not registered: ${missing.join(', ')}`, remedy));
  if (twice.length > 0) checks.push(warning('registration', `registered twice: ${twice.join(', ')}`, remedy));
  if (earlier.length > 0) {
    const detail = `hooks of an earlier self-generation are registered: ${earlier.join(', ')}`;
    checks.push(warning('registration', detail, remedy));
  }
  if (unknown.length > 0) {
    const detail = `Claude Code ${version} does not know ${unknown.join(', ')} and may ignore the whole settings file for it`;
    checks.push(failed('registration', detail, remedy));
  }
  return checks;
}
