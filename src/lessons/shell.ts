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
  const { items, isWhole } = new Parser().parse(tokens);
  const isCertain = isWhole && text.length <= COMMAND_LENGTH_MAX;
  return new Walk().list(items, { isCertain, readsPipe: false, endedBy: '' });
}

const isOperator = (token: string): token is Operator => /^(?:&&?|\|\|?|;)$/.test(token);
const OPENER = /^(?:\{|if|for|while|until|case|select)$/;
/** Which openers a word closes. */
const CLOSES: Readonly<Record<string, RegExp>> = {
  fi: /^if$/,
  esac: /^case$/,
  done: /^(?:for|while|until|select)$/,
  '}': /^(?:\{|function)$/,
};

/** Puts tokens together; what is never closed ends with the text. */
class Parser {
  readonly #stack: Group[] = [{ opener: '', isHead: false, items: [] }];
  #words: string[] = [];
  #isNegated = false;
  /** What follows is a function's body. */
  #isBody = false;
  #count = 0;
  #isWhole = true;

  /** `isWhole`: nothing was left out because of the limits. */
  parse(tokens: readonly string[]): { readonly items: readonly Item[]; readonly isWhole: boolean } {
    let at = 0;
    for (; at < tokens.length && this.#count < COMMANDS_MAX; at++) {
      const token = tokens[at] as string;
      if (isOperator(token)) this.#end(token);
      else if (token === ')') this.#closeBracket();
      else if (token !== '(') this.#word(token);
      else if (this.#words.length === 1 && tokens[at + 1] === ')') {
        at++;
        this.#words = [];
        this.#isBody = true;
      } else {
        if (this.#words.length > 0) this.#end('');
        this.#open('(');
      }
    }
    this.#end('');
    const [{ items }] = this.#stack as [Group];
    return { items, isWhole: this.#isWhole && at >= tokens.length };
  }

  get #top(): Group {
    return this.#stack.at(-1) as Group;
  }

  #word(text: string): void {
    const isFirst = this.#words.length === 0;
    if (isFirst && this.#readKeyword(text)) return;
    if (this.#words.length < WORDS_MAX) this.#words.push(text);
  }

  /** Reads a word that begins, parts or ends a construct and is no program; false for any other. */
  #readKeyword(text: string): boolean {
    const group = this.#top;
    const closes = Object.hasOwn(CLOSES, text) ? CLOSES[text] : undefined;
    if (text === '!') this.#isNegated = true;
    else if (OPENER.test(text)) this.#open(text);
    else if (text === 'then' || text === 'do') {
      if (group.isHead) group.items = group.items.filter(({ operator }) => operator === '');
      group.isHead = false;
    } else if (text === 'elif') group.isHead = group.opener === 'if';
    else if (closes === undefined) return text === 'time' || text === 'else';
    else if (closes.test(group.opener)) this.#stack.pop();
    return true;
  }

  #closeBracket(): void {
    const group = this.#top;
    if (group.opener === 'case') {
      // The end of a pattern.
      this.#words = [];
      group.isHead = false;
      return;
    }
    this.#end('');
    if (group.opener === '(' || group.opener === 'function') this.#stack.pop();
  }

  #open(opener: string): void {
    if (this.#stack.length > DEPTH_MAX) {
      this.#isWhole = false;
      return;
    }
    const isHead = !this.#isBody && !/^[({]$/.test(opener);
    const group: Group = { opener: this.#isBody ? 'function' : opener, isHead, items: [] };
    this.#isBody = false;
    this.#top.items.push({ words: [], group, isNegated: this.#isNegated, operator: '' });
    this.#isNegated = false;
    this.#stack.push(group);
  }

  /** The end of a simple command or of a group behind which an operator stands. */
  #end(operator: Operator): void {
    const { items, isHead, opener } = this.#top;
    const last = items.at(-1);
    if (this.#words.length > 0) {
      const isListed = !(isHead && /^(?:for|case|select)$/.test(opener));
      if (isListed) items.push({ words: this.#words, group: null, isNegated: this.#isNegated, operator });
      this.#count++;
    } else if (last !== undefined && last.operator === '') last.operator = operator;
    this.#words = [];
    this.#isNegated = false;
  }
}

type Around = { readonly isCertain: boolean; readonly readsPipe: boolean; readonly endedBy: Operator };

/** Goes through the commands in their order, from directory to directory. */
class Walk {
  #directory: string | null = '';
  #pushed: (string | null)[] = [];

  list(items: readonly Item[], around: Around): SimpleCommand[] {
    const chains = chainsOf(items);
    let stopsAtFailure = false;
    return chains.flatMap((chain, index) => {
      const isLast = index === chains.length - 1;
      const isSingle = chain.every(({ operator }) => operator !== '&&' && operator !== '||');
      const isBehind = chain.at(-1)?.operator === '&';
      const isCertain = around.isCertain && !isBehind && (isLast || (stopsAtFailure && isSingle));
      stopsAtFailure ||= chain.some(({ words }) => words[0] === 'set' && /^-[a-z]*e/.test(words[1] ?? ''));
      const inner = {
        isCertain,
        readsPipe: index === 0 && around.readsPipe,
        endedBy: isLast ? around.endedBy : '',
      } as const;
      return isBehind ? this.#apart(() => this.#chain(chain, inner)) : this.#chain(chain, inner);
    });
  }

  #chain(chain: readonly Item[], around: Around): SimpleCommand[] {
    const lastOr = chain.findLastIndex(({ operator }) => operator === '||');
    let before: Operator = around.readsPipe ? '|' : ';';
    let isAlternative = false;
    return chain.flatMap((item, index) => {
      const readsPipe = before === '|';
      // All commands of a pipe stand where its first one stands.
      if (!readsPipe) isAlternative = before === '||';
      before = item.operator === '' ? ';' : item.operator;
      const pipeEnd = chain.findIndex(({ operator }, at) => at >= index && operator !== '|');
      const isCertain =
        around.isCertain && !isAlternative && !item.isNegated && (pipeEnd < 0 || pipeEnd > lastOr);
      const endedBy = item.operator === '' && index === chain.length - 1 ? around.endedBy : item.operator;
      const walk = () => this.#item(item, { isCertain, readsPipe, endedBy });
      return readsPipe || item.operator === '|' ? this.#apart(walk) : this.#perhaps(isAlternative, walk);
    });
  }

  #item({ words, group }: Item, around: Around): SimpleCommand[] {
    if (group === null) return this.#simple(words, around);
    if (group.opener === '{') return this.list(group.items, around);
    if (group.opener === '(') return this.#apart(() => this.list(group.items, around));
    return this.#perhaps(true, () => this.list(group.items, { ...around, isCertain: false }));
  }

  #simple(all: readonly string[], around: Around): SimpleCommand[] {
    const words = all[0] === '-p' ? all.slice(1) : all;
    const [program = ''] = words;
    const isRun = words.length > 0 && !this.#isMove(program, words) && !RUNS_NOTHING.test(program);
    return isRun ? [{ words, directory: this.#directory, ...around }] : [];
  }

  /** Follows what changes the directory. */
  #isMove(program: string, words: readonly string[]): boolean {
    const isPush = /^(?:pushd|Push-Location)$/i.test(program);
    if (/^(?:popd|Pop-Location)$/i.test(program)) this.#directory = this.#pushed.pop() ?? null;
    else if (isPush || /^(?:cd|chdir|Set-Location)$/i.test(program)) {
      if (isPush) this.#pushed.push(this.#directory);
      const [target] = words.slice(1).filter((word) => !/^(?:--|-[A-Za-z@]+|\/d)$/.test(word));
      const isBare = target === undefined && !words.includes('-');
      this.#directory = isBare ? (isPush ? null : '~') : joined(this.#directory, target ?? '-');
    } else return false;
    return true;
  }

  /** What it does to the directory ends with it. */
  #apart(walk: () => SimpleCommand[]): SimpleCommand[] {
    const [directory, pushed] = [this.#directory, [...this.#pushed]];
    const commands = walk();
    this.#directory = directory;
    this.#pushed = pushed;
    return commands;
  }

  /** Where it is uncertain whether something changed the directory, nobody knows it afterwards. */
  #perhaps(isConditional: boolean, walk: () => SimpleCommand[]): SimpleCommand[] {
    const before = this.#directory;
    const commands = walk();
    if (isConditional && this.#directory !== before) this.#directory = null;
    return commands;
  }
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
  const takeWord = (): string => {
    const start = at;
    at = wordEnd(text, start);
    return text.slice(start, at);
  };
  while (take(SKIPPED) !== undefined || at < text.length) {
    const redirection = take(REDIRECTION);
    if (redirection !== undefined) {
      if (/&\S$/.test(redirection)) continue;
      while (text[at] === ' ') at++;
      const word = takeWord();
      if (redirection.startsWith('<<')) heredocs.push(unquoted(word));
      continue;
    }
    const punctuation = take(PUNCTUATION);
    if (punctuation === '\n') for (const end of heredocs.splice(0)) at = behindHeredoc(text, at, end);
    if (punctuation !== undefined)
      tokens.push(punctuation === '\n' ? ';' : punctuation === '|&' ? '|' : punctuation);
    else if (at < text.length) tokens.push(takeWord());
  }
  return tokens;
}

function behindHeredoc(text: string, from: number, end: string): number {
  for (let at = from; at < text.length; ) {
    const line = text.slice(at, lineEnd(text, at));
    at += line.length + 1;
    if (line.trim() === end) return at;
  }
  return text.length;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function wordEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const character = text[at] as string;
    const isSubstitution = character === '(' && /[$<>=]/.test(text[at - 1] ?? ' ');
    const isProcess = /[<>]/.test(character) && text[at + 1] === '(';
    if (/[\s;|&()<>]/.test(character) && !isSubstitution && !isProcess) break;
    if (character === '`') at = behindMark(text, '`', at + 1);
    else at = character === '(' ? behindParenthesis(text, at + 1) : behindQuoted(text, at);
  }
  return Math.max(Math.min(at, text.length), from + 1);
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
