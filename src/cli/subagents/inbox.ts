import { randomUUID } from 'node:crypto';
import { counted } from '../../core/text.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import {
  acknowledgeDelivery,
  returnDelivery,
  takeDelivery,
  unmarkInbox,
} from '../../runs/delivery/deliver.ts';
import { type Announcement, announceBody } from '../../runs/model/announcement.ts';
import { dismissAnnouncements, waitingAnnouncements } from '../../runs/store/outbox.ts';
import { readRuns, withRuns } from '../../runs/store/rows.ts';
import { EXIT } from '../context.ts';
import { shownText, visible } from '../output.ts';
import {
  answer,
  complain,
  complainUsage,
  findRun,
  isAll,
  isPerson,
  type JsonFlag,
  type RunsHere,
  type SubagentsCommand,
  visibleLine,
} from './runs-here.ts';

/** Nothing that waits is longer. */
const LENGTH_MAX = 1_000_000;
const ID_LENGTH_MIN = 4;

type InboxFlags = JsonFlag & { readonly peek?: true; readonly mine?: true };

/** `subagents inbox`: what nobody was told yet. What was written counts as delivered. A person also gets what is meant for agents' sessions. */
export const inbox: SubagentsCommand = {
  name: 'inbox',
  does: 'read the inbox',
  description: 'read results that nobody has received yet',
  calls: ['', '--peek'],
  define: (command) =>
    command
      .option('--peek', 'do not take them')
      .option('--mine', "leave those meant for agents' sessions to them"),
  act: read,
};

async function read(here: RunsHere, flags: InboxFlags): Promise<void> {
  if (flags.peek) return peek(here);
  const { context, requester, world } = here;
  const owner = `inbox:${randomUUID()}`;
  const isPersons = isPerson(here);
  const reader = { owner, isPerson: isPersons && flags.mine !== true, lengthMax: LENGTH_MAX };
  const delivery = takeDelivery(requester, reader, world);
  const told = delivery?.announcements ?? [];
  const persons = told.map((one) => story(one, here)).join('') + takenText(told);
  // Where an agent reads along, what children said has to stay in its fence; the fence itself is to be seen.
  const said = isPersons ? persons : `${visible(delivery?.text ?? '')}\n`;
  const text = delivery === undefined ? nothingText(waitingHere(here).length) : said;
  answer({ announcements: told.map(announcementJson) }, text, here);
  if (await context.written()) acknowledgeDelivery(requester.key, owner, world);
  else returnDelivery(owner, world);
}

function takenText(told: readonly Announcement[]): string {
  const taken = told.filter(({ requesterSession }) => requesterSession !== null);
  if (taken.length === 0) return '';
  const names = taken.map(({ number }) => `#${number}`).join(', ');
  return `${names} ${taken.length === 1 ? 'was' : 'were'} meant for an agent's session, which will not be told again; with --mine those of other sessions stay there.\n`;
}

function peek(here: RunsHere): void {
  const waiting = waitingHere(here);
  const text = waiting.map((one) => story(one, here)).join('') || nothingText(0);
  answer({ announcements: waiting.map(announcementJson) }, text, here);
}

function nothingText(waiting: number): string {
  if (waiting === 0) return 'Nothing waits to be told.\n';
  return `Nothing yet: ${counted(waiting, 'announcement')} being put into words, or handed out to a session.\n`;
}

function waitingHere({ requester, world }: RunsHere): Announcement[] {
  return readRuns(world.paths, (db) => waitingAnnouncements(requester.key, db)) ?? [];
}

function story(one: Announcement, { context }: RunsHere): string {
  const { bold, dim } = context.colours;
  const label = one.label === null ? '' : ` · ${visibleLine(one.label)}`;
  const again = one.isRedelivery ? ' · redelivery: true' : '';
  const meant = one.requesterSession === null ? '' : " · meant for an agent's session";
  const message = one.turn === 1 ? '' : ` · message, turn ${one.turn}`;
  const title = `#${one.number}${label}${message}`;
  return `${bold(title)}${dim(` · announceId ${visibleLine(one.id)}${again}${meant}`)}\n${shownText(announceBody(one))}\n\n`;
}

function announcementJson(one: Announcement) {
  const { runId, number, turn, label, status, result, notes, stats, attempts, state, requesterSession } = one;
  return {
    ...{ announceId: one.id, runId, number, turn, label, status, result, notes, stats },
    ...{ text: announceBody(one), redelivery: one.isRedelivery, attempts, state, requesterSession },
  };
}

/** `subagents dismiss`: drops what a run has to tell. By the id of the announcement, or as a run is named. */
export const dismiss: SubagentsCommand = {
  name: 'dismiss',
  does: 'dismiss an announcement',
  description: 'drop results that nobody has received',
  calls: ['3', 'all'],
  define: (command) => command.argument('[target]', 'the run, the announceId, or "all"'),
  act: drop,
};

async function drop(here: RunsHere, _flags: JsonFlag, target?: string): Promise<void> {
  if (target === undefined || target.trim() === '') return complainUsage('dismiss <id|#|all>', here);
  const { context, requester, world } = here;
  const ids = isAll(target) ? 'all' : idsOf(target, here);
  const nowMs = context.now().getTime();
  const isNothing = (ids === 'all' ? waitingHere(here) : ids).length === 0;
  const dismiss = (db: Sqlite) => dismissAnnouncements(ids, requester.key, nowMs, db);
  const dismissed = isNothing ? [] : withRuns(world.paths, dismiss);
  unmarkInbox(requester.key, world.paths, nowMs);
  if (ids !== 'all' && dismissed.length === 0)
    return complain(`Nothing of "${target}" waits to be told.`, EXIT.notFound, here);
  answer({ dismissed }, `Dismissed ${counted(dismissed.length, 'announcement')}.\n`, here);
}

function idsOf(target: string, here: RunsHere): string[] {
  const waiting = waitingHere(here);
  const begun = waiting.filter(({ id }) => target.length >= ID_LENGTH_MIN && id.startsWith(target));
  const [only] = begun;
  if (only !== undefined && begun.length === 1) return [only.id];
  const { run } = findRun(target, here);
  return waiting.filter(({ runId }) => runId === run.id).map(({ id }) => id);
}
