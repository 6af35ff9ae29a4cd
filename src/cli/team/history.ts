import type { Command } from 'commander';
import { parseJson, reasonOf } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Membership } from '../../team/membership.ts';
import { adviceOf, harmIn, idOf, type NewFact, readFact, type StoredFact } from '../../team/model/fact.ts';
import { sharedReason } from '../../team/outgoing.ts';
import { factAt, factsAbout, knownOf, latestFacts } from '../../team/store/copy.ts';
import { withCopy } from '../../team/store/copy-file.ts';
import { pushFacts } from '../../team/store/server.ts';
import { syncTeam } from '../../team/sync.ts';
import {
  type CliContext,
  EXIT,
  fail,
  type Given,
  keepFromAgent,
  limitUpTo,
  PROGRAM,
  subcommand,
  withState,
} from '../context.ts';
import { printJson, shortened, shownLine } from '../output.ts';
import { membershipHere, onTeamServer, worldOf } from './here.ts';

type LogFlags = Given<'json'> & Given<'limit', number>;

const LIMIT_DEFAULT = 30;
const LIMIT_MAX = 10_000;
const LINE_LENGTH_MAX = 160;

/** `team log`: the history, as it was fetched last. */
export function logCommand(context: CliContext): Command {
  const log = {
    description: 'show who shared, accepted, withdrew and restored what, newest first',
    calls: ['', '--limit 100', '--json'],
  };
  return subcommand('team log', log, context, (flags: LogFlags) => printLog(flags, context)).option(
    '--limit <N>',
    `how many; otherwise ${LIMIT_DEFAULT}`,
    limitUpTo(LIMIT_MAX),
  );
}

function printLog({ json, limit = LIMIT_DEFAULT }: LogFlags, context: CliContext): Promise<void> {
  return withState(context, 'show the history', async ({ paths }) => {
    membershipHere('show the history', paths, context);
    const facts = await withCopy(paths, (copy) => latestFacts(limit, copy));
    if (json)
      return printJson(
        facts.map(({ body, ...fact }) => ({ ...fact, body: parseJson(body) ?? null })),
        context,
      );
    if (facts.length === 0) return context.stdout('Nothing was fetched yet.\n');
    const width = Math.max(...facts.map(({ seq }) => String(seq).length));
    const { bold, dim } = context.colours;
    for (const stored of facts) {
      const { seq, at, author, role } = stored;
      const head = `${bold(String(seq).padStart(width))}  ${dim(at.slice(0, 16))}  ${shownLine(author)}${role === 'member' ? '' : ` (${shownLine(role)})`}`;
      context.stdout(`${head} ${shortened(deed(stored), LINE_LENGTH_MAX)}\n`);
    }
  });
}

/** What a fact says, in words. */
function deed(stored: StoredFact): string {
  const fact = readFact(stored, parseJson);
  const lesson = stored.about.slice(0, 8);
  if (fact === undefined) return `wrote "${stored.kind}", which this program does not understand`;
  const { kind } = fact;
  switch (kind) {
    case 'lesson': {
      const harm = harmIn(fact.body);
      if (harm !== undefined) return `shared ${lesson}, which is refused: ${HARMS[harm]}`;
      return `shared ${lesson}: ${fact.body.said} → ${adviceOf(fact.body)}`;
    }
    case 'rule':
      return harmIn(fact.body) === undefined
        ? `shared the rule ${lesson}: ${fact.body.text}`
        : `shared the rule ${lesson}, which is refused`;
    case 'support':
      return `has seen ${lesson} help in ${fact.body.sessions} sessions`;
    case 'verdict': {
      const why = fact.body.why === null ? '' : `: ${fact.body.why}`;
      const word = { true: 'accepted', false: 'rejected', null: 'took back a verdict on' }[
        `${fact.body.accepts}`
      ];
      return `${word} ${lesson}${why}`;
    }
    case 'withdraw':
      return `withdrew ${lesson}: ${fact.body.reason}`;
    case 'contradicted':
      return `contradicted ${lesson}: ${fact.body.reason}`;
    case 'restore':
      return `restored ${lesson}: ${fact.body.reason}`;
    case 'part':
      return fact.body.takesPart ? 'takes part in a repository' : 'takes part in a repository no more';
    case 'evidence':
      return 'sent counts of a proof';
  }
}

const HARMS = {
  instruction: 'it is shaped like an instruction to an agent',
  secret: 'there is a secret in it',
};

type RevertFlags = Given<'json'> & Given<'why', string>;

/** `team revert`: takes back what one entry of the history did, by another entry. */
export function revertCommand(context: CliContext): Command {
  const revert = {
    description:
      'take back what an entry of "team log" did: what was shared is withdrawn, what was withdrawn is restored',
    calls: ['42', '42 --why "it is only true on macOS"'],
    codes: [0, 1, 2, 3],
  };
  return subcommand('team revert', revert, context, (flags: RevertFlags, number: number) =>
    takeBack(number, flags, context),
  )
    .argument('<number>', 'the number in "team log"', limitUpTo(999_999_999))
    .option('--why <TEXT>', 'the reason, for the others');
}

function takeBack(seq: number, flags: RevertFlags, context: CliContext): Promise<void> {
  return withState(context, 'revert', async ({ paths }) => {
    const membership = membershipHere('revert', paths, context);
    keepFromAgent('revert', `team revert ${seq}`, context);
    const found = await withCopy(paths, (copy) => {
      const fact = factAt(seq, copy);
      return fact && { fact, known: knownOf(fact.about, copy), said: factsAbout(fact.about, copy) };
    });
    if (found === undefined)
      return fail(
        context,
        EXIT.notFound,
        `revert ${seq}: there is no such entry here`,
        `See "${PROGRAM} team log"`,
      );
    const opposite = oppositeOf(found.fact, found.said, flags.why);
    if (opposite === undefined)
      return fail(context, EXIT.failed, `revert ${seq}: a ${found.fact.kind} cannot be taken back by others`);
    const isWithdrawn = found.known !== undefined && found.known.withdrawn !== null;
    if (isWithdrawn === (opposite.kind === 'withdraw'))
      return fail(
        context,
        EXIT.failed,
        `revert ${seq}: what it is about is ${isWithdrawn ? 'withdrawn' : 'not withdrawn'} already`,
      );
    await sendNow(opposite, membership, paths, context);
    if (flags.json) return printJson({ reverted: seq, by: opposite.kind }, context);
    context.stdout(
      opposite.kind === 'withdraw'
        ? 'Withdrawn: agents of the team are told it no more, each from its next sync on.\n'
        : 'Restored: it is told again where it was accepted, from the next sync on.\n',
    );
  });
}

/** What takes a fact back; undefined where nothing does. `said`: how much was said of the same by now. */
function oppositeOf(
  { kind, about, repository, seq }: StoredFact,
  said: number,
  why: string | undefined,
): NewFact | undefined {
  const body = { reason: why ? sharedReason(why) : `entry ${seq} was reverted` };
  const opposite = OPPOSITES[kind];
  return opposite && { id: idOf(opposite, about, seq, said), about, repository, kind: opposite, body };
}

const OPPOSITES: Readonly<Record<string, 'withdraw' | 'restore'>> = {
  lesson: 'withdraw',
  rule: 'withdraw',
  restore: 'withdraw',
  withdraw: 'restore',
  contradicted: 'restore',
};

/** Sends a fact, and then fetches what it has changed. */
async function sendNow(
  fact: NewFact,
  membership: Membership,
  paths: StatePaths,
  context: CliContext,
): Promise<void> {
  const failed = (reason: string): never =>
    fail(context, EXIT.failed, `send it to the team: ${shownLine(reason)}`, RIGHTS);
  await onTeamServer(membership, context, (team, server) => pushFacts(team, [fact], server)).catch(
    (error: unknown) => failed(reasonOf(error)),
  );
  const outcome = await syncTeam(membership, worldOf(paths, context));
  if (outcome.kind === 'failed') failed(outcome.reason);
}

const RIGHTS = 'Who shared it first and reviewers may withdraw, reviewers may restore';
