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
  if (/\s-u|--user|--proxy-user|mysql/.test(safe)) safe = redactOptions(safe);
  return /[A-Za-z0-9+/_.:-]{16}/.test(safe) ? redactRandom(redactTokenShapes(safe)) : safe;
}

function redactKeyBlocks(text: string): string {
  const block =
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,16384}?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g;
  return text.replace(block, REDACTED);
}

/** Headers and settings whose name says that the value is a secret. */
function redactNamed(text: string): string {
  const authorization =
    /\b((?:proxy-)?authorization["']?\s{0,3}[:=]\s{0,3}["']?)(?:(bearer|basic|token|digest|apikey)\s{1,3})?[^\s"',;]{4,4000}/gi;
  const cookie = /\b((?:set-)?cookie["']?\s{0,3}:\s{0,3})[^\r\n"']{4,4000}/gi;
  const bearer = /\b(bearer|basic)(\s{1,3})(?=[\w.~+/-]{0,400}[\d_.+/=])[\w.~+/=-]{16,4000}/gi;
  return redactAssignments(
    text
      .replace(
        authorization,
        (_all, name: string, scheme?: string) => `${name}${scheme ? `${scheme} ` : ''}${REDACTED}`,
      )
      .replace(cookie, `$1${REDACTED}`)
      .replace(bearer, `$1$2${REDACTED}`),
  );
}

/** `NAME=value`, `"name": "value"`, `--name value`. */
function redactAssignments(text: string): string {
  const name =
    '[\\w.-]{0,64}?(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|(?:access|secret|private|account|encryption|signing|auth)[_-]?key|credentials?|connection[_-]?string)';
  const quoted = '"[^"\\n]{1,2000}"?|\'[^\'\\n]{1,2000}\'?';
  const option = new RegExp(
    `((?:^|\\s)--?(${name})(?:=|\\s{1,3}))(${quoted}|[^\\s"',;-][^\\s"',;]{0,2000})`,
    'gi',
  );
  const assignment = new RegExp(
    `((?<![A-Za-z0-9])(${name}[\\w-]{0,24})(?:["']?\\s{0,3}(=>|:=|=|:)\\s{0,3}))(${quoted}|[^\\s"',;&<>)}\\]]{1,2000})`,
    'gi',
  );
  return text
    .replace(option, (all, before: string, key: string, value: string) =>
      redactValue({ all, before, name: key, separator: '=', value }),
    )
    .replace(assignment, (all, before: string, key: string, separator: string, value: string) =>
      redactValue({ all, before, name: key, separator, value }),
    );
}

type Assignment = { all: string; before: string; name: string; separator: string; value: string };

function redactValue({ all, before, name, separator, value }: Assignment): string {
  const bare = value.replace(/^["']|["']$/g, '');
  if (bare === '' || isHarmlessName(name, bare) || isReference(value)) return all;
  if (separator === '=' && /^[=>~]/.test(bare)) return all; // a comparison
  // `=` and upper-case names are settings; `name: word` is mostly prose, so there the value must look made.
  const isSetting = separator === '=' || /^[A-Z0-9_]+$/.test(name) || /^["']/.test(value);
  if (!isSetting && /^[A-Za-z]{1,24}[.!?]?$|^[\w.]{1,64}\(|^.?[\\/]/.test(bare)) return all;
  const quote = /^["']/.exec(value)?.[0] ?? '';
  return `${before}${quote}${REDACTED}${quote && value.endsWith(quote) ? quote : ''}`;
}

/** Names that only look alike: `max_tokens`, `tokenizer`, `token_type`, the `PWD` that is a directory. */
function isHarmlessName(name: string, value: string): boolean {
  if (/^pwd$/i.test(name) && /^[A-Za-z]?:?[\\/]/.test(value)) return true;
  return /tokens$|(?:count|limit|length|size|type|name|ttl|expir\w*|expires_in|file|path|url|uri|header|field|format|iz\w+|policy|usage)$/i.test(
    name,
  );
}

/** Values that point at a secret without being one. */
function isReference(value: string): boolean {
  return /^["']?(?:\$|%|\{\{|<|\*{2,}|\.{3}|\[REDACTED|\[PRIVATE|process\.env|os\.environ|env\.|null\b|undefined\b|none\b|nil\b|true\b|false\b)/i.test(
    value,
  );
}

/** Passwords and tokens in addresses: before the `@`, among the parameters, in webhooks. */
function redactUrls(text: string): string {
  return text
    .replace(/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"']{0,256}:)[^\s/@"']{1,512}(?=@)/gi, `$1${REDACTED}`)
    .replace(/\b(https?:\/\/)[A-Za-z0-9_-]{20,512}(?=@)/gi, `$1${REDACTED}`)
    .replace(
      /([?&](?:sig|signature|key|token|code|auth|access_token|password|secret|x-amz-(?:signature|credential|security-token))=)[^\s&"'<>]{6,2000}/gi,
      `$1${REDACTED}`,
    )
    .replace(/(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{8,200}/g, `$1${REDACTED}`);
}

/** `curl -u user:password`, `mysql -ppassword`. */
function redactOptions(text: string): string {
  return text
    .replace(
      /(\s(?:-u|--user|--proxy-user)(?:\s{1,3}|=)["']?[^\s:"']{1,128}:)[^\s"']{1,512}/g,
      `$1${REDACTED}`,
    )
    .replace(/(\bmysql(?:dump|admin)?\b[^\n]{0,200}?\s-p)[^\s"']{2,128}/g, `$1${REDACTED}`);
}

/** Tokens that are recognised by their own shape. */
function redactTokenShapes(text: string): string {
  const shapes = [
    'sk-(?:ant-|proj-|or-|svcacct-|live-|test-)?[A-Za-z0-9_-]{16,400}', // Anthropic, OpenAI, OpenRouter
    'gh[pousr]_[A-Za-z0-9]{16,255}|github_pat_[A-Za-z0-9_]{20,255}',
    'gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{16,64}',
    '(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}', // Slack
    'A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{12,124}', // AWS
    'AIza[A-Za-z0-9_-]{30,60}|ya29\\.[A-Za-z0-9_-]{16,400}|GOCSPX-[A-Za-z0-9_-]{16,64}', // Google
    '(?:npm|hf)_[A-Za-z0-9]{20,64}|(?:pypi|dckr_pat)[-_][A-Za-z0-9_-]{16,400}',
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

const ENTROPY_BITS_MIN = 4.2;

/** Long runs of characters without the structure of words, paths or digests. */
function redactRandom(text: string): string {
  if (!/[A-Za-z0-9+/_-]{32}/.test(text)) return text;
  const run = /(?<![A-Za-z0-9+/_=.-])[A-Za-z0-9+/_-]{32,512}={0,2}(?![A-Za-z0-9+/_=-])/g;
  return text.replace(run, (found) => (isRandom(found) ? REDACTED : found));
}

function isRandom(run: string): boolean {
  if (/^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i.test(run))
    return false;
  if (/^sha(?:1|256|384|512)[-+_/]/i.test(run)) return false; // an integrity value
  if (![/[a-z]/, /[A-Z]/, /\d/].every((shape) => shape.test(run))) return false;
  // Words, paths and identifiers: pieces of letters, each in one case pattern.
  const pieces = run.split(/[/_+-]/).filter((piece) => piece !== '');
  const words = pieces.filter((piece) =>
    /^(?:[A-Z]+|\d+|(?:[A-Z]?[a-z]+){1,8}\d{0,4})$/.test(piece.slice(0, 64)),
  );
  return words.length * 2 <= pieces.length && entropyBits(run) >= ENTROPY_BITS_MIN;
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
  for (const tag of text.matchAll(/<(\/?)private\b[^<>]{0,200}>/gi)) {
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
