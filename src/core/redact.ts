/**
 * Keeps secrets off the disk. Every expression here is linear in its input (bounded repeats, no nested ones), because
 * the input is whatever a program printed. A hook pays for each expression that it uses for the first time, so they
 * stand inside functions, and a cheap look decides which of those are called.
 */

const REDACTED = '[REDACTED]';

/** Replaces what looks like a secret by `[REDACTED]` and leaves what surrounds it. Idempotent, never throws. */
export function redactSecrets(text: string): string {
  if (text.length < 6) return text;
  let safe = text;
  if (safe.includes('PRIVATE KEY')) safe = redactKeyBlocks(safe);
  if (/pass|pwd|secret|token|key|cred|auth|cookie|bearer|basic|connection/i.test(safe))
    safe = redactNamed(safe);
  if (safe.includes('://')) safe = redactUrls(safe);
  if (/\s-u|--user|--proxy-user|mysql|sshpass|redis-cli|login/.test(safe)) safe = redactOptions(safe);
  return /[A-Za-z0-9+/_.:-]{16}/.test(safe) ? redactRandom(redactTokenShapes(safe)) : safe;
}

/** A block that is never closed was cut off: then all that follows belongs to it. */
function redactKeyBlocks(text: string): string {
  const begin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
  const end = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
  let kept = '';
  let at = 0;
  for (let open = begin.exec(text); open !== null; open = begin.exec(text)) {
    kept += text.slice(at, open.index) + REDACTED;
    end.lastIndex = begin.lastIndex;
    at = end.exec(text) === null ? text.length : end.lastIndex;
    begin.lastIndex = at;
  }
  return kept + text.slice(at);
}

/** Headers and settings whose name says that the value is a secret. */
function redactNamed(text: string): string {
  const authorization =
    /\b((?:proxy-)?authorization\\?["']?[ \t]{0,3}[:=][ \t]{0,3}\\?["']?(?:(?:bearer|basic|token|digest|apikey|[a-z-]{2,24}(?=[ \t]{1,3}(?:\[REDACTED|[^\s"',;]{0,400}\d)))[ \t]{1,3})?)([^\s"',;\\]{4,4000})/gi;
  const cookie =
    /\b((?:set-)?cookie\\?["']?[ \t]{0,3}:[ \t]{0,3}\\?["']?)(?=[^\r\n"';]{0,400}=)[^\r\n"']{3,}[^\r\n"'\\]/gi;
  const bearer = /\b(bearer[ \t]{1,3})(?=[\w.~+/-]{0,400}\d)([\w.~+/=-]{16,4000})/gi;
  const basic = /\b(basic[ \t]{1,3})([A-Za-z0-9+/]{16,4000}={0,2})(?![\w.+/-])/gi;
  return redactAssignments(
    text
      .replace(authorization, replaceValue)
      .replace(cookie, `$1${REDACTED}`)
      .replace(bearer, replaceValue)
      .replace(basic, (all, before: string, value: string) => (isWordy(value) ? all : before + REDACTED)),
  );
}

function replaceValue(all: string, before: string, value: string): string {
  return isReference(value) ? all : before + REDACTED;
}

/** `NAME=value`, `"name": "value"`, `--name value`, `'--name', 'value'`. */
function redactAssignments(text: string): string {
  const name =
    '[\\w.-]{0,64}?(?:passw(?:or)?d|passphrase|pwd|(?:db|smtp|mail|ftp|mysql|pg|postgres|redis|admin|user|root|http|proxy|store|key)[_-]?pass|secret|token|api[_-]?key|(?:access|secret|private|account|encryption|signing|auth)[_-]?key|_auth(?![_a-z])|credentials?|connection[_-]?string)';
  const quoted =
    '\\\\"[^"\\n]{1,2000}"?|"(?:[^"\\\\\\n]|\\\\.){1,2000}"?|\\\\\'[^\'\\n]{1,2000}\'?|\'(?:[^\'\\\\\\n]|\\\\.){1,2000}\'?';
  const option = new RegExp(
    `((?<![\\w-])--?(${name})(=|[ \\t]{1,3}|["'],\\s{0,40}(?=["'])))(${quoted}|[^\\s"',;-][^\\s"',;]{0,2000})`,
    'gi',
  );
  const assignment = new RegExp(
    `((?<![A-Za-z0-9])(${name}[\\w-]{0,24})(?:\\\\?["']|\\)(?==))?[ \\t]{0,40}(=>|:=|=|:)[ \\t]{0,40})(${quoted}|[^\\s"',;&<>)}\\]\\\\][^\\s"',;&<>)}\\]]{0,2000}|<[\\w -]{0,60}>)`,
    'gi',
  );
  const replace = (all: string, before: string, key: string, separator: string, value: string) =>
    redactValue({ all, before, name: key, separator: separator.trim(), value });
  return text.replace(option, replace).replace(assignment, replace);
}

/** `separator`: `''` and `'",'` stand between an option and its value. */
type Assignment = { all: string; before: string; name: string; separator: string; value: string };

function redactValue({ all, before, name, separator, value }: Assignment): string {
  const quote = /^\\?["']/.exec(value)?.[0] ?? '';
  const bare = value.slice(quote.length).replace(quote === '' ? /$^/ : /\\?["']$/, '');
  if (isHarmlessName(name, bare) || isReference(bare) || /^[^A-Za-z0-9]{0,3}$/.test(bare)) return all;
  if (separator === '=' && /^[=>~]/.test(bare)) return all; // a comparison
  if (separator === '' && /^(?:id|type|src|env)=/.test(bare)) return all; // `docker build --secret id=x`
  if (quote === '' && separator !== '=' && isSmallWord(bare)) return all;
  if (quote === '' && isCode(bare, /\s$/.test(before))) return all;
  // `=` and upper-case names are settings; `name: word` is mostly prose, so there the value must look made.
  const isSetting = !/^(?::=?|=>)$/.test(separator) || /^[A-Z0-9_]+$/.test(name) || quote !== '';
  if (!isSetting && /^[A-Za-z]{1,24}(?:[.!?]|\[|\|[A-Za-z|]{0,40})?$|^.?[\\/]/.test(bare)) return all;
  const closing = quote === '' ? '' : (/\\?["']$/.exec(value.slice(quote.length))?.[0] ?? '');
  return `${before}${quote}${REDACTED}${closing}`;
}

/** Names that only look alike: `max_tokens`, `tokenizer`, `token_type`, the `PWD` that is a directory. */
function isHarmlessName(name: string, value: string): boolean {
  if (/^(?:old)?pwd$/i.test(name) && /^[A-Za-z]?:?[\\/]/.test(value)) return true;
  return /tokens$|(?:count|limit|length|size|type|name|ttl|expir\w*|expires_in|file|path|url|uri|header|field|format|iz\w+|policy|usage)$/i.test(
    name,
  );
}

/** Values that point at a secret, or say what there is instead of one. */
function isReference(value: string): boolean {
  return /^(?:\$(?:[A-Za-z_({]|\[REDACTED|\d(?![\w$]))|%[A-Za-z_]+%|%[sdvr@]|\{\{|\{[A-Za-z_.]{0,40}(?:\}|$)|<[A-Za-z _-]{0,60}(?:>|$)|\*{2,}|\.{3}|\.{1,2}[\\/]|\[(?:REDACTED|PRIVATE|SENSITIVE)|process\.env|os\.environ|env\.|https?:(?:\/\/|\[REDACTED)|[\^~>=v]{0,2}\d{1,4}\.\d{1,4}\.\d{1,6}(?!\w)|(?:null|undefined|none|nil|true|false|include|same-origin|omit)(?![\w-]))/i.test(
    value,
  );
}

/** What follows a name in a sentence: `--password is required`, `API_KEY: not set`. */
function isSmallWord(value: string): boolean {
  return /^(?:an?|and|are|argument|as|by|can|cannot|did|does|empty|expired|flag|for|from|given|has|in|instead|invalid|is|may|missing|must|needs?|not|of|on|option|or|parameter|required|requires|set|should|the|to|unset|value|was|were|when|will|with)[.:!?]?$/i.test(
    value,
  );
}

/** Source text: `getToken(`, `ENV[`, `req.headers.authorization`, `await`. */
function isCode(value: string, afterBlank: boolean): boolean {
  if (/^[A-Za-z_$][A-Za-z_$.]{0,64}[([]/.test(value)) return true;
  return (
    afterBlank && /^(?:await|new|async|function|[A-Za-z_$]{2,40}(?:\??\.[A-Za-z_$]{2,40})+)$/.test(value)
  );
}

/** Passwords and tokens in addresses: before the `@`, among the parameters, in webhooks. */
function redactUrls(text: string): string {
  return text
    .replace(
      /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"']{0,256}:)([^\s/?#"']{1,512}|[^\s/@"']{1,512})(?=@)/gi,
      replaceValue,
    )
    .replace(/\b(https?:\/\/)[A-Za-z0-9_-]{20,512}(?=@)/gi, `$1${REDACTED}`)
    .replace(
      /([?&](?:sig|signature|key|token|jwt|code|auth|access_token|password|pwd|secret|x-amz-(?:signature|credential|security-token))=)([^\s&"'<>]{6,2000})/gi,
      replaceValue,
    )
    .replace(/(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{8,200}/g, `$1${REDACTED}`);
}

/** `curl -u user:password`, `mysql -ppassword`, `sshpass -p password`. */
function redactOptions(text: string): string {
  const user = /(\s(?:-u|--user|--proxy-user)(?:\s{1,3}|=)["']?([^\s:"']{1,128}):)([^\s"'/][^\s"']{0,512})/g;
  const attached =
    /(\bcurl\b[^\n]{0,200}?\s-u["']?[^\s:"'-][^\s:"']{0,127}:|\bmysql(?:dump|admin)?\b[^\n]{0,200}?\s-p["']?(?=[^\s"']{2}))([^\s"']{1,128})/g;
  const separate =
    /(\b(?:sshpass\s{1,3}-p\s{0,3}|redis-cli\b[^\n]{0,200}?\s-a\s{1,3}|(?:docker|podman)\s{1,3}login\b[^\n]{0,200}?\s-p\s{1,3})["']?)([^\s"']{1,128})/g;
  return text
    .replace(user, (all, before: string, owner: string, value: string) => {
      const isGroup = value === owner || (/^\d+$/.test(owner) && /^\d+$/.test(value));
      return isGroup ? all : replaceValue(all, before, value);
    })
    .replace(attached, replaceValue)
    .replace(separate, replaceValue);
}

/** Tokens that are recognised by their own shape. */
function redactTokenShapes(text: string): string {
  const shapes = [
    'sk-(?:ant-|proj-|or-|svcacct-|live-|test-)?(?=[A-Za-z_-]{0,100}\\d)[A-Za-z0-9_-]{16,400}', // Anthropic, OpenAI, OpenRouter
    'gh[pousr]_[A-Za-z0-9]{16,255}|github_pat_[A-Za-z0-9_]{20,255}',
    'gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{16,64}',
    '(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}', // Slack
    'A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{12,124}', // AWS
    'AIza[A-Za-z0-9_-]{30,60}|ya29\\.[A-Za-z0-9_-]{16,400}|GOCSPX-[A-Za-z0-9_-]{16,64}', // Google
    '(?:npm|hf)_[A-Za-z0-9]{20,64}|(?:pypi-Ag|dckr_pat_)[A-Za-z0-9_-]{16,400}',
    'do[op]_v1_[a-f0-9]{32,80}|lin_api_[A-Za-z0-9]{16,64}',
    'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}', // SendGrid
    '(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,255}|whsec_[A-Za-z0-9+/=]{16,128}', // Stripe
    'shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,64}',
    'AGE-SECRET-KEY-1[A-Z0-9]{30,80}',
    'eyJ[A-Za-z0-9_-]{8,2000}\\.[A-Za-z0-9_-]{8,4000}(?:\\.[A-Za-z0-9_-]{0,2000})?', // JWT
    '\\d{8,10}:AA[A-Za-z0-9_-]{30,40}', // Telegram
  ];
  return text.replace(new RegExp(`(?<![A-Za-z0-9])(?:${shapes.join('|')})`, 'g'), REDACTED);
}

const ENTROPY_BITS_MIN = 4;
const WORD_LENGTH_MIN = 3;

/** Long runs of characters without the structure of words, paths or digests. */
function redactRandom(text: string): string {
  if (!/[A-Za-z0-9+/_-]{32}/.test(text)) return text;
  const run = /(?<![A-Za-z0-9+/_.-]|h1:)[A-Za-z0-9+/_-]{32,4096}={0,2}(?![A-Za-z0-9+/_-])/g; // h1: is a checksum of Go
  return text.replace(run, (found) => (isRandom(found) ? REDACTED : found));
}

function isRandom(run: string): boolean {
  if (/^sha(?:1|256|384|512)[-+_/]/i.test(run)) return false; // an integrity value
  // Digests and UUIDs have letters of one case.
  if (![/[a-z]/, /[A-Z]/, /\d/].every((shape) => shape.test(run))) return false;
  return !isWordy(run) && entropyBits(run) >= ENTROPY_BITS_MIN;
}

/** Whether the letters change their case as seldom as in words, paths and identifiers. */
function isWordy(run: string): boolean {
  const words = run.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g) ?? [];
  return words.join('').length >= words.length * WORD_LENGTH_MIN;
}

function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/**
 * Replaces every `<private>…</private>` by `[PRIVATE]`, nested ones with their outermost, and trims (REQ-DC-011). A
 * tag that is never closed stays as it is.
 */
export function stripPrivateTags(text: string): string {
  if (!text || !/<private/i.test(text)) return text ? text.trim() : text;
  const open: number[] = [];
  const blocks: { start: number; end: number }[] = [];
  for (const tag of text.matchAll(/<(\/?)private\b[^<>]*>/gi)) {
    if (tag[1] === '') open.push(tag.index);
    else {
      const start = open.pop();
      if (start === undefined) continue;
      while ((blocks.at(-1)?.start ?? -1) > start) blocks.pop();
      blocks.push({ start, end: tag.index + tag[0].length });
    }
  }
  let at = 0;
  let kept = '';
  for (const { start, end } of blocks) {
    kept += `${text.slice(at, start)}[PRIVATE]`;
    at = end;
  }
  return (kept + text.slice(at)).trim();
}

/** `[SENSITIVE_PATH]` for a file that holds secrets, else the path as it is (REQ-DC-202). */
export function maskSensitivePath(path: string): string {
  const normal = path.replaceAll('\\', '/');
  const name = normal.slice(normal.lastIndexOf('/') + 1);
  const isSensitive =
    /^(?:\.env|\.env\.(?!(?:example|sample|template|dist)$).+|\.envrc|credentials(?:\.json)?|.+\.(?:key|pem|p12|pfx|keystore|jks|kdbx|ppk)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.npmrc|\.pypirc|[._]netrc|\.pgpass|\.git-credentials|\.htpasswd|secrets?\.(?:ya?ml|json|toml|ini|properties)|service[-_]account.*\.json|.+\.tfvars)$/i.test(
      name,
    );
  return isSensitive || /(?:^|\/)\.(?:ssh|gnupg|aws)\//i.test(normal) ? '[SENSITIVE_PATH]' : path;
}
