import { isRecord, readString } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { SuggestionType } from '../core/suggestion.ts';
import { listSuggestions } from '../store/suggestions.ts';
import { readDatabase } from '../store/use-database.ts';
import { type Check, counted, ok, warning } from './check.ts';
import { readText } from './file-plan.ts';
import { knownManifest } from './manifest.ts';
import { locate, ownerOf } from './place.ts';
import { isApplied, unregisterHooks } from './settings-file.ts';

const NAME = 'applied hooks';

/** What apply wrote for a suggestion, as far as setup needs to know. */
export type AppliedFile = {
  readonly id: string;
  readonly type: SuggestionType;
  readonly path: string;
  /** Of a file that is ours as a whole; of a hook: it is code, which an earlier version wrote. */
  readonly sha256: string | undefined;
};

/** What is applied at present. Throws what SQLite throws. */
export function listAppliedFiles(paths: StatePaths): AppliedFile[] {
  const suggestions = readDatabase(paths, (db) => listSuggestions({ statuses: ['applied'] }, db)) ?? [];
  return suggestions.flatMap(({ id, type, applied }) => {
    const record = isRecord(applied) ? applied : {};
    const path = readString(record, 'path');
    if (path === undefined) return [];
    return [{ id, type, path, sha256: readString(record, 'sha256') }];
  });
}

/** Whether the client asks each hook that the user applied from a suggestion; nothing when there is none. */
export function checkApplied(paths: StatePaths, env: Environment, platform: string): Check[] {
  const hooks = hooksIn(paths);
  if (hooks.length === 0) return [];
  const checks = hooks.flatMap((hook) => {
    const objection = objectionTo(hook, env, platform);
    if (objection === undefined) return [];
    const again = hook.sha256 === undefined ? `, and to have it back: self-generation apply ${hook.id}` : '';
    return [
      warning(NAME, `${hook.id} does nothing: ${objection}`, `Run: self-generation undo ${hook.id}${again}`),
    ];
  });
  return checks.length > 0 ? checks : [ok(NAME, `${counted(hooks.length, 'hook')} as applied`)];
}

function hooksIn(paths: StatePaths): AppliedFile[] {
  try {
    return listAppliedFiles(paths).filter(({ type }) => type === 'hook');
  } catch {
    return []; // The database has a check of its own.
  }
}

function objectionTo(hook: AppliedFile, env: Environment, platform: string): string | undefined {
  if (hook.sha256 !== undefined) return `${hook.path} is code that a model wrote, which is run no more`;
  const place = locate(env, platform);
  if (place.kind === 'failed') return undefined; // The check of the registration says so.
  const owner = ownerOf(place, platform, knownManifest(place.paths.manifest)?.binary);
  const text = readText(hook.path);
  const found =
    text === undefined ? undefined : unregisterHooks(text, (entry) => isApplied(entry, hook.id, owner));
  const isRegistered = found?.kind === 'edited' || found?.kind === 'emptied';
  return isRegistered || found?.kind === 'refused' ? undefined : `it is not registered in ${hook.path}`;
}
