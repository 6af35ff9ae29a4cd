import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { maskSensitivePath, redactSecrets, stripPrivateTags } from '../../src/core/redact.ts';
import { testEndsSoon } from '../support/ends-soon.ts';

/** Made-up characters that look drawn at random, the same ones every time. No secret stands here in one piece. */
function made(length: number, alphabet = 'aZ3kQ9xW1mR7tB5vN8cH2yL6dJ4fP0gS'): string {
  let state = 12345 + length;
  return Array.from({ length }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return alphabet[Math.floor((state / 2147483648) * alphabet.length)];
  }).join('');
}
const hex = (length: number) => made(length, '0123456789abcdef');
const upper = (length: number) => made(length, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
const jwt = `${'ey'}${'J'}${made(30)}.${'ey'}${'J'}${made(60)}.${made(43)}`;
const begin = (kind: string) => `-----BEGIN ${kind}-----`;
const end = (kind: string) => `-----END ${kind}-----`;
const PEM = `${'PRIVATE'} ${'KEY'}`;

/** `§` stands for the secret; what remains is the text with `[REDACTED]` in its place unless it is given. */
const removed: [text: string, secret: string, remains?: string][] = [
  // Tokens with a shape of their own
  ['key § used', `sk-${'ant-'}api03-${made(90)}`],
  ['key § used', `sk-${made(48)}`],
  ['key § used', `sk-${'proj-'}${made(60)}`],
  ['key § used', `sk-${'or-'}v1-${hex(64)}`],
  ['push with § failed', `gh${'p_'}${made(36)}`],
  ['push with § failed', `gh${'o_'}${made(36)}`],
  ['push with § failed', `gh${'s_'}${made(36)}`],
  ['push with § failed', `github${'_pat_'}${made(22)}_${made(59)}`],
  ['(§)', `gl${'pat-'}${made(20)}`],
  ['runner §', `gl${'rt-'}${made(20)}`],
  ['slack said no to §', `xox${'b-'}${made(11, '0123456789')}-${made(24)}`],
  ['slack said no to §', `xa${'pp-'}1-${upper(11)}-${hex(40)}`],
  ['using §.', `AK${'IA'}${upper(16)}`],
  ['using §.', `AS${'IA'}${upper(16)}`],
  ['maps §', `AI${'za'}${made(35)}`],
  ['oauth §', `ya${'29.'}${made(60)}`],
  ['client §', `GOC${'SPX-'}${made(28)}`],
  ['publish §', `np${'m_'}${made(36)}`],
  ['hub §', `h${'f_'}${made(34)}`],
  ['twine §', `pypi-${'AgEIcHlwaS5vcmc'}${made(60)}`],
  ['docker §', `dckr${'_pat_'}${made(27)}`],
  ['ocean §', `do${'p_v1_'}${hex(64)}`],
  ['linear §', `lin${'_api_'}${made(40)}`],
  ['mail §', `S${'G.'}${made(22)}.${made(43)}`],
  ['pay §', `sk${'_live_'}${made(24)}`],
  ['pay §', `rk${'_test_'}${made(24)}`],
  ['hook §', `whs${'ec_'}${made(32)}`],
  ['shop §', `shp${'at_'}${hex(32)}`],
  ['age §', `AGE-${'SECRET-KEY'}-1${upper(58)}`],
  ['token § expired', jwt],
  ['bot §', `${made(9, '123456789')}:${'AA'}${made(33)}`],
  ['POST https://hooks.slack.com/services/§', `T${upper(8)}/B${upper(8)}/${made(24)}`],
  // Key blocks
  ['a\n§\nb', `${begin(`RSA ${PEM}`)}\n${made(64)}\n${made(64)}\n${end(`RSA ${PEM}`)}`],
  ['§', `${begin(`OPENSSH ${PEM}`)}\n${made(64)}\n${end(`OPENSSH ${PEM}`)}`],
  ['§', `${begin(`EC ${PEM}`)}\r\n${made(64)}\r\n${end(`EC ${PEM}`)}`],
  ['§', `${begin(`ENCRYPTED ${PEM}`)}\n${made(64)}\n${end(`ENCRYPTED ${PEM}`)}`],
  ['§', `${begin(`PGP ${PEM} BLOCK`)}\n\n${made(64)}\n${end(`PGP ${PEM} BLOCK`)}`],
  ['{"pem":"§"}', `${begin(PEM)}\\n${made(64)}\\n${end(PEM)}\\n`.slice(0, -2)],
  ['cut off: §', `${begin(PEM)}\n${made(64)}\n${made(30)}`],
  // Headers
  ['Authorization: Bearer §', made(40)],
  ['authorization: bearer §', 'abcdefgh'],
  ['curl -H "Authorization: Basic §" https://a.io', `${made(20)}==`],
  ['{"authorization":"Bearer §"}', made(24)],
  ["{ 'Authorization': 'token §' }", made(24)],
  ['Authorization: §', made(24)],
  ['Authorization: Key §', made(24)],
  ['Proxy-Authorization: Basic §', made(24)],
  ['sent Bearer § to it', made(32)],
  ['sent Basic § to it', `${made(22)}==`],
  ['Cookie: §', 'sid=abc123; theme=dark'],
  ['Set-Cookie: §', `sid=${made(20)}; Path=/; HttpOnly`],
  [`{ "cookie": "§" }`, `sid=${made(20)}`],
  ['X-Api-Key: §', made(12)],
  ['PRIVATE-TOKEN: §', made(20)],
  // Settings
  ['DB_PASSWORD=§', 'hunter2'],
  ['DB_PASSWORD=§', 'correcthorse'],
  ['DB_PASS=§', 'hunter2'],
  ['export API_KEY=§ && run', made(12)],
  ['AWS_SECRET_ACCESS_KEY=§', made(40)],
  ['PGPASSWORD=§ psql -c x', 'hunter2'],
  ['MYSQL_PWD=§ mysql', 'hunter2'],
  ['SECRET_KEY_BASE="§"', made(20)],
  ["client_secret='§'", made(20)],
  ['//registry.example.com/:_authToken=§', made(20)],
  ['_auth=§', `${made(18)}=`],
  ['password: §', 'hunter2'],
  ['DB_PASSWORD: §', 'correcthorse'],
  ['PASSWORD=§', '$2b$10$abcdefghijklmnopqrstuv'],
  ['password=§', 'none-of-that'],
  ['{"password":"§"}', 'correct horse'],
  ["{ apiKey: '§' }", made(12)],
  ['"clientSecret" => "§"', made(12)],
  ['token := "§"', made(12)],
  ['passphrase = §', 'hunter2'],
  ['login --password § now', 'hunter2'],
  ['login --password "§" now', 'two words'],
  ['login --token=§', made(12)],
  ['login --api-key §', made(12)],
  [`spawnargs: [ '--password', '§' ]`, 'hunter2'],
  ['body: "{\\"password\\":\\"§\\"}"', 'hunter2'],
  ['{"password":"§","x":1}', 'ab\\"cd'],
  ['password      = "§"', 'hunter2'],
  ['keytool -storepass § -list', 'hunter2'],
  ['SENTRY=§', made(40)],
  ['Key (token)=(§) already exists.', made(12), 'Key (token)=[REDACTED]) already exists.'],
  // Addresses
  ['postgres://bob:§@db.local:5432/app', 'hunter2'],
  ['postgres://bob:§@db.local:5432/app', 'p@ss'],
  ['redis://:§@cache:6379', 'hunter2'],
  ['mongodb+srv://bob:§@c0.mongodb.net', 'hunter2'],
  ['fatal: https://bob:§@github.com/a/b.git', made(20)],
  ['fatal: https://§@github.com/a/b.git', made(24)],
  ['GET https://a.io/x?access_token=§&page=2', made(20)],
  ['GET https://a.io/x?a=1&api_key=§', made(20)],
  ['GET https://b.blob.core.windows.net/c?sv=1&sig=§', made(20)],
  ['GET https://s3/x?X-Amz-Signature=§', hex(64)],
  ['GET https://a.io/cb?code=§', made(12)],
  ['Server=db;User Id=sa;Password=§;Encrypt=true', 'hunter2'],
  ['AccountName=a;AccountKey=§;', `${made(86)}==`],
  ['connectionString: "§"', 'Server=db;Uid=sa'],
  // Options of programs
  ['curl -u bob:§ https://a.io', 'hunter2'],
  ['curl --user "bob:§" https://a.io', 'hunter2'],
  ['curl --proxy-user=bob:§ https://a.io', 'hunter2'],
  ['mysql -u root -p§ app', 'hunter2'],
  ["mysqldump -u root -p'§' app", 'hunter2'],
  ['curl -ubob:§ https://a.io', 'hunter2'],
  ['sshpass -p § ssh host', 'hunter2'],
  ['redis-cli -h cache -a § ping', 'hunter2'],
  ['docker login -u bob -p § registry.local', 'hunter2'],
  // Nothing but randomness
  ['value § here', made(40)],
  ['value § here', `${made(20)}/${made(10)}+${made(12)}`],
  ['value "§"', `${made(43)}=`],
  ['value § here', made(900)],
  // What a terminal does not show, within or beside it
  ['a \x1b[2J§ b', `gh${'p_'}abcdefghijklmnopqrstuvwxyz0123456789`, 'a [REDACTED] b'],
  ['\x1b[1mpassword\x1b[0m: §', 'hunter2hunter2', 'password: [REDACTED]'],
  ['\x1b[32mDB_PASSWORD\x1b[0m=\x1b[33m§\x1b[0m', 'trustno1x', 'DB_PASSWORD=[REDACTED]'],
  // What is left where a secret was may be the place of another one
  ['secret is§sid=1 ', made(48), 'secret [REDACTED]=[REDACTED] '],
];

for (const [index, [template, secret, remains]] of removed.entries()) {
  const shown = template.replaceAll('\n', '\\n');
  test(`redactSecrets() removes the secret when it reads ${shown} (${index})`, () => {
    const safe = redactSecrets(template.replace('§', () => secret));
    expect(safe).toBe(remains ?? template.replace('§', '[REDACTED]'));
  });
}

const untouched: string[] = [
  'Unexpected token < in JSON at position 0',
  "SyntaxError: Unexpected token '}'",
  "SyntaxError: Unexpected token: '}'",
  'SyntaxError: Unexpected token: punc (;)',
  'syntax error, unexpected token "=", expecting variable',
  "bash: syntax error near unexpected token `('",
  'token expired',
  'jwt token: expired',
  'secret not found',
  'Error: secret "db-creds" not found',
  'password authentication failed for user "bob"',
  'Invalid password: must be at least 8 characters',
  'error: --password is required',
  "error: option '--token <token>' argument missing",
  'OPENAI_API_KEY: not set',
  'GITHUB_TOKEN: missing',
  'GITHUB_TOKEN is not set',
  "Property 'password' does not exist on type 'User'",
  "Cannot read properties of undefined (reading 'token')",
  'commit 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b',
  `sha256:${'0f1e2d3c4b5a6978'.repeat(4)}`,
  `"integrity": "sha512-${made(86)}=="`,
  `downloaded: h1:${made(43)}=`,
  'id 123e4567-e89b-12d3-a456-426614174000',
  'id 123E4567-E89B-12D3-A456-426614174000',
  '/home/me/Projects/MyApp2/src/components/UserProfileCard.tsx:10:5',
  '/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/tmp.X',
  'C:\\Users\\me\\Projects\\MyApp2\\src\\components\\UserProfileCard.tsx',
  'node_modules/@babel/helper-plugin-utils/lib/index.js',
  'shouldRenderTheUserProfileCardWhenTheUserIsLoggedInAndHas2Posts is not a function',
  'getUserProfileInformationByIdentifierV2Async',
  'parseHTMLDocumentFromURLWithBase64EncodedBody2',
  'a-very-long-kebab-case-name-of-a-package-With-2-parts',
  'AVeryLongConstantName_WITH_UPPER_AND_lower_2',
  'sk-learn-contrib-lightning is not installed',
  'pypi-attestation-models-package',
  'npm_lifecycle_script',
  "import { token } from './auth/token-service.ts'",
  '"./token": "./dist/token.js"',
  '"jsonwebtoken": "^9.0.2"',
  '"@scope/auth-token": "1.2.3"',
  'src/auth/token.ts:12:5: error',
  'PASSWORD=$DB_PASSWORD',
  `PASSWORD=\${DB_PASSWORD}`,
  'PASSWORD=%DB_PASSWORD%',
  `token: \${{ secrets.GITHUB_TOKEN }}`,
  'curl -H "Authorization: Bearer $TOKEN"',
  `curl -H "Authorization: Bearer \${TOKEN}" https://a.io`,
  `curl https://a.io/?token=\${TOKEN}`,
  `postgres://bob:\${PASSWORD}@db/app`,
  'apiKey: process.env.API_KEY',
  'const apiKey = process.env.API_KEY;',
  'const token = getToken();',
  'const token = await getToken();',
  'const token = req.headers.authorization;',
  'password = os.environ["PASSWORD"]',
  'password = ENV["PASSWORD"]',
  'if (token === undefined) return',
  'if password == null then',
  'const f = (token) => token.value',
  'token: string',
  'token: string;',
  'token: string[]',
  'token: string|null',
  'password?: string | undefined',
  'secret: Buffer',
  'token: Promise<string>',
  'login(user: User, password: string): void',
  "credentials: 'include'",
  'credentials: "same-origin"',
  'password: null',
  '"password": "[PRIVATE]"',
  'password=<your password>',
  'password=********',
  'tokens: 1234',
  '{"pass_criteria": "npm test passes"}',
  'max_tokens=4096',
  '"prompt_tokens": 12',
  'tokenCount: 5',
  'token_type: bearer',
  '"token_endpoint": "https://a.io/token"',
  'tokenizer=bpe',
  'PWD=/home/me/app',
  'OLDPWD=/home/me/app',
  'SSH_AUTH_SOCK=/tmp/agent.1',
  'keyboard: us',
  'monkey=1',
  'docker run -u 1000:1000 node',
  'docker run --user node:node app',
  'rsync -u host:/srv/app .',
  'enable_auth_cache=on',
  'docker build --secret id=npmrc,src=.npmrc .',
  'mysql --port=3306 -p app',
  'basic src/components/button/Button2.test.ts failed',
  'Invalid cookie: domain mismatch',
  'bearer authentication.handler is missing',
  'http://localhost:3000/users?page=2&sort=name',
  'git@github.com:owner/repository.git',
  'ssh://git@github.com/owner/repository.git',
  '비밀번호가 올바르지 않습니다',
  '',
  'a',
];

test.each(untouched)('redactSecrets() leaves the text alone when it reads %s', (text) => {
  expect(redactSecrets(text)).toBe(text);
});

/** Prose, settings and separators in any order: closer to what matters than any string. */
const scrap = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    ...`= : " ' :// @ ? & - -- / . $ < ) token password API_KEY Bearer Authorization: Cookie: Basic`.split(
      ' ',
    ),
    ...['https://', 'curl -u', 'mysql -p', '--secret', 'sk-', 'eyJ', begin(PEM), end(PEM), '[REDACTED]'],
    ...[' ', '\n', ', ', 'sid=1', made(40), made(12), 'hunter2'],
  ),
);
const prose = fc.array(scrap, { maxLength: 12 }).map((parts) => parts.join(''));

test('redactSecrets() changes nothing when it has already been applied', () => {
  fc.assert(
    fc.property(prose, (text) => {
      const once = redactSecrets(text);
      expect(redactSecrets(once)).toBe(once);
    }),
    { numRuns: 2000 },
  );
});

test('redactSecrets() removes a planted token whatever stands around it', () => {
  const tail = fc.string({ unit: fc.constantFrom(...'abcdefXYZ0123456789'), minLength: 36, maxLength: 36 });
  const head = fc.constantFrom(`gh${'p_'}`, `sk-${'ant-'}api03-`, `np${'m_'}`, `gl${'pat-'}`, `AI${'za'}`);
  fc.assert(
    fc.property(prose, head, tail, prose, (before, start, rest, after) => {
      expect(redactSecrets(`${before} ${start}${rest} ${after}`)).not.toContain(rest);
    }),
    { numRuns: 2000 },
  );
});

test('redactSecrets() removes a planted setting whatever stands around it', () => {
  const value = fc.string({ unit: fc.constantFrom(...'abcdefXYZ0123456789'), minLength: 8, maxLength: 20 });
  const name = fc.constantFrom('PASSWORD=', 'API_KEY=', 'token=', '--password ', 'client_secret="');
  fc.assert(
    fc.property(prose, name, value, prose, (before, key, secret, after) => {
      expect(redactSecrets(`${before}\n${key}q7${secret}\n${after}`)).not.toContain(secret);
    }),
    { numRuns: 2000 },
  );
});

const HOSTILE = [
  ...`a 1 _token - . password= cookie: http://a: ?key=:// sk- "token":`.split(' '),
  ...['password: "', ' --token', `${begin(PEM)} `, 'Bearer ', 'authorization: ', 'mysql -', ' '],
  ...[`${'ey'}${'J'}-`, `${'a'.repeat(60)}A1A/`],
];
testEndsSoon('redactSecrets', (text) => redactSecrets(`${text} token key= :// `), HOSTILE, 8000);

const stripped: [text: string, expected: string][] = [
  ['a <private>x</private> b', 'a [PRIVATE] b'],
  ['<private>x</private>', '[PRIVATE]'],
  ['a <PRIVATE>x</Private> b', 'a [PRIVATE] b'],
  ['a <private>x\ny\n</private> b', 'a [PRIVATE] b'],
  ['<private>x</private> and <private>y</private>', '[PRIVATE] and [PRIVATE]'],
  ['a <private>x <private>y</private> z</private> b', 'a [PRIVATE] b'],
  ['a <private>1<private>2</private>3<private>4</private>5</private> b', 'a [PRIVATE] b'],
  ['a <private reason="key">x</private> b', 'a [PRIVATE] b'],
  [`a <private reason="${'k'.repeat(500)}">x</private> b`, 'a [PRIVATE] b'],
  ['a <private >x</private > b', 'a [PRIVATE] b'],
  ['a <private>x', 'a <private>x'],
  ['a x</private> b', 'a x</private> b'],
  ['<private>a <private>b</private> c', '<private>a [PRIVATE] c'],
  ['</private><private>a</private>', '</private>[PRIVATE]'],
  ['a <privateer>x</privateer> b', 'a <privateer>x</privateer> b'],
  ['a <private></private> b', 'a [PRIVATE] b'],
  ['  plain  ', 'plain'],
  ['', ''],
];
for (const [text, expected] of stripped) {
  test(`stripPrivateTags() returns ${expected} when it reads ${text.replaceAll('\n', '\\n').slice(0, 80)}`, () => {
    expect(stripPrivateTags(text)).toBe(expected);
  });
}

const TAGS = '<private> </private> <private>< <private <private>a</private> <private>a'.split(' ');
testEndsSoon('stripPrivateTags', stripPrivateTags, TAGS);

test('stripPrivateTags() leaves nothing of the inside when tags are balanced', () => {
  const tag = fc.constantFrom('<private>', '</private>', 'inside', ' ');
  fc.assert(
    fc.property(fc.array(tag), (parts) => {
      const text = `a <private>inside${balance(parts)}</private> b`;
      expect(stripPrivateTags(text)).toBe('a [PRIVATE] b');
    }),
  );
});

function balance(parts: readonly string[]): string {
  let depth = 0;
  const kept = parts.filter((part) => {
    if (part === '<private>') depth++;
    if (part === '</private>') return depth > 0 && depth-- > 0;
    return true;
  });
  return kept.join('') + '</private>'.repeat(depth);
}

const SENSITIVE = [
  '.env /a/.env C:\\a\\.env .env.local /a/.env.production .envrc credentials credentials.json /a/credentials.json',
  'id_rsa /h/.ssh/config id_ed25519 id_ed25519_sk KEY.PEM server.key store.p12 store.jks vault.kdbx',
  '/h/.aws/credentials /h/.aws/config /h/.gnupg/trustdb.gpg .npmrc /h/.pypirc .netrc _netrc .pgpass',
  '.git-credentials .htpasswd secrets.yaml secret.json service-account-prod.json prod.tfvars',
];
test.each(SENSITIVE.join(' ').split(' '))('maskSensitivePath() hides the path when it is %s', (path) => {
  expect(maskSensitivePath(path)).toBe('[SENSITIVE_PATH]');
});

const ORDINARY = [
  'src/index.ts /a/xenv /h/id_rsa_tools/readme.md .env.example /a/.env.sample .env.template environment.ts',
  'src/credentials.ts src/keys/index.ts id_rsa.pub keyboard.keymap secrets.test.ts npmrc.md ssh/config.ts',
  'src/secrets/store.ts service-account.ts',
];
test.each([...ORDINARY.join(' ').split(' '), ''])(
  'maskSensitivePath() returns the path when it is "%s"',
  (path) => {
    expect(maskSensitivePath(path)).toBe(path);
  },
);
