import { isRecord, readRecord, readString, readTexts } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { type Row, recordIn } from '../../database/sqlite.ts';
import { quotedCommands } from '../../lessons/advised-commands.ts';
import { culpritOf, type Noise } from '../../lessons/failure.ts';
import { placeIn } from '../../lessons/learn.ts';
import { parseShell } from '../../lessons/shell.ts';
import type { FailureGroup } from '../model/telling.ts';
import type { Advice } from '../settle.ts';

/** What a lesson says to run, as it stands in the knowledge base, and in which projects it does. */

/** The paths of the projects that are of a place: the clones of a repository, or the project itself. */
export function pathsOf(place: string, db: Db): string[] {
  const sql = 'SELECT project_path FROM repositories WHERE repository = ? UNION SELECT ?';
  return db.sqlite.all(sql, place, place).map((row) => String(row.project_path));
}

/**
 * What is advised about a failure, of a lesson that was withdrawn too; nothing where there is none, or none that can be
 * recognised in a call.
 */
export function readAdvice({ place, key }: FailureGroup, db: Db): Advice {
  const row = db.sqlite.get(
    `SELECT id, project_path, evidence, COALESCE(resolution,
         (SELECT resolution FROM withdrawals WHERE error_id = error_kb.id ORDER BY id DESC LIMIT 1)) AS resolution
       FROM error_kb WHERE error_normalized = ? AND project_path IN (SELECT value FROM json_each(?))
     ORDER BY typeof(error_kb.resolution) = 'text' DESC, last_used DESC LIMIT 1`,
    ...[key, JSON.stringify(pathsOf(place, db))],
  );
  return row === undefined || row.resolution === null ? NO_ADVICE : adviceIn(row, db);
}

const NO_ADVICE: Advice = { use: [], failing: [], places: [] };

function adviceIn({ resolution, evidence, project_path }: Row, db: Db): Advice {
  const remedy = recordIn(resolution);
  const read = (key: string) => readString(remedy, key) ?? '';
  const [use, failing, leaveOut, directory] = [
    read('use'),
    read('failing'),
    read('leaveOut'),
    read('directory'),
  ];
  const known = recordIn(evidence);
  const model = readRecord(known, 'model');
  const places = () =>
    placesOf([...readTexts(known.failedCalls), ...readTexts(model.failed)], String(project_path), db);
  switch (remedy.kind) {
    case 'command':
      return { use: [use], failing: [failing], places: places() };
    case 'without':
      return { use: [without(failing, leaveOut)].filter(Boolean), failing: [failing], places: places() };
    case 'directory':
      // What runs at the root runs anywhere, as far as its words tell.
      return { ...NO_ADVICE, use: directory === '' ? [] : [`cd ${directory} && ${use}`] };
    case 'fixer':
      return { ...NO_ADVICE, use: [use] };
    case 'lint':
      return NO_ADVICE;
    default: {
      // What sets something up makes the failing form work.
      const isForm = readString(model, 'kind') === 'command' && isRecord(known.model);
      const lines = isForm ? readTexts(model.failingLines) : [];
      return { use: quotedCommands(read('summary')), failing: lines, places: places() };
    }
  }
}

/** Empty where the words do not stand in the command as they are told. */
function without(failing: string, leaveOut: string): string {
  const [before = '', after] = ` ${failing} `.split(` ${leaveOut} `, 2);
  return after === undefined ? '' : `${before} ${after}`.trim();
}

/** Where the commands of these failing calls ran, relative to the project. */
function placesOf(callIds: readonly string[], root: string, db: Db): string[] {
  const rows = db.sqlite.all(
    `SELECT data FROM events WHERE type IN ('tool_use', 'tool_error')
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END IN (SELECT value FROM json_each(?))`,
    JSON.stringify(callIds),
  );
  const places = rows.flatMap(({ data }) => {
    const call = recordIn(data);
    const [line = '', said = '', noise] = ['line', 'said', 'noise'].map((key) => readString(call, key));
    const culprit = culpritOf(parseShell(line), said, (noise ?? null) as Noise | null);
    return culprit === undefined
      ? []
      : [placeIn(root, readString(call, 'directory') ?? '', culprit.directory)];
  });
  return [...new Set(places)];
}
