import type { Environment, StatePaths } from '../core/state-paths.ts';
import { type AppliedFile, listAppliedFiles } from './applied-files.ts';
import { type Check, counted, ok, warning } from './check.ts';
import { readManifest, sha256 } from './manifest.ts';
import { locate, ownerOf, readSettings } from './place.ts';
import { isScript, unregisterHooks } from './settings-file.ts';

const NAME = 'applied hooks';

/** Whether the client runs each hook that the user applied from a suggestion; nothing when there is none. */
export function checkApplied(paths: StatePaths, env: Environment, platform: string): Check[] {
  const hooks = hooksIn(paths);
  if (hooks.length === 0) return [];
  const checks = hooks.flatMap((hook) => {
    const objection = objectionTo(hook, env, platform);
    if (objection === undefined) return [];
    const remedy = `Run: self-generation undo ${hook.id}, and to have it back: self-generation apply ${hook.id} --enable-hook`;
    return [warning(NAME, `${hook.id} does not run: ${objection}`, remedy)];
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
  const code = readSettings(hook.path);
  if (code === undefined) return `${hook.path} is gone`;
  if (sha256(code) !== hook.sha256) return `${hook.path} is not as it was when it was applied`;
  const place = locate(env, platform);
  if (place.kind === 'failed') return undefined; // The check of the registration says so.
  const read = readManifest(place.paths.manifest);
  const owner = ownerOf(place, platform, read.kind === 'read' ? read.manifest.binary : undefined);
  const settings = hook.settings ?? place.settings;
  const text = readSettings(settings);
  const found =
    text === undefined ? undefined : unregisterHooks(text, (entry) => isScript(entry, hook.id, owner));
  const isRegistered = found?.kind === 'edited' || found?.kind === 'emptied';
  return isRegistered || found?.kind === 'refused' ? undefined : `it is not registered in ${settings}`;
}
