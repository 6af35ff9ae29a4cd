import { z } from 'zod';
import { isInstructionShaped } from '../../core/instruction-shape.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, oneLine } from '../../core/text.ts';
import type { CandidateGroup } from './candidates.ts';
import { commandWords, provesCommand, quotedCommands } from './shell-words.ts';

export const LESSON_KINDS = ['command', 'environment', 'directory', 'order', 'cause', 'convention'] as const;

/** A lesson as the model wrote it, with the failures that it is about. */
export type ModelLesson = {
  readonly group: CandidateGroup;
  readonly advice: string;
  readonly kind: (typeof LESSON_KINDS)[number];
  readonly confidence: number;
};

export type LessonsRead = {
  readonly lessons: readonly ModelLesson[];
  /** Why others were refused. */
  readonly refused: readonly string[];
};

export const ADVICE_LENGTH_MAX = 140;
export const LESSONS_MAX = 12;
const LOOKED_AT_MAX = 40;
const ADVICE_LENGTH_MIN = 8;

const LESSON = z.object({
  group: z.number().int(),
  advice: z.string().trim().min(ADVICE_LENGTH_MIN).max(ADVICE_LENGTH_MAX),
  kind: z.enum(LESSON_KINDS),
  confidence: z.number().min(0).max(1),
});

/** Reads the lessons of an answer. What is refused is not asked for again. Never throws. */
export function readLessons(value: unknown, groups: ReadonlyMap<number, CandidateGroup>): LessonsRead {
  if (value === undefined) return { lessons: [], refused: [] };
  if (!Array.isArray(value)) return { lessons: [], refused: ['lessons: is no list'] };
  const lessons: ModelLesson[] = [];
  const refused: string[] = [];
  for (const [index, one] of value.slice(0, LOOKED_AT_MAX).entries()) {
    const read = readLesson(one, groups, lessons);
    if (typeof read === 'string') refused.push(`lessons[${index}]: ${read}`);
    else lessons.push(read);
  }
  if (value.length > LOOKED_AT_MAX) refused.push(`lessons: ${value.length} are too many`);
  return { lessons, refused };
}

/** The lesson, or why it is none. */
function readLesson(
  value: unknown,
  groups: ReadonlyMap<number, CandidateGroup>,
  before: readonly ModelLesson[],
): ModelLesson | string {
  const parsed = LESSON.safeParse(value);
  if (!parsed.success)
    return parsed.error.issues
      .slice(0, 3)
      .map(({ path, message }) => `${path.join('.')} ${message}`.trim())
      .join('; ');
  const group = groups.get(parsed.data.group);
  if (group === undefined) return `there is no group ${parsed.data.group}`;
  if (before.length >= LESSONS_MAX) return `more than ${LESSONS_MAX}`;
  if (before.some((one) => one.group === group)) return `a second one of group ${parsed.data.group}`;
  // Angle brackets open frames elsewhere: what changes from case to case is told as everywhere.
  const advice = parsed.data.advice.replace(/<[a-z][\w -]{0,40}>/gi, '…');
  return objectionTo(parsed.data.advice, group) ?? { ...parsed.data, advice, group };
}

/** Why advice can be no lesson, however sure the model is. */
function objectionTo(advice: string, group: CandidateGroup): string | undefined {
  if (advice !== oneLine(cleanText(advice))) return 'the advice is not plain text on one line';
  if (redactSecrets(advice) !== advice || advice.includes('[REDACTED')) return 'the advice names a secret';
  const plain = advice.normalize('NFKC');
  if (/<[/|]?[a-z!?|]|\[\/?INST/i.test(withoutPlaceholders(plain))) return 'the advice opens a frame';
  if (isInstructionShaped(plain)) return 'reads like an instruction to ignore, fetch, send or destroy';
  if (GETS_AROUND.test(plain)) return 'gets round a check or a safeguard';
  if (NAMES_ADDRESS.test(plain)) return 'names an address';
  if (downloads(plain) && !isProvenDownload(plain, group))
    return 'downloads and runs something that never ran here with success';
  return undefined;
}

function withoutPlaceholders(advice: string): string {
  return advice.replace(/<[a-z][\w -]{0,40}>/gi, (match) =>
    /^<(?:system|user|assistant|human|tool|function|instruction|prompt|important|log|answer|admin)/i.test(
      match,
    )
      ? match
      : '',
  );
}

const GETS_AROUND =
  /--no-verify\b|--no-gpg-sign\b|--force(?!-with-lease)\b|--skip-(?:tests?|checks?|hooks?)|-DskipTests|HUSKY=0|SKIP=|--dangerously|bypassPermissions|\b(?:disable|skip|bypass|turn off|comment out)\b.{0,30}\b(?:tests?|checks?|hooks?|lint\w*|verification|sandbox|safeguards?|permissions?|security)\b|\|\|\s*true\b|eslint-disable|biome-ignore|@ts-ignore|(?:테스트|검사|훅|검증|보안|권한).{0,12}(?:건너뛰|끄|우회|비활성|무시)/i;
const NAMES_ADDRESS =
  /\b(?:https?|ftp|ssh|git|wss?):\/\/(?!(?:localhost|127\.0\.0\.1)\b)|\bwww\.|[\w.+-]+@[\w-]+\.[a-z]{2,}|\b\d{1,3}(?:\.\d{1,3}){3}\b(?<!127\.0\.0\.1)/i;

/** Get something from elsewhere and run it: who names the package decides what runs. */
const DOWNLOADS =
  /\b(?:npx|bunx|uvx|pnpx|pipx|npm\s+(?:exec|x|init|create)|bun\s+(?:x|create)|(?:pnpm|yarn)\s+(?:dlx|create)|uv\s+tool\s+run|deno\s+(?:run|install)\s+\S*(?:npm:|jsr:|http)|go\s+(?:run|install)\s+\S+@|cargo\s+install|nix\s+(?:run|shell)|(?:docker|podman)\s+(?:run|pull|compose\s+up)|helm\s+install|kubectl\s+apply\s+-f\s*http|gem\s+install|code\s+--install-extension)\b|--(?:extra-)?index-url\b|--registry\b|--find-links\b|\b(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod)|fetch)\b.{0,80}(?:\||>|\bsh\b|\bbash\b|\s-[oO]\b)|\b(?:pip3?|uv\s+pip)\s+install\s+(?:git\+|http|[^-\s]*:\/\/)|\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add)\s+(?:-\S+\s+)*(?:git|http|github:)|다운로드.{0,10}실행/i;

function downloads(advice: string): boolean {
  return DOWNLOADS.test(advice);
}

/** Whether every quoted command of it that downloads is one that worked beside these very failures. */
function isProvenDownload(advice: string, { workingLines }: CandidateGroup): boolean {
  const outside = advice.replace(/`[^`]*`/g, ' ');
  if (downloads(outside)) return false;
  return quotedCommands(advice)
    .filter(downloads)
    .every(
      (command) => !/[…<]|\.\.\./.test(command) && workingLines.some((line) => provesCommand(line, command)),
    );
}

/**
 * Whether advice says nothing but what to run, when, and in place of what: then proof of its commands is proof of it.
 * Beside its commands it consists of words that can say no more than that, and of names of what failed. It decides only
 * whether somebody reads it first.
 */
export function isPlainAdvice(advice: string, group: CandidateGroup): boolean {
  const quoted = quotedCommands(advice);
  const outside = advice.normalize('NFKC').replace(/`[^`]*`/g, ` ${COMMAND} `);
  const words = wordsOf(outside).filter((word) => word !== COMMAND);
  const names = namesIn(group);
  const ofQuoted = new Set(quoted.flatMap((command) => command.split(/[\s:]+/)));
  const isTemplate = (word: string) => TEMPLATE_WORDS.has(word.toLowerCase());
  // `Run no test` is made of names and template words too.
  const isSaid = (word: string) =>
    CHECKS.test(word) ? ofQuoted.has(word) : isTemplate(word) || names.has(word);
  const isName = (word: string) => word !== COMMAND && !isTemplate(word);
  const clauses = outside.split(/[.,:;!?](?:\s|$)/);
  return (
    quoted.length > 0 &&
    !downloads(advice) &&
    quoted.every((command) => !RISKY_COMMANDS.test(command) && !saysSomething(command)) &&
    words.every(isSaid) &&
    !clauses.flatMap((clause) => clause.split(COMMAND)).some((part) => ordersName(wordsOf(part), isName)) &&
    !clauses.some((clause) => deniesCommand(wordsOf(clause), isName)) &&
    !KOREAN_ORDER.test(outside)
  );
}

/** Stands for a quoted command among the words around it. */
const COMMAND = '`';

/** Whether a clause denies anything but a name: that a command ran here proves it, and not that it is of no use. */
function deniesCommand(words: readonly string[], isName: (word: string) => boolean): boolean {
  return words.some((word, at) => {
    if (word === '대신') return !isName(words[at - 1] ?? COMMAND);
    const [before, after] = [words.slice(0, at), words.slice(at + 1, at + 1 + DENIED_WORDS)];
    if (DENIES_BEFORE.test(word)) return before.includes(COMMAND) || !before.some(isName);
    if (!DENIES.test(word)) return false;
    const [name, command] = [after.findIndex(isName), after.indexOf(COMMAND)];
    return name < 0 || (command >= 0 && command < name);
  });
}

const DENIED_WORDS = 4;
const DENIES = /^(?:not?|without|instead|rather|cannot|[a-z]+n't)$/i;
const DENIES_BEFORE = /^(?:없|아니|아닌|아닙)/;

/** Whether a clause says to run what stands there by its name alone, unproven. */
function ordersName(words: readonly string[], isName: (word: string) => boolean): boolean {
  const [first] = words;
  const begins = first !== undefined && isName(first) && !words.some((word) => STATES.test(word));
  // In `rtk bun run test` the third word belongs to a name.
  const isOrder = (at: number) => ORDERS.test(words[at] ?? '') && (at === 0 || !isName(words[at - 1] ?? ''));
  return begins || words.some((word, at) => isName(word) && isOrder(at - 1));
}

const ORDERS =
  /^(?:uses?|runs?|call|type|then|and|or|so|but|first|always|only|before|after|to|with|by|먼저|다음|다음에|항상)$/i;
const STATES =
  /^(?:is|are|has|have|does|do|exists?|works?|fails?|failed|knows|needs?|takes?|wants|gives|expects|requires|cannot|[a-z]+n't|대신|.*(?:습니다|니다|없다|있다|없고|없음|으므로|으니|하면))$/i;
const KOREAN_ORDER = /[\w)][\w.:/-]*(?:을|를|로|으로)?\s*(?:실행|호출|사용|씁|쓰|써)/;

/** Whether a command prints or carries a sentence. */
function saysSomething(command: string): boolean {
  return commandWords(command).some(
    ([program = '', ...others]) => SPEAKERS.has(program) || others.some((word) => /\s\S+\s/.test(word)),
  );
}

const SPEAKERS = new Set(['echo', 'printf', 'say', 'wall', 'write', 'notify-send', ':']);

/** Without the punctuation around them and the particles behind English words. */
function wordsOf(text: string): string[] {
  return text
    .split(/\s+/)
    .map((word) => word.replace(/^["'(]+|["'),.:;!]+$/g, '').replace(PARTICLE, ''))
    .filter((word) => word !== '' && !/^[,.:;…–—-]+$/.test(word));
}

const NAME_LENGTH_MAX = 30;

/** The programs, subcommands and options that failed, and what of their arguments the message names. */
function namesIn({ failingLines, said }: CandidateGroup): ReadonlySet<string> {
  const blamed = new Set(wordsOf(said.replace(/["'`‘’“”]/g, ' ')));
  const names = failingLines
    .flatMap(commandWords)
    .flatMap((words) =>
      words.filter((word, at) => at < NAMING_WORDS || word.startsWith('-') || blamed.has(word)),
    );
  const options = names.flatMap((name) => (name.startsWith('-') ? [name.replace(/=.*/, '')] : []));
  const missing = [...blamed].filter((word) => /^--?[a-z][\w-]*$/i.test(word));
  return new Set(
    [...names, ...options, ...missing].filter(
      (name) => name.length <= NAME_LENGTH_MAX && /^[\w@./:-]+$/.test(name) && !ASKS.test(name),
    ),
  );
}

/** The program and its subcommand. */
const NAMING_WORDS = 2;

/** Names that ask for something when they stand in a sentence. */
const ASKS =
  /^(?:\W*)(?:add|allow|approve|ask|cat|checkout|clean|clear|clone|commit|confirm|copy|cp|create|delete|deploy|destroy|disable|drop|echo|edit|enable|eval|exec|execute|export|fetch|forget|force|get|give|grant|ignore|install|kill|login|logout|mail|make|merge|mv|no-?verify|open|pass|patch|paste|post|print|publish|pull|purge|push|put|read|rebase|release|remove|replace|report|reset|restore|revert|review|revoke|rm|say|secret|send|set|share|skip|source|ssh|stash|stop|sudo|switch|tell|token|touch|trust|update|upgrade|upload|wipe|write|yes)$/i;

const CHECKS = /^(?:tests?|lint|checks?|typecheck|types?|verify|audit|scan|hooks?|ci|sandbox|security)$/i;

const PARTICLE =
  /(?<=\w)(?:에는|에서는|에서|에게|으로는|으로|로는|로|이나|나|은|는|이|가|을|를|의|와|과|도|만|에|라는|이라는)$/;

/** With them alone nothing can be said that the quoted commands do not say. */
const TEMPLATE_WORDS: ReadonlySet<string> = new Set(
  [
    'a an the it its this that there here and or but so because as',
    'use uses run runs call type instead of rather than',
    'is are has have does do exists exist works work fails fail failed knows known',
    'not no such only always without with in from at for to on by into',
    'first before after then when while if both each every one',
    'needs takes take wants gives expects requires',
    'root top project repository repo directory folder package workspace',
    'command commands option options flag flags argument arguments subcommand subcommands script scripts task target',
    'name names path file files form shell program tool',
    "don't doesn't isn't aren't can't cannot",
    '사용 사용합니다 사용하세요 사용하십시오 사용한다 사용해야 씁니다 쓰세요 쓰십시오 쓴다 써야 쓰면 쓰고 쓸',
    '실행 실행합니다 실행하세요 실행하십시오 실행한다 실행해야 실행하면 실행할 실행됩니다 합니다 하세요 한다 됩니다 된다',
    '대신 먼저 다음 다음에 전 전에 후 후에 뒤 뒤에 때 때는 때만 경우 경우에는 항상 각각 그리고 또는 및',
    '없습니다 없다 없고 없으므로 없으니 없어 없음 있습니다 있다 있는 있어야 아닙니다 아니다 아니라 아닌',
    '필요합니다 필요하다 필요 실패하면 실패합니다 실패한다 실패할 작동합니다 동작합니다',
    '프로젝트 프로젝트의 루트 루트에서 루트에는 루트의 저장소 저장소의 저장소에는 디렉터리 디렉터리에서 폴더 폴더에서 패키지',
    '명령 명령은 명령이 명령을 옵션 옵션은 옵션이 옵션을 플래그 플래그는 플래그가 하위 스크립트 스크립트는 스크립트가 인자 인자가',
    '이 그 여기 여기서 여기서는 여기에는 은 는 가 을 를 의 와 과 도 만 에 에는 에서 에서는 로 으로 로만 으로만',
  ]
    .join(' ')
    .split(' '),
);

const RISKY_COMMANDS =
  /(?:^|[\s;&|(])(?:rm|rmdir|unlink|shred|dd|mkfs\S*|sudo|su|doas|chmod|chown|kill|pkill|killall|curl|wget|nc|ssh|scp|rsync|eval|exec|source|env|printenv|base64|crontab|launchctl|systemctl|osascript|security|gpg|pass)(?=\s|$)|\b(?:push|publish|deploy|release|login|logout|destroy|delete|drop|purge|prune|reset|clean|clobber|rebase|revert|stash|checkout|restore)\b|--(?:force|hard|yes|no-verify|delete|global|system)\b|\s-[a-z]*f\b|\$\(|\.env\b|~\/\.|\/etc\//i;
