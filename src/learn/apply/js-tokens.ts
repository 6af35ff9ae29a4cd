/**
 * A JavaScript text as a list of tokens, as far as that is needed to tell code from text. What cannot be told for
 * certain is said to be unclear instead of being guessed: somebody may have written it so on purpose.
 */
export type Token = {
  readonly kind: 'word' | 'number' | 'expression' | 'mark';
  readonly text: string;
  readonly line: number;
};

/** A string, or one piece of a template. */
export type TextToken = {
  readonly kind: 'text';
  /** What it means, escapes resolved. */
  readonly text: string;
  /** As it is written. */
  readonly source: string;
  readonly line: number;
};

export type TokensResult =
  | { readonly kind: 'read'; readonly tokens: readonly (Token | TextToken)[] }
  | { readonly kind: 'unclear'; readonly line: number; readonly reason: string };

const BLANK = /[^\S\n]+/y;
const COMMENT = /(?<![\s\S])#![^\n\r\u2028\u2029]*|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\//y;
const WORD =
  /(?:[\p{ID_Start}$_#]|\\u[\da-f]{4}|\\u\{[\da-f]+\})(?:[\p{ID_Continue}$\u200c\u200d]|\\u[\da-f]{4}|\\u\{[\da-f]+\})*/iuy;
const NUMBER = /(?:0[xob][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d[\d_]*)?)n?/iy;
const STRING = /'(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*'|"(?:[^"\\\n\r]|\\(?:\r\n|[\s\S]))*"/y;
const TEMPLATE_PIECE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;
const EXPRESSION = /\/(?:[^\\/[\n\r]|\\[^\n\r]|\[(?:[^\]\\\n\r]|\\[^\n\r])*\])+\/[\p{ID_Continue}$]*/uy;
const MARK = /\?\.(?!\d)|\.\.\.|=>|\+\+|--|[{}()[\];,<>+\-*/%&|^!~?:=.@]/y;

/** Words after which an expression begins. */
const BEFORE_EXPRESSION = new Set(
  'return typeof case in instanceof delete void throw new do else await yield default extends'.split(' '),
);
const BEFORE_CONDITION = new Set(['if', 'while', 'for', 'with']);

/** Takes a JavaScript module apart. Never throws. */
export function readTokens(code: string): TokensResult {
  const reader = new Reader(code);
  while (!reader.isAtEnd) {
    const reason = reader.next();
    if (reason !== undefined) return { kind: 'unclear', line: reader.line, reason };
  }
  if (reader.isInTemplate)
    return { kind: 'unclear', line: reader.line, reason: 'a template that never ends' };
  return { kind: 'read', tokens: reader.tokens };
}

class Reader {
  readonly tokens: (Token | TextToken)[] = [];
  line = 1;
  readonly #code: string;
  #at = 0;
  /** For each open parenthesis, whether it holds the condition of a statement. */
  readonly #conditions: boolean[] = [];
  #closedCondition = false;
  /** For each template that is open, how many braces are open in its substitution. */
  readonly #templates: number[] = [];

  constructor(code: string) {
    this.#code = code;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#code.length;
  }

  get isInTemplate(): boolean {
    return this.#templates.length > 0;
  }

  /** Reads one token, or what stands between two. Gives why it cannot. */
  next(): string | undefined {
    const rest = this.#code.slice(this.#at, this.#at + 4);
    if (rest.startsWith('\n')) this.#skip('\n');
    else if (rest.startsWith('<!--') || rest.startsWith('-->')) return 'a comment as in HTML';
    else if (
      this.#match(BLANK, (text) => this.#skip(text)) ||
      this.#match(COMMENT, (text) => this.#skip(text))
    )
      return undefined;
    else if (rest.startsWith('`')) return this.#openTemplate();
    else if (/^["']/.test(rest)) {
      const isRead = this.#match(STRING, (text) => this.#pushText(text, text.slice(1, -1)));
      return isRead ? undefined : 'a string that never ends';
    } else if (rest.startsWith('/')) return this.#readSlash();
    else if (/^(?:\d|\.\d)/.test(rest)) this.#match(NUMBER, (text) => this.#push('number', text));
    else if (this.#match(WORD, (text) => this.#push('word', text))) return undefined;
    else if (this.#match(MARK, (text) => this.#push('mark', text))) return this.#afterMark();
    else return `the character ${JSON.stringify(rest[0])}`;
    return undefined;
  }

  #match(expression: RegExp, take: (text: string) => void): boolean {
    expression.lastIndex = this.#at;
    const text = expression.exec(this.#code)?.[0] ?? '';
    if (text !== '') take(text);
    return text !== '';
  }

  #skip(text: string): void {
    this.#at += text.length;
    this.line += text.split('\n').length - 1;
  }

  #push(kind: Token['kind'], text: string): void {
    this.tokens.push({ kind, text, line: this.line });
    this.#skip(text);
  }

  #pushText(written: string, source: string): void {
    this.tokens.push({ kind: 'text', text: resolveEscapes(source), source, line: this.line });
    this.#skip(written);
  }

  #openTemplate(): string | undefined {
    this.#skip('`');
    this.#templates.push(0);
    return this.#readPiece();
  }

  /** The text up to the end of the template or to its next substitution. */
  #readPiece(): string | undefined {
    TEMPLATE_PIECE.lastIndex = this.#at;
    const piece = TEMPLATE_PIECE.exec(this.#code)?.[0] ?? '';
    this.#pushText(piece, piece);
    if (this.#code[this.#at] === '`') {
      this.#skip('`');
      this.#templates.pop();
      return undefined;
    }
    if (!this.#code.startsWith('${', this.#at)) return 'a template that never ends';
    this.#push('mark', '${');
    return undefined;
  }

  #afterMark(): string | undefined {
    const mark = this.tokens.at(-1)?.text;
    if (mark === '(') this.#conditions.push(this.#isCondition());
    if (mark === ')') this.#closedCondition = this.#conditions.pop() ?? false;
    const open = this.#templates.at(-1);
    if (open === undefined || (mark !== '{' && mark !== '}')) return undefined;
    if (mark === '}' && open === 0) return this.#readPiece();
    this.#templates[this.#templates.length - 1] = open + (mark === '{' ? 1 : -1);
    return undefined;
  }

  /** Whether the parenthesis just opened belongs to `if (`, `for await (` and the like. */
  #isCondition(): boolean {
    const [before, word, last] = [this.tokens.at(-4), this.tokens.at(-3), this.tokens.at(-2)];
    const isKeyword = (token: typeof last, previous: typeof last) =>
      token?.kind === 'word' && BEFORE_CONDITION.has(token.text) && !isDot(previous);
    return isKeyword(last, word) || (last?.text === 'await' && isKeyword(word, before));
  }

  /** A division, or a regular expression: that depends on what stands before. */
  #readSlash(): string | undefined {
    const begins = this.#beginsExpression();
    const lineRest = /^\/[^\n\r]*/.exec(this.#code.slice(this.#at))?.[0] ?? '/';
    if (begins === 'unclear' && lineRest.lastIndexOf('/') > 0)
      return 'a "/" that may divide or begin a regular expression';
    if (begins !== 'yes') this.#push('mark', '/');
    else if (!this.#match(EXPRESSION, (text) => this.#push('expression', text)))
      return 'a regular expression that never ends';
    return undefined;
  }

  #beginsExpression(): 'yes' | 'no' | 'unclear' {
    const last = this.tokens.at(-1);
    if (last === undefined) return 'yes';
    if (last.kind === 'word') {
      if (isDot(this.tokens.at(-2))) return 'no';
      if (last.text === 'of') return 'unclear';
      return BEFORE_EXPRESSION.has(last.text) ? 'yes' : 'no';
    }
    if (last.kind !== 'mark') return 'no';
    if (last.text === ')') return this.#closedCondition ? 'yes' : 'no';
    if (['}', '++', '--'].includes(last.text)) return 'unclear';
    return last.text === ']' ? 'no' : 'yes';
  }
}

/** Whether what follows is the name of a property. */
export function isDot(token: Token | TextToken | undefined): boolean {
  return token?.kind === 'mark' && (token.text === '.' || token.text === '?.');
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  '0': '\0',
};

function resolveEscapes(source: string): string {
  return source.replace(
    /\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]{1,6})\}|(\r\n|[\s\S]))/gi,
    (_, byte?: string, unit?: string, point?: string, character = '') => {
      const code = byte ?? unit ?? point;
      if (code !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff));
      if (/[\r\n\u2028\u2029]/.test(character)) return ''; // The line goes on.
      return SIMPLE_ESCAPES[character] ?? character;
    },
  );
}
