/**
 * A shell command cut into its simple commands, exactly enough to compare two of them word by word. Not a shell: what it
 * does not understand (loops, nested substitutions) stays one word or one more simple command, which costs a lesson and
 * never harm.
 */

/** One program with its arguments. */
export type SimpleCommand = {
  /** As typed, assignments in front included, redirections left out. */
  readonly words: readonly string[];
  /** Where it runs, as `cd` said before it; empty where the shell stood, null where that cannot be said. */
  readonly directory: string | null;
  readonly endedBy: Operator;
  /** It reads what the command before it prints. */
  readonly readsPipe: boolean;
  /** That the line ended well says that this command ran and ended well; of a pipe all do that are joined by it. */
  readonly isCertain: boolean;
};

type Operator = '' | '&&' | '||' | '|' | ';' | '&';

const COMMAND_LENGTH_MAX = 4096;
const COMMANDS_MAX = 32;
const WORDS_MAX = 120;
const DEPTH_MAX = 32;

/** A simple command, or what stands between brackets or keywords. */
type Item = {
  readonly words: readonly string[];
  readonly group: Group | null;
  readonly isNegated: boolean;
  operator: Operator;
};
type Group = {
  readonly opener: string;
  /** Up to `then` or `do`. */
  isHead: boolean;
  items: Item[];
};

/** Cuts a command line into its simple commands. `cd` is followed and not among them. */
export function parseShell(text: string): SimpleCommand[] {
  const tokens = tokensOf(text.slice(0, COMMAND_LENGTH_MAX).replace(/\\\r?\n/g, ' '));
  const { items, isWhole } = groupTokens(tokens);
  return walk(items, isWhole && text.length <= COMMAND_LENGTH_MAX);
}

const isOperator = (token: string): token is Operator => /^(?:&&?|\|\|?|;)$/.test(token);
const OPENER = /^(?:\{|if|for|while|until|case|select)$/;
/** Which openers a word closes. */
const CLOSES: ReadonlyMap<string, RegExp> = new Map([
  ['fi', /^if$/],
  ['esac', /^case$/],
  ['done', /^(?:for|while|until|select)$/],
  ['}', /^(?:\{|function)$/],
]);

/** Puts tokens together; what is never closed ends with the text. `isWhole`: nothing was left out because of the limits. */
function groupTokens(tokens: readonly string[]) {
  const root: Group = { opener: '', isHead: false, items: [] };
  const stack = [root];
  const top = () => stack.at(-1) as Group;
  let words: string[] = [];
  let isNegated = false;
  let isFunctionBody = false;
  let isWhole = true;
  let count = 0;

  const open = (typed: string) => {
    isWhole &&= stack.length <= DEPTH_MAX;
    if (stack.length > DEPTH_MAX) return;
    const opener = isFunctionBody ? 'function' : typed;
    const group: Group = { opener, isHead: !/^(?:[({]|function)$/.test(opener), items: [] };
    top().items.push({ words: [], group, isNegated, operator: '' });
    stack.push(group);
    [isFunctionBody, isNegated] = [false, false];
  };

  /** The end of a simple command or of a group behind which an operator stands. */
  const end = (operator: Operator) => {
    const { items, isHead, opener } = top();
    const last = items.at(-1);
    if (words.length > 0) {
      const isListed = !(isHead && /^(?:for|case|select)$/.test(opener));
      if (isListed) items.push({ words, group: null, isNegated, operator });
      count++;
    } else if (last?.operator === '') last.operator = operator;
    [words, isNegated] = [[], false];
  };

  const closeBracket = () => {
    const group = top();
    if (group.opener !== 'case') end('');
    else [words, group.isHead] = [[], false]; // The end of a pattern.
    if (/^(?:\(|function)$/.test(group.opener)) stack.pop();
  };

  /** Reads a word that begins, parts or ends a construct and is no program; false for any other. */
  const readKeyword = (text: string): boolean => {
    const group = top();
    if (text === '!') isNegated = true;
    else if (OPENER.test(text)) open(text);
    else if (text === 'then' || text === 'do') {
      if (group.isHead) group.items = group.items.filter(({ operator }) => operator === '');
      group.isHead = false;
    } else if (text === 'elif') group.isHead = group.opener === 'if';
    else if (!CLOSES.has(text)) return text === 'time' || text === 'else';
    else if (CLOSES.get(text)?.test(group.opener)) stack.pop();
    return true;
  };

  let at = 0;
  for (; at < tokens.length && count < COMMANDS_MAX; at++) {
    const token = tokens[at] as string;
    if (isOperator(token)) end(token);
    else if (token === ')') closeBracket();
    else if (token === '(' && words.length === 1 && tokens[at + 1] === ')') {
      at++;
      [words, isFunctionBody] = [[], true];
    } else if (token === '(') {
      if (words.length > 0) end('');
      open(token);
    } else if ((words.length > 0 || !readKeyword(token)) && words.length < WORDS_MAX) words.push(token);
  }
  end('');
  return { items: root.items, isWhole: isWhole && at >= tokens.length };
}

type Around = Pick<SimpleCommand, 'isCertain' | 'readsPipe' | 'endedBy'>;

/** Goes through the commands in their order, from directory to directory. */
function walk(all: readonly Item[], isWhole: boolean): SimpleCommand[] {
  let directory: string | null = '';
  let pushed: (string | null)[] = [];

  /** What it does to the directory ends with it (`apart`), or is not known afterwards (`perhaps`). */
  const moving = (how: 'on' | 'apart' | 'perhaps', commandsOf: () => SimpleCommand[]) => {
    const [before, pushedBefore] = [directory, [...pushed]];
    const commands = commandsOf();
    if (how === 'apart') [directory, pushed] = [before, pushedBefore];
    else if (how === 'perhaps' && directory !== before) directory = null;
    return commands;
  };

  const ofList = (items: readonly Item[], around: Around): SimpleCommand[] => {
    let stopsAtFailure = false;
    return chainsOf(items).flatMap((chain, index, { length }) => {
      const isLast = index === length - 1;
      const isSingle = chain.every(({ operator }) => operator !== '&&' && operator !== '||');
      const isBehind = chain.at(-1)?.operator === '&';
      const isCertain = around.isCertain && !isBehind && (isLast || (stopsAtFailure && isSingle));
      stopsAtFailure ||= chain.some(({ words }) => words[0] === 'set' && /^-[a-z]*e/.test(words[1] ?? ''));
      const readsPipe = index === 0 && around.readsPipe;
      const inner = { isCertain, readsPipe, endedBy: isLast ? around.endedBy : '' } as const;
      return moving(isBehind ? 'apart' : 'on', () => ofChain(chain, inner));
    });
  };

  const ofChain = (chain: readonly Item[], around: Around): SimpleCommand[] => {
    const lastOr = chain.findLastIndex(({ operator }) => operator === '||');
    let isAlternative = false;
    return chain.flatMap((item, index) => {
      const before = chain[index - 1]?.operator ?? (around.readsPipe ? '|' : '');
      const readsPipe = before === '|';
      // All commands of a pipe stand where its first one stands.
      if (!readsPipe) isAlternative = before === '||';
      const pipeEnd = chain.findIndex(({ operator }, at) => at >= index && operator !== '|');
      const isDone = !isAlternative && !item.isNegated && (pipeEnd < 0 || pipeEnd > lastOr);
      const endedBy = item.operator === '' && index === chain.length - 1 ? around.endedBy : item.operator;
      const how = readsPipe || item.operator === '|' ? 'apart' : isAlternative ? 'perhaps' : 'on';
      const inner = { isCertain: around.isCertain && isDone, readsPipe, endedBy };
      return moving(how, () => ofItem(item, inner));
    });
  };

  const ofItem = ({ words, group }: Item, around: Around): SimpleCommand[] => {
    if (group !== null) {
      const how = group.opener === '{' ? 'on' : group.opener === '(' ? 'apart' : 'perhaps';
      const isCertain = around.isCertain && how !== 'perhaps';
      return moving(how, () => ofList(group.items, { ...around, isCertain }));
    }
    const typed = words[0] === '-p' ? words.slice(1) : words;
    const [program] = typed;
    const isRun = program !== undefined && !isMove(program, typed) && !RUNS_NOTHING.test(program);
    return isRun ? [{ words: typed, directory, ...around }] : [];
  };

  /** Follows what changes the directory. */
  const isMove = (program: string, words: readonly string[]): boolean => {
    const isPush = /^(?:pushd|Push-Location)$/i.test(program);
    if (/^(?:popd|Pop-Location)$/i.test(program)) directory = pushed.pop() ?? null;
    else if (isPush || /^(?:cd|chdir|Set-Location)$/i.test(program)) {
      if (isPush) pushed.push(directory);
      const [target] = words.slice(1).filter((word) => !/^(?:--|-[A-Za-z@]+|\/d)$/.test(word));
      const isBare = target === undefined && !words.includes('-');
      directory = isBare ? (isPush ? null : '~') : joined(directory, target ?? '-');
    } else return false;
    return true;
  };

  return ofList(all, { isCertain: isWhole, readsPipe: false, endedBy: '' });
}

/** Builtins that set something up in the shell. */
const RUNS_NOTHING = /^(?:function|export|local|set|unset|alias|trap)$/;

/** What stands between `;` and `&`. */
function chainsOf(items: readonly Item[]): Item[][] {
  const chains: Item[][] = [];
  let isNew = true;
  for (const item of items) {
    if (isNew) chains.push([]);
    chains.at(-1)?.push(item);
    isNew = /^[;&]?$/.test(item.operator);
  }
  return chains;
}

/** Null where a variable, a substitution or a pattern says where it leads, or the place that was left last. */
function joined(base: string | null, typed: string): string | null {
  if (typed === '-' || /^[+-]\d*$/.test(typed) || /[$`*?]/.test(typed.replace(/'[^']*'/g, ''))) return null;
  const target = unquoted(typed);
  if (target === '') return base;
  const isAbsolute = /^(?:[/~]|[A-Za-z]:)/.test(target);
  if (base === null && !isAbsolute) return null;
  return joinPaths(isAbsolute ? '' : (base ?? ''), target) || (isAbsolute ? '/' : '.');
}

/** The path that `target` leads to from `base`; both relative, or `base` empty. */
export function joinPaths(base: string, target: string): string {
  const kept: string[] = [];
  for (const segment of (base === '' ? target : `${base}/${target}`).split('/')) {
    if (segment === '.' || (segment === '' && kept.length > 0)) continue;
    if (segment !== '..' || kept.length === 0 || kept.at(-1) === '..') kept.push(segment);
    else if (kept.at(-1) !== '') kept.pop();
  }
  return kept.join('/');
}

/** A word without the quotes around its parts. */
export function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, (_all, single, double, escaped) =>
    String(single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? ''),
  );
}

/** The program of a simple command, without path and without the assignments in front of it; empty when there is none. */
export function programOf({ words }: Pick<SimpleCommand, 'words'>): string {
  const typed = words.find((one) => !isAssignment(one)) ?? '';
  // In PowerShell a path has backslashes.
  const word = /["']/.test(typed) ? unquoted(typed) : typed;
  return word.slice(word.search(/[^\\/]*$/)).replace(/\.(?:exe|cmd|bat)$/i, '');
}

/** `NAME=value` in front of a command. */
export function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*\+?=/.test(word);
}

const SKIPPED = /(?:[ \t\r]|#[^\n]*)+/y;
/** `2>&1`, `> file`, `< file`, `<<EOF`. */
const REDIRECTION = /(?:\d*(?:>&|<&)[\d-]|&?>>?\|?|\d+>>?|<<-?|<)(?!\()/y;
const PUNCTUATION = /&&|\|\||\|&|[;|&()\n]/y;

/** The words, operators and brackets of a line; without comments, redirections and here-documents. */
function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const heredocs: string[] = [];
  let at = 0;
  const take = (expression: RegExp): string | undefined => {
    expression.lastIndex = at;
    const found = expression.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  while (take(SKIPPED) !== undefined || at < text.length) {
    const redirection = take(REDIRECTION);
    if (redirection !== undefined) {
      if (/&\S$/.test(redirection)) continue;
      while (text[at] === ' ') at++;
      const word = wordAt(text, at);
      at += word.length;
      if (redirection.startsWith('<<')) heredocs.push(unquoted(word));
      continue;
    }
    const punctuation = take(PUNCTUATION);
    if (punctuation === '\n') for (const end of heredocs.splice(0)) at = behindHeredoc(text, at, end);
    const token = punctuation ?? wordAt(text, at);
    if (punctuation === undefined) at += token.length;
    if (token !== '') tokens.push(token === '\n' ? ';' : token === '|&' ? '|' : token);
  }
  return tokens;
}

function behindHeredoc(text: string, from: number, end: string): number {
  let at = from;
  for (const line of text.slice(from).split('\n')) {
    at += line.length + 1;
    if (line.trim() === end) return at;
  }
  return text.length;
}

function wordAt(text: string, from: number): string {
  let at = from;
  while (at < text.length) {
    const character = text[at] as string;
    const isSubstitution = character === '(' && /[$<>=]/.test(text[at - 1] ?? ' ');
    const isProcess = /[<>]/.test(character) && text[at + 1] === '(';
    if (/[\s;|&()<>]/.test(character) && !isSubstitution && !isProcess) break;
    if (character === '`') at = behindMark(text, '`', at + 1);
    else at = character === '(' ? behindParenthesis(text, at + 1) : behindQuoted(text, at);
  }
  return text.slice(from, Math.max(at, from + 1));
}

function behindMark(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end + 1;
}

/** Behind a character, or behind what it escapes or quotes. */
function behindQuoted(text: string, at: number): number {
  const character = text[at];
  if (character === '\\') return at + 2;
  if (character === "'") return behindMark(text, "'", at + 1);
  return character === '"' ? behindDouble(text, at + 1) : at + 1;
}

function behindDouble(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') at++;
    else if (character === '"') return at + 1;
    else if (character === '(' && text[at - 1] === '$') at = behindParenthesis(text, at + 1) - 1;
  }
  return text.length;
}

function behindParenthesis(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; ) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return at + 1;
    at = text.startsWith('<<', at) ? behindInnerHeredoc(text, at) : behindQuoted(text, at);
  }
  return text.length;
}

/** Behind a here-document inside a substitution, whose text may hold anything. */
function behindInnerHeredoc(text: string, from: number): number {
  const [mark, , end] = /^<<-?[ \t]*(['"]?)(\w+)\1/.exec(text.slice(from, from + 64)) ?? [];
  if (mark === undefined || end === undefined) return from + 2;
  const body = from + mark.length;
  const found = new RegExp(`^[ \\t]*${end}[ \\t]*$`, 'm').exec(text.slice(body));
  return found === null ? text.length : body + found.index + found[0].length;
}
