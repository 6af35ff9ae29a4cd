/** The names in an error's lines: which module, port, relation, host, variable or file it is about. */

/** Where it was printed: `src/a.ts(4,25): `, `main.go:9:2: `, `./x.sh: line 18: `, `[13] main.py:4`. */
const PLACE =
  /^(?:\S+?(?::\d+){1,2}:?(?= |$)|\S+\(\d+,\d+\):|\S+: (?:(?:line|줄|行|Zeile) )?\d+:|\/(?:\w+\/)*\w+:)(?: - | |$)/;
const QUOTED =
  /"([^"\n]*)"|`([^`'\n]*)[`']|‘([^’\n]*)’|“([^”\n]*)”|„([^“\n]*)“|»([^«\n]*)«|(?<![A-Za-z\d])'([^'\n]*)'/g;
/** Outside quotes a name has a sign, a digit or a capital within; or stands alone behind a colon at the end. */
const TOKEN = /[A-Za-z\u00aa-\u1fff\u3040-\ud7a3\d@$_.~/\\<[:-][^\s"'`‘’“”„»«,;(){}|]*/g;
const BARE =
  /[A-Za-z\u00aa-\u1fff\u3040-\ud7a3\d][._@/\\:][A-Za-z\u00aa-\u1fff\u3040-\ud7a3\d]|-\w*\d|\d\w*-|[a-z][A-Z]|_|^-l./;
/** Any word is a name behind these. */
const NOUN = /\b(?:refspec|wheel for|cannot use) $/;
/** Fields in which Node.js prints what it has said before. */
const FIELD = /^(?:code|errno|syscall|address|port|severity|routine|file|requireStack): /;
const LAST =
  /(?:: |\b(?:package|refspec|class|variable|method) )([A-Za-z\u00aa-\u1fff\u3040-\ud7a3\d-]{2,})\.?$|(\w+): unbound variable/;
const LETTERS = /[A-Za-z\u00aa-\u1fff\u3040-\ud7a3]{2}/;
const PORT = /(?:\bport[ =:]+|(?:\d\.\d+|localhost|\/\/[^\s:/]+|[\]*:\s]):|\.PGSQL\.)(\d{2,5})\b/gi;
/** `src/a.ts:4:25` within a line: a place. */
const WITHIN = /:\d+:\d+|\(\d+,\d+\)/;
/** A command that is advised, a request, a call. */
const COMMAND = /^(?:go|git|npm|npx|pnpm|bun|pip|uv|cargo|docker|sudo|apt|make) | .*\/|\/.* |\(\)$/;
/** Numbers, versions, times, hashes; codes and kinds of errors; this machine, and what every project has: no names. */
const NO_NAME =
  /^(?:v?\d[\d.:_TZ+-]*\w?|[\da-f-]{7,}|[^A-Za-z\u00aa-\u1fff\u3040-\ud7a3]*|null|undefined|E[A-Z]{3,}|ERR_\w+|PERMISSION_DENIED|[\w.]*(?:[eE]rrors?|[eE]xception|Warning|Violation|Disconnected|Denied|NotFound|Expired)(?:\.\w+)?|.*\(none\)|s\.PGSQL\.\d+|user\.\w+|localhost|f?e?0*::?1?|main|std|go\.(?:sum|mod)|:[a-z].*|gcloud\..*|.)$/;
/** Of `release/2.0` and `pgx/v5` both parts. */
const LAST_PART = /[^/\\]+(?:[/\\]v?\d[\d.]*)?$/;
const VERSION = /(?:[@=<>~^:]=?|[=<>~^]=)[\^~]?v?(?:\d[\w.+-]*|\*|latest)$/;

/** What the system lacks or refuses is the same for every name. */
export const OF_THE_SYSTEM =
  /exec(?:utable)? format error|cannot execute binary file|no space left|not enough space|too many open files|read-only file system|argument list too long|heap out of memory|dubious ownership/i;

/** A line as it is compared: the words of its message in lower case, and the names between them. */
export type NamedLine = { readonly words: ReadonlySet<string>; readonly names: readonly string[] };

/**
 * The words of a line, and its names in their order: of paths and addresses the last part, without versions; ports.
 */
export function wordsAndNames(line: string): NamedLine {
  if (FIELD.test(line)) return { words: new Set(), names: [] };
  const found: { at: number; name: string }[] = [];
  const words = new Set<string>();
  const said = line.replace(PLACE, '');
  const add = (at: number, text: string) => {
    const name = bareName(text);
    if (name !== '') found.push({ at, name });
  };
  const rest = said.replace(QUOTED, (quoted, ...parts) => {
    const text = parts.slice(0, 7).find((part) => part !== undefined) as string;
    if (!/\S \S+ \S+ \S/.test(text) && !COMMAND.test(text)) add(parts[7] as number, text);
    return ' '.repeat(quoted.length);
  });
  const last = LAST.exec(rest);
  for (const { 0: token, index } of rest.matchAll(TOKEN)) {
    const isLast =
      last !== null && index >= last.index && rest.startsWith((last[1] ?? last[2]) as string, index);
    const isCall = rest[index + token.length] === '(';
    if (isLast || (!isCall && !WITHIN.test(token) && (BARE.test(token) || NOUN.test(rest.slice(0, index)))))
      add(index, token);
    else if (LETTERS.test(token)) words.add(token.toLowerCase().replace(/[.:]+$/, ''));
  }
  for (const match of said.matchAll(PORT)) found.push({ at: match.index, name: `:${match[1]}` });
  const names = found.sort((left, right) => left.at - right.at).map(({ name }) => name);
  return { words, names };
}

function bareName(text: string): string {
  const path = text
    .replace(/[?#].*|: .*|["'`]/g, '')
    .replaceAll(/%2f/gi, '/')
    .replace(/[.:!…/\\>\]]+$/, '');
  const last = LAST_PART.exec(path)?.[0] ?? path;
  const name = last
    .replace(/(?::\d+)+$| v?\d\S*$/, '')
    .replace(VERSION, '')
    .replace(/^[<[.~$]+/, '');
  return NO_NAME.test(name) ? '' : name;
}

/** Two names of what the errors are about. */
export type NamesThatDiffer = { readonly asked: string; readonly known: string };

/** So much of their words two lines share that say the same of other names; and where no two do, those that are near. */
const SAME_LINE = 0.6;
const NEAR_LINE = 0.4;
/** The first sentence counts more: behind it stand details and hints. */
const FIRST_SENTENCE = 1.5;

/**
 * The first names in which two errors differ. Most of the lines that say the same decide, by the names that stand first
 * in them; without any, the two lines that are nearest, or whether the errors share any name at all.
 */
export function differingIn(asked: readonly NamedLine[], known: readonly NamedLine[]) {
  const verdicts = known.flatMap((line) => verdictOn(line, asked) ?? []);
  if (verdicts.length > 0) {
    const first = verdicts.find(({ isSentence }) => isSentence);
    let balance = 0;
    for (const one of verdicts)
      balance += (one === first ? FIRST_SENTENCE : 1) * (one.differing === undefined ? 1 : -1);
    return balance > 0 ? undefined : verdicts.find(({ differing }) => differing)?.differing;
  }
  let nearest: { share: number; asked: NamedLine; known: NamedLine } | undefined;
  for (const line of known) {
    for (const one of asked) {
      const share = shareOf(one.words, line.words);
      if (share >= NEAR_LINE && share > (nearest?.share ?? 0)) nearest = { share, asked: one, known: line };
    }
  }
  if (nearest !== undefined) return differingFirst(nearest.asked.names, nearest.known.names);
  const [all = [], others = []] = [asked, known].map((lines) => lines.flatMap(({ names }) => names));
  return shareName(asked, known) ? undefined : differingFirst(all, others);
}

/** Whether any line of one names what any line of the other does. */
export function shareName(left: readonly NamedLine[], right: readonly NamedLine[]): boolean {
  const others = right.flatMap(({ names }) => names);
  return left.some(({ names }) => names.some((name) => has(others, name)));
}

type Verdict = { readonly differing: NamesThatDiffer | undefined; readonly isSentence: boolean };

/** Whether a known line names what one of those asked about that say the same names; undefined when there is none. */
function verdictOn(known: NamedLine, asked: readonly NamedLine[]): Verdict | undefined {
  const alike = asked.filter(
    ({ words, names }) => names.length > 0 && shareOf(words, known.words) >= SAME_LINE,
  );
  if (known.names.length === 0 || alike.length === 0) return undefined;
  const differing = alike.map(({ names }) => differingFirst(names, known.names));
  const isSame = differing.includes(undefined);
  return { differing: isSame ? undefined : differing[0], isSentence: known.words.size > 0 };
}

/** Which port it is decides first; then the first name, unless the other error has it at another place. */
function differingFirst(asked: readonly string[], known: readonly string[]): NamesThatDiffer | undefined {
  const [port, otherPort] = [asked, known].map((names) => names.find((name) => name.startsWith(':')));
  if (port !== undefined && otherPort !== undefined && port !== otherPort)
    return { asked: port, known: otherPort };
  const [first, other] = [asked[0], known[0]];
  if (first === undefined || other === undefined) return undefined;
  return has(asked, other) || has(known, first) ? undefined : { asked: first, known: other };
}

/** `LoggerFactory` is `org.slf4j.LoggerFactory`. */
function has(names: readonly string[], name: string): boolean {
  const asked = name.toLowerCase();
  return names.some((one) => {
    const known = one.toLowerCase();
    return known === asked || known.endsWith(`.${asked}`) || asked.endsWith(`.${known}`);
  });
}

/** How much of the words of both is in both: 1 for two lines that are only names. */
function shareOf(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  if (left.size === 0 && right.size === 0) return 1;
  let shared = 0;
  for (const word of left) if (right.has(word)) shared++;
  return shared / Math.max(left.size, right.size);
}
