import fc from 'fast-check';
import { TOKEN_SHAPES } from '../../src/core/secret-rules.ts';

/** Made-up secrets of many kinds. They are drawn when a test runs, so that none stands in a file. */

const SMALL = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const MIXED = `${SMALL}${SMALL.toUpperCase()}${DIGITS}`;

/** A source of numbers that gives the same ones for the same seed. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  text(length: number, letters = MIXED): string {
    return Array.from({ length }, () => letters[this.below(letters.length)]).join('');
  }
}

const hex = (dice: Dice, length: number) => dice.text(length, `${DIGITS}abcdef`);

/** What people and machines take for passwords and keys, without a prefix. */
export const VALUES: Readonly<Record<string, (dice: Dice) => string>> = {
  mixed: (dice) => `${dice.text(5)}${dice.below(10)}${dice.text(6 + dice.below(14))}`,
  hex: (dice) => hex(dice, 32),
  lower: (dice) => `${dice.text(9, SMALL)}${dice.below(10)}${dice.text(10, SMALL + DIGITS)}`,
  upper: (dice) => `${dice.text(19, SMALL.toUpperCase() + DIGITS)}7`,
  base64: (dice) => `${dice.text(43, `${MIXED}+/`)}=`,
  chosen: (dice) => `${dice.pick(['Tiger', 'Monkey', 'Winter'])}-${dice.text(4, DIGITS)}!${dice.text(1)}`,
  punctuated: (dice) => `${dice.text(4, SMALL)}$${dice.text(3)}#${dice.text(3, DIGITS)}`,
};

/** Where a value is given away by what stands around it; `§` is the value. */
export const NAMED: readonly string[] = [
  'PASSWORD=§',
  'DB_PW=§',
  'export SUDO_PASS=§',
  'smtp:\n  user: a\n  pass: §',
  'RAILS_MASTER_KEY=§',
  'KAKAO_REST_KEY=§',
  '비밀번호: §',
  '비밀번호는 § 입니다',
  '비밀번호：§',
  '암호=§',
  '비번:§',
  '관리자 패스워드 : §',
  '인증키: §',
  'API 키: §',
  '토큰은 "§"',
  'sessionid=§',
  'PHPSESSID=§; path=/',
  'machine git.example login bob password §',
  'machine git.example\n  login bob\n  password §\n',
  'db.example:5432:shop:app:§',
  'db:\n  password:\n    §\n  host: a',
  'password: |\n  §\n',
  'secret: >-\n    §\n',
  '<password>§</password>',
  '<add key="DbPassword" value="§" />',
  '<property name="connection.password">§</property>',
  'X-Signature: §',
  'https://data.example/x?serviceKey=§&page=1',
  'sqlplus scott/§@db',
  'CONNECT scott/§@//db.example:1521/orcl',
  '{"pass\\u0077ord":"§"}',
  '{\\\\\\"password\\\\\\":\\\\\\"§\\\\\\"}',
  'pass\\x77ord=§',
  'password%3D§',
  '%7B%22password%22%3A%22§%22%7D',
  'password=&quot;§&quot;',
  'login --password \\\n  § --quiet',
  '{"user":"bob","password":"§"}',
  "{'api_key': '§', 'x': 1}",
  ':client_secret => "§"',
  'apiToken := "§"',
  "dbPw: '§'",
  "const password =\n  '§';",
  '"secret": ["§"]',
  'passwd=§',
  'spring.datasource.password=§',
  'jdbc:mysql://db/x?user=a&password=§',
  'amqps://u:§@mq.example/v',
  'Server=db;Uid=sa;Pwd=§;',
  'Authorization: Bearer §',
  'x-api-key: §',
  'Cookie: sid=§',
  'X-CSRF-Token: §',
  '{"name":"DB_PASSWORD","value":"§"}',
  '- name: API_TOKEN\n  value: §',
  'kind: Secret\nstringData:\n  whatever: §\n',
  "ALTER USER app WITH PASSWORD '§';",
  "CREATE USER a IDENTIFIED BY '§'",
  'the password is §, use it',
  '//registry.example/:_authToken=§',
  "spawn x ['--api-key', '§']",
  'curl -d user=a&pass=§ https://x.example',
  'PGPASSWORD=§ psql',
  'mysql -u root -p§ shop',
  'zip -P § out.zip a.txt',
  'vault login §',
  'az login -u a -p §',
  'docker login -u a -p § registry.example',
  'gh auth login --with-token <<< §',
  'echo § | sudo -S make install',
  'htpasswd -b users.txt bob §',
  'openssl rsa -in a.pem -passin pass:§',
  'redis-cli -h cache -a § ping',
  'ldapsearch -x -D cn=admin -w § uid=app',
  'sshpass -p § ssh host',
];

/** A secret, and the text in which it was met. */
export type Planted = { readonly kind: string; readonly text: string; readonly secret: string };

/** A text for every kind, each with a secret that nobody has seen before. */
export function plantedOf(dice: Dice): Planted[] {
  const values = Object.values(VALUES);
  const named = NAMED.map((template): Planted => {
    // Base64 has a meaning of its own in addresses, and in a shell some of the others.
    const secret = dice.pick(values)(dice);
    const isAddress = /%3D|:\/\//.test(template);
    const value = isAddress ? (VALUES.mixed?.(dice) ?? '') : secret;
    return { kind: template, text: template.replace('§', () => value), secret: value };
  });
  return [
    ...tokensOf(dice.below(2 ** 31)).map(({ kind, token }) => ({ kind, text: token, secret: token })),
    ...named,
  ];
}

/** A token of each published shape. */
export function tokensOf(seed: number): { readonly kind: string; readonly token: string }[] {
  return TOKEN_SHAPES.map(([near, shape], index) => {
    // What only looks around cannot be drawn; those that it would refuse are left out. Letters are more common than signs.
    const plain = shape
      .replace(/\(\?<?[=!](?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g, '')
      .replace(/\[\\w[^\]]*\]/g, '[A-Za-z0-9]')
      .replaceAll('0-9-]', '0-9]')
      .replace(/\$$/, '');
    const drawn = new RegExp(`^(?:${plain})$`);
    const isWhole = new RegExp(`^(?:${shape.replace(/^\(\?<=(?:[^()]|\([^()]*\))*\)/, '')})$`);
    const behind = BEHIND.find(([part]) => near.includes(part))?.[1] ?? '';
    const tokens = fc
      .noBias(fc.stringMatching(drawn, { size: '-1' }))
      .filter((token) => isWhole.test(token) && !WORDS_OF_OBJECTS.test(token));
    return {
      kind: shape,
      token: behind + (fc.sample(tokens, { seed: seed + index, numRuns: 1 })[0] as string),
    };
  });
}

/** Drawn as traps; no issuer makes such tokens. */
const WORDS_OF_OBJECTS =
  /propert|constru|valueO|toStri|hasOwn|toLoca|isProto|proto__|defineG|defineS|lookup/i;

/** What stands before tokens that are known by their place. */
const BEHIND: readonly (readonly [near: string, before: string])[] = [
  ['hooks.slack.com', 'https://hooks.slack.com/services/'],
  ['/webhooks/', 'https://discord.com/api/webhooks/'],
  ['/IncomingWebhook/', 'https://acme.webhook.office.com/webhookb2/'],
  ['chat.googleapis.com', 'https://chat.googleapis.com/v1/spaces/'],
  ['hooks.zapier.com', 'https://hooks.zapier.com/hooks/catch/'],
  ['/bot/v2/hook/', 'https://open.feishu.cn/open-apis/bot/v2/hook/'],
  ['maker.ifttt.com', 'https://maker.ifttt.com/trigger/a/with/key/'],
  ['outlook.office', 'https://outlook.office.com/webhook/'],
  [':543', 'db.example:5432:shop:app:'],
];
