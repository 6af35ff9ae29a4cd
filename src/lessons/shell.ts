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
  const { group, isWhole } = new Parser(text).parse();
  return new Walk().list(group.items, { isCertain: isWhole, readsPipe: false, endedBy: '' });
}

const CLOSERS: Readonly<Record<string, string>> = { fi: 'if', esac: 'case', '}': '{' };

/** Puts tokens together; what is never closed ends with the text. */
class Parser {
  readonly #reader: Reader;
  readonly #stack: Group[] = [{ opener: '', isHead: false, items: [] }];
  #isWhole: boolean;
  #words: string[] = [];
  #isNegated = false;
  /** What follows is a function's body. */
  #isBody = false;
  #count = 0;

  constructor(text: string) {
    this.#isWhole = text.length <= COMMAND_LENGTH_MAX;
    this.#reader = new Reader(text.slice(0, COMMAND_LENGTH_MAX).replace(/\\\r?\n/g, ' '));
  }

  parse(): { readonly group: Group; readonly isWhole: boolean } {
    while (this.#count < COMMANDS_MAX) {
      const token = this.#reader.next();
      if (token === undefined) break;
      if (token.kind === 'word') this.#word(token.text);
      else if (token.kind === 'operator') this.#end(token.text);
      else if (token.step === 1) this.#bracket();
      else this.#closeBracket();
    }
    if (this.#count >= COMMANDS_MAX && this.#reader.next() !== undefined) this.#isWhole = false;
    this.#end('');
    while (this.#stack.length > 1) this.#close();
    return { group: this.#top, isWhole: this.#isWhole };
  }

  get #top(): Group {
    return this.#stack.at(-1) as Group;
  }

  #word(text: string): void {
    if (this.#words.length === 0 && this.#isKeyword(text)) return;
    if (this.#words.length < WORDS_MAX) this.#words.push(text);
  }

  /** Words at the beginning of a command that begin, part or end a construct and are no program. */
  #isKeyword(text: string): boolean {
    const { opener } = this.#top;
    if (text === '!') this.#isNegated = true;
    else if (/^(?:\{|if|for|while|until|case|select)$/.test(text)) this.#open(text);
    else if (text === 'then' || text === 'do') this.#behindHead();
    else if (text === 'elif') this.#top.isHead = opener === 'if';
    else if (text === 'done') this.#closeIf(/^(?:for|while|until|select)$/.test(opener));
    else if (Object.hasOwn(CLOSERS, text))
      this.#closeIf(opener === CLOSERS[text] || (text === '}' && opener === 'function'));
    else return text === 'time' || text === 'else';
    return true;
  }

  #behindHead(): void {
    const group = this.#top;
    if (group.isHead) group.items = group.items.filter(({ operator }) => operator === '');
    group.isHead = false;
  }

  #bracket(): void {
    if (this.#words.length === 1 && this.#reader.isClosing()) {
      this.#reader.next();
      this.#words = [];
      this.#isBody = true;
      return;
    }
    if (this.#words.length > 0) this.#end('');
    this.#open('(');
  }

  #closeBracket(): void {
    if (this.#top.opener === 'case') this.#behindPattern();
    else if (/^(?:\(|function)$/.test(this.#top.opener)) {
      this.#end('');
      this.#close();
    } else this.#end('');
  }

  #behindPattern(): void {
    this.#words = [];
    this.#top.isHead = false;
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

  #closeIf(isOpen: boolean): void {
    if (isOpen) this.#close();
  }

  #close(): void {
    this.#stack.pop();
  }

  /** The end of a simple command or of a group behind which an operator stands. */
  #end(operator: Operator): void {
    const group = this.#top;
    const last = group.items.at(-1);
    if (this.#words.length > 0) {
      const isListed = !(group.isHead && /^(?:for|case|select)$/.test(group.opener));
      if (isListed)
        group.items.push({ words: this.#words, group: null, isNegated: this.#isNegated, operator });
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
      const inner = { isCertain, readsPipe, endedBy };
      const isApart = readsPipe || item.operator === '|';
      const commands = isApart
        ? this.#apart(() => this.#item(item, inner))
        : this.#perhaps(isAlternative, () => this.#item(item, inner));
      return commands;
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
    if (!this.#isMove(program, words) && words.length > 0 && !RUNS_NOTHING.test(program))
      return [{ words, directory: this.#directory, ...around }];
    return [];
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
  const segments = (isAbsolute || !base ? target : `${base}/${target}`).split('/');
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === '.' || (segment === '' && kept.length > 0)) continue;
    if (segment !== '..' || kept.length === 0 || kept.at(-1) === '..') kept.push(segment);
    else if (kept.at(-1) !== '') kept.pop();
  }
  return kept.join('/') || (isAbsolute ? '/' : '.');
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

type Token =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'operator'; readonly text: Operator }
  | { readonly kind: 'group'; readonly step: 1 | -1 };

/** Reads tokens one by one. */
class Reader {
  readonly #text: string;
  #at = 0;
  readonly #heredocs: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** Whether a bracket closes here. */
  isClosing(): boolean {
    return this.#text[this.#at] === ')';
  }

  /** Undefined at the end. */
  next(): Token | undefined {
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) return undefined;
      if (character === ' ' || character === '\t' || character === '\r') this.#at++;
      else if (character === '#') this.#at = this.#lineEnd();
      else if (this.#skipRedirection()) continue;
      else return this.#token(character);
    }
  }

  #token(character: string): Token {
    if (character === '\n') {
      this.#at++;
      this.#skipHeredocs();
      return { kind: 'operator', text: ';' };
    }
    if (character === '(' || character === ')') {
      this.#at++;
      return { kind: 'group', step: character === '(' ? 1 : -1 };
    }
    const operator = /^(?:&&|\|\||\|&|[;|&])/.exec(this.#text.slice(this.#at, this.#at + 2))?.[0];
    if (operator === undefined) return { kind: 'word', text: this.#word() };
    this.#at += operator.length;
    return { kind: 'operator', text: (operator === '|&' ? '|' : operator) as Operator };
  }

  /** `2>&1`, `> file`, `< file`, `<<EOF`. */
  #skipRedirection(): boolean {
    const found = /^(?:\d*(?:>&|<&)[\d-]|&?>>?\|?|\d+>>?|<<-?|<)(?!\()/.exec(
      this.#text.slice(this.#at, this.#at + 8),
    )?.[0];
    if (found === undefined) return false;
    this.#at += found.length;
    if (/[&]\S$/.test(found)) return true;
    while (this.#text[this.#at] === ' ') this.#at++;
    const word = this.#word();
    if (found.startsWith('<<')) this.#heredocs.push(unquoted(word));
    return true;
  }

  #skipHeredocs(): void {
    for (const end of this.#heredocs.splice(0)) {
      while (this.#at < this.#text.length) {
        const line = this.#text.slice(this.#at, this.#lineEnd());
        this.#at = Math.min(this.#text.length, this.#lineEnd() + 1);
        if (line.trim() === end) break;
      }
    }
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end < 0 ? this.#text.length : end;
  }

  #word(): string {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (
        /[\s;|&()<>]/.test(character) &&
        !(character === '(' && /[$<>=]/.test(this.#text[this.#at - 1] ?? ' ')) &&
        !(/[<>]/.test(character) && this.#text[this.#at + 1] === '(')
      )
        break;
      if (character === '\\') this.#at += 2;
      else if (character === "'") this.#at = this.#behind("'", this.#at + 1);
      else if (character === '"') this.#at = this.#behindDouble(this.#at + 1);
      else if (character === '`') this.#at = this.#behind('`', this.#at + 1);
      else if (character === '(') this.#at = this.#behindParenthesis(this.#at + 1);
      else this.#at++;
    }
    this.#at = Math.max(Math.min(this.#at, this.#text.length), start + 1);
    return this.#text.slice(start, this.#at);
  }

  #behind(mark: string, from: number): number {
    const end = this.#text.indexOf(mark, from);
    return end < 0 ? this.#text.length : end + 1;
  }

  #behindDouble(from: number): number {
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === '\\') at++;
      else if (character === '"') return at + 1;
      else if (character === '(' && this.#text[at - 1] === '$') at = this.#behindParenthesis(at + 1) - 1;
    }
    return this.#text.length;
  }

  #behindParenthesis(from: number): number {
    let depth = 1;
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === '\\') at++;
      else if (character === '<' && this.#text[at + 1] === '<') at = this.#behindHeredoc(at) - 1;
      else if (character === "'") at = this.#behind("'", at + 1) - 1;
      else if (character === '"') at = this.#behindDouble(at + 1) - 1;
      else if (character === '(') depth++;
      else if (character === ')' && --depth === 0) return at + 1;
    }
    return this.#text.length;
  }

  /** Behind a here-document inside a substitution, whose text may hold anything. */
  #behindHeredoc(from: number): number {
    const [mark, , end] = /^<<-?[ \t]*(['"]?)(\w+)\1/.exec(this.#text.slice(from, from + 64)) ?? [];
    if (mark === undefined || end === undefined) return from + 2;
    const body = from + mark.length;
    const found = new RegExp(`^[ \\t]*${end}[ \\t]*$`, 'm').exec(this.#text.slice(body));
    return found === null ? this.#text.length : body + found.index + found[0].length;
  }
}
