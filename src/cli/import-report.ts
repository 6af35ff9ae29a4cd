import { clientNamed } from '../clients/clients.ts';
import type { ClientName } from '../core/client-name.ts';
import { counted } from '../core/text.ts';
import type { ShownLesson } from '../transcripts/best-lessons.ts';
import type { ImportReport } from '../transcripts/import.ts';
import type { CliContext } from './context.ts';
import { shownLine } from './output.ts';

/** What an import says, and the lessons that are shown as proof of it. */

type Asked = { readonly dryRun?: true; readonly client?: readonly ClientName[] };

/** What was taken in of each client, what was left out, and the three best lessons. */
export function printImport(report: ImportReport, { dryRun, client }: Asked, context: CliContext): void {
  const { bold, dim } = context.colours;
  const line = (text: string) => context.stdout(`${text}\n`);
  const { transcripts, fixes, removed } = report;
  // Who has no other client need not read of them.
  const others = report.sessions.filter(({ found }) => found > 0);
  if (client !== undefined && transcripts.filesFound === 0 && others.length === 0) {
    line(`There are no sessions of ${client.map((name) => clientNamed(name).title).join(', ')}.`);
    return;
  }
  if (dryRun) line(bold('Nothing was changed. An import would do this:'));
  const isAlone = others.length === 0;
  if (isAlone || transcripts.filesFound > 0)
    printTaken(
      isAlone ? '' : `${clientNamed('claude').title}: `,
      transcriptsRead(transcripts),
      transcripts,
      line,
    );
  for (const one of others) printTaken(`${clientNamed(one.client).title}: `, sessionsRead(one), one, line);
  const sources = [transcripts, ...others];
  if (sources.some(({ sessions }) => sessions > 0)) line(`Lessons: ${fixes} more`);
  const known = sources.reduce((sum, one) => sum + one.known, 0);
  if (known > 0) line(`Known already: ${counted(known, 'event')}`);
  const counts = LEFT_OUT.flatMap(([name, text]) => {
    const passedOver: readonly Readonly<Record<string, number>>[] = sources.map((one) => one.passedOver);
    const count = passedOver.reduce((sum, one) => sum + (one[name] ?? 0), 0);
    return count > 0 ? [`${count} × ${text}`] : [];
  });
  if (counts.length > 0) line(dim(`Left out: ${counts.join(', ')}`));
  if (removed > 0) line(dim(`Removed as too old after learning from it: ${counted(removed, 'row')}`));
  for (const { path, reason } of sources.flatMap(({ unreadable }) => unreadable))
    context.stderr(`warning: ${shownLine(`Cannot read "${path}": ${reason}`)}\n`);
  if (sources.some(({ sessions }) => sessions > 0) || report.best.length > 0) printBest(report.best, context);
}

const NONE_YET = 'No lesson yet: it takes a command that failed, and what worked in its place.\n';

/** Three lessons as an agent reads them, on how many sessions each rests and where. */
export function printBest(best: readonly ShownLesson[], { colours, stdout }: CliContext): void {
  if (best.length === 0) return void stdout(NONE_YET);
  const { bold, dim, green } = colours;
  stdout(
    `\n${bold(best.length === 1 ? 'A lesson, as an agent reads it:' : 'The best lessons, as an agent reads them:')}\n`,
  );
  for (const { text, sessions, project } of best) {
    const [said = '', fix] = text.split('\n').map(shownLine);
    stdout(`  ${said}\n`);
    if (fix !== undefined) stdout(`    ${green(fix.trim())}\n`);
    stdout(`    ${dim(`worked in ${counted(sessions, 'session')} of ${shownLine(project)}`)}\n`);
  }
}

type Taken = { readonly sessions: number; readonly added: Readonly<Record<string, number>> };

function printTaken(
  client: string,
  read: string,
  { sessions, added }: Taken,
  line: (text: string) => void,
): void {
  line(`${client}${client === '' ? read.replace(/^./, (first) => first.toUpperCase()) : read}`);
  if (sessions === 0) return;
  const events = Object.entries(added).map(([type, count]) => `${count} ${type}`);
  line(`${client === '' ? '' : '  '}Events: ${events.join(', ') || 'none'}`);
}

function transcriptsRead({
  filesFound,
  filesUnchanged,
  sessions,
  bytes,
}: ImportReport['transcripts']): string {
  const found = counted(filesFound, 'transcript');
  if (filesFound === filesUnchanged) return `nothing new in ${found}.`;
  const unchanged = filesUnchanged > 0 ? `, ${filesUnchanged} unchanged` : '';
  return `read ${mebibytes(bytes)} of ${counted(sessions, 'session')} in ${found}${unchanged}.`;
}

function sessionsRead({ found, unchanged, sessions }: ImportReport['sessions'][number]): string {
  if (found === unchanged) return `nothing new in ${counted(found, 'session')}.`;
  return `read ${counted(sessions, 'session')} of ${found}${unchanged > 0 ? `, ${unchanged} unchanged` : ''}.`;
}

const LEFT_OUT = [
  ['brokenLines', 'broken line'],
  ['longLines', 'line above 32 MiB'],
  ['refusedCalls', 'refused call'],
  ['resultsWithoutCall', 'result without its call'],
  ['entriesWithoutTime', 'entry without a time'],
  ['analyses', 'session of our own analysis'],
  ['runs', 'session of a background run'],
  ['notAskedFor', 'session not asked for'],
  ['linksNotFollowed', 'link to a directory'],
] as const;

/** A size for people. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
