import type { Environment, StatePaths } from '../core/state-paths.ts';
import { type AppliedFile, listAppliedFiles } from './applied-files.ts';
import { type Check, counted, ok, warning } from './check.ts';
import { readManifest } from './manifest.ts';
import { locate, ownerOf, readSettings } from './place.ts';
import { isApplied, unregisterHooks } from './settings-file.ts';

const NAME = 'applied hooks';

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
  const read = readManifest(place.paths.manifest);
  const owner = ownerOf(place, platform, read.kind === 'read' ? read.manifest.binary : undefined);
  const text = readSettings(hook.path);
  const found =
    text === undefined ? undefined : unregisterHooks(text, (entry) => isApplied(entry, hook.id, owner));
  const isRegistered = found?.kind === 'edited' || found?.kind === 'emptied';
  return isRegistered || found?.kind === 'refused' ? undefined : `it is not registered in ${hook.path}`;
}
