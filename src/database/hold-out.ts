import { answerKey, armOf, type HoldOut, holdPercentOf } from '../benefit/model/coin.ts';
import { CHANNELS, type Channel, groupFingerprint, type Telling } from '../benefit/model/telling.ts';
import type { Db } from './connection.ts';

/** What a hook reads of the ledger before it tells something: whether this tree is told, or held out. */

/** What is told unless the coin holds it out. */
export type Tellable = Pick<Telling, 'group' | 'kind' | 'text' | 'callId'> & {
  /** A person wants it told in any case. */
  readonly isPinned: boolean;
};

type Assigned = Pick<Telling, 'holdPercent' | 'isHeld'>;

/** A tree of sessions, as one channel sees it. */
export type ToldTree = {
  /** The coin's; undefined: there is none yet, and nothing is held out. */
  readonly key: string | undefined;
  /** The id of its first session. */
  readonly root: string;
  readonly channel: Channel;
  readonly answered: ReadonlySet<string>;
  /** What was assigned before, by the fingerprints of the failure groups. */
  readonly assigned: ReadonlyMap<string, Assigned>;
};

const TREE = `SELECT 'key' AS what, key AS name, 0 AS percent, 0 AS held FROM coin
  UNION ALL SELECT 'root', root, 0, 0 FROM forks WHERE session = ?
  UNION ALL SELECT 'answered', kind, 0, 0 FROM answered WHERE channel = ?
  UNION ALL SELECT 'group', fingerprint, hold_percent, held
    FROM (SELECT COALESCE((SELECT root FROM forks WHERE session = ?), ?) AS first)
    JOIN trees ON substr(root, -8) = substr(first, -8) AND root = first
    JOIN exposures ON tree = trees.id AND channel = ? JOIN failure_groups AS g ON g.id = grp`;

/** The tree of this session. One query; throws what SQLite throws. */
export function readTree(sessionId: string, channel: Channel, db: Db): ToldTree {
  let key: string | undefined;
  let root = sessionId;
  const answered = new Set<string>();
  const assigned = new Map<string, Assigned>();
  const number = CHANNELS.indexOf(channel);
  const values = [sessionId, number, sessionId, sessionId, number];
  for (const { what, name, percent, held } of db.sqlite.all(TREE, ...values)) {
    const text = String(name);
    if (what === 'key') key = text;
    else if (what === 'root') root = text;
    else if (what === 'answered') answered.add(answerKey(text, channel));
    else assigned.set(text, { holdPercent: Number(percent), isHeld: held === 1 });
  }
  return { key, root, channel, answered, assigned };
}

/** A tree in which nothing is held out. */
export function untossedTree(root: string, channel: Channel): ToldTree {
  return { key: undefined, root, channel, answered: new Set(), assigned: new Map() };
}

/** Whether it is told in this tree: as it was assigned before, else as the coin falls. */
export function toss({ isPinned, ...tellable }: Tellable, holdOut: HoldOut, tree: ToldTree): Telling {
  const { key, root, channel, answered, assigned } = tree;
  const { kind } = tellable;
  const holdPercent = key === undefined ? 0 : holdPercentOf({ holdOut, kind, channel, answered, isPinned });
  if (key === undefined || holdPercent === 0)
    return { ...tellable, channel, root, holdPercent: 0, isHeld: false };
  const group = groupFingerprint(tellable.group);
  const isHeld = armOf({ key, channel, group, root, holdPercent });
  return { ...tellable, channel, root, ...(assigned.get(group) ?? { holdPercent, isHeld }) };
}
