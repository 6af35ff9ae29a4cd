import type { Db } from '../../src/database/connection.ts';
import { getDb } from '../../src/database/db.ts';
import type { FullContext, HookContext } from '../../src/hooks/decision.ts';
import type { HookEvent, HookEventOf } from '../../src/hooks/event.ts';
import { parseHookEvent } from '../../src/hooks/hooks.ts';
import { record } from '../../src/hooks/store/record.ts';
import { searchErrorKB } from '../../src/lessons/store/error-search.ts';
import { parseConfig } from '../../src/settings/all-settings.ts';
import type { Skill } from '../../src/suggestions/model/skill-files.ts';
import type { Home } from './home.ts';
import { type Payload, PROJECT } from './payloads.ts';

/** What a decision is made from, on the real database of a temporary home. Closes what it opened. */
export type Bench = Disposable & {
  readonly context: FullContext;
  /** Records what decisions call for, as run.ts does. */
  readonly keep: (...decisions: { recording?: Parameters<typeof record>[0][number] }[]) => void;
};

export type BenchOptions = {
  readonly config?: Payload;
  readonly project?: HookContext['project'];
  readonly now?: Date;
  readonly skills?: readonly Skill[];
};

export const APP = { name: 'app', path: PROJECT, spellings: [PROJECT] };

export function bench(
  home: Home,
  { config = {}, project = APP, now = new Date(), skills = [] }: BenchOptions = {},
): Bench {
  const opened: Db[] = [];
  const knowledge = () => {
    const db = getDb(home.paths, { mode: 'read', busyTimeoutMs: 1000 });
    if (db) opened.push(db);
    return db;
  };
  return {
    context: {
      config: parseConfig(config).config,
      now,
      project,
      knowledge,
      skills: () => skills,
      searchErrors: searchErrorKB,
    },
    keep: (...decisions) => {
      const db = getDb(home.paths, { mode: 'write', busyTimeoutMs: 1000 });
      for (const { recording } of decisions) if (recording) record([recording], home.paths, db);
      db.sqlite.close();
    },
    [Symbol.dispose]: () => {
      for (const db of opened) db.sqlite.close();
    },
  };
}

/** The payload as the event of this name. Throws when it is another one. */
export function eventOf<Name extends HookEvent['name']>(name: Name, payload: Payload): HookEventOf<Name> {
  const event = parseHookEvent(payload);
  if (event?.name !== name)
    throw new Error(`Cannot read the payload as ${name}: it is ${event?.name ?? 'no event'}`);
  return event as HookEventOf<Name>;
}
